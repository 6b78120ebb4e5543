/** `sallyport user …`: users, which applications act as and people sign in as. */

import { viewInvitation } from '../access/invitations.ts';
import { INVITATION_MS } from '../access/limits.ts';
import { hashPassword, makePassword } from '../access/password.ts';
import { USER_LIST, type UserBody, userReader, viewUser } from '../access/users.ts';
import { COMMAND_LINE } from '../domain/acting.ts';
import type { Role, User } from '../domain/user.ts';
import type { CommandGroup, Invocation } from './command.ts';
import { CUSTOMER_OPTION, customerIdOf } from './customer.ts';
import { UsageError } from './errors.ts';
import { bodyOf } from './input.ts';
import { ADDRESS_SETTINGS, configBesideServer, recordCommand, serverAddress } from './open.ts';
import { actionCommand, type Configured, deleteCommand, listCommand, showCommand, updateCommand } from './resource.ts';

const DEFAULT_ROLE = 'service';
const ROLES: readonly Role[] = ['administrator', 'operator', 'viewer', DEFAULT_ROLE];

export const USER: Configured<User, UserBody> = {
  group: 'user',
  path: 'users',
  operand: { name: 'user', description: 'The id or user name of the user' },
  example: { name: 'jane', fields: '{"role":"viewer"}' },
  administration: ({ services }) => services.users,
  reader: userReader,
  names: ({ userName }) => [userName],
  view: viewUser,
  updateExplanation:
    '{"active":false} disables the user and all applications that act as the user: their calls are refused from ' +
    'then on, and the\nsessions of the user end. New permissions and divisions replace all old ones.',
};

export const userCommands: CommandGroup = [
  recordCommand({
    name: 'user create',
    summary: 'Create a user',
    examples: [
      'sallyport user create --user-name billing --permission orders.write',
      'sallyport user create --user-name jane --role operator --with-password',
    ],
    options: {
      ...CUSTOMER_OPTION,
      'user-name': { value: '<name>', required: true, description: 'The name to sign in with' },
      'display-name': { value: '<name>', description: 'Name, shown in lists and messages' },
      email: { value: '<address>', description: 'An email address' },
      role: {
        value: '<role>',
        choices: ROLES,
        description: `administrator, operator, viewer or service (default: ${DEFAULT_ROLE})`,
      },
      permission: {
        value: '<name>',
        many: true,
        field: 'permissions',
        description: 'A permission, such as employees:view',
      },
      division: {
        value: '<name>',
        many: true,
        field: 'constraints.divisions',
        description: 'Limits the user to this division',
      },
      'with-password': { field: null, description: 'Create a password and print it once; not for the role service' },
    },
    check: refusePasswordOfService,
    run: async (composed, invocation) => {
      const { services, random } = composed;
      const body = await bodyOf(invocation, { customerId: await customerIdOf(composed, invocation) });
      if (!invocation.given('with-password'))
        return { record: viewUser(await services.users.create(userReader.create(body), COMMAND_LINE)) };
      const password = makePassword(random);
      const passwordHash = await hashPassword(password, random);
      const user = await services.users.create(userReader.create(body), COMMAND_LINE, {
        complete: (built) => ({ ...built, passwordHash }),
      });
      return { record: { ...viewUser(user), password }, note: 'The password is shown only once.' };
    },
  }),
  listCommand(USER, {
    rules: USER_LIST,
    columns: ['userName', 'displayName', 'customer', 'role', 'active', 'id'],
  }),
  showCommand(USER),
  updateCommand(USER),
  actionCommand(USER, {
    name: 'user invite',
    summary: 'Print a one-time link by which a user sets a password',
    examples: ['sallyport user invite jane'],
    explanation:
      `The link works once, for ${INVITATION_MS / 3_600_000} hours, and replaces an earlier one. It has the ` +
      'address of the running server, or without one the address in the settings.',
    settings: ADDRESS_SETTINGS,
    run: async ({ services }, invocation, id) => {
      const address = serverAddress(await configBesideServer(invocation));
      const made = await services.invitations.invite(id, COMMAND_LINE);
      return { record: viewInvitation(address, made), note: 'The link is shown only once.' };
    },
  }),
  deleteCommand(
    USER,
    'A user that an application acts as cannot be deleted. To disable a user instead, see sallyport help user update.',
  ),
];

/** The role service cannot sign in, so a password would be of no use. */
function refusePasswordOfService({ command, given, text }: Invocation): void {
  if (!given('with-password') || (text('role') ?? DEFAULT_ROLE) !== DEFAULT_ROLE) return;
  const problem = '--with-password does not work with the role service. Use --role viewer, operator or administrator';
  throw new UsageError(problem, command.name);
}
