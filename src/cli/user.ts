/** `sallyport user …`: the portal accounts that applications act as. */
import { invitationUrl } from '../access/invitations.ts';
import { hashPassword, makePassword } from '../access/password.ts';
import type { User } from '../access/user.ts';
import { USER_LIST, viewUser } from '../access/users.ts';
import { listeningUrl } from '../config/config.ts';
import { isoInstant } from '../kernel/schemas.ts';
import { definedFields } from '../kernel/validation.ts';
import { COMMAND_LINE } from '../resources/acting.ts';
import { userId } from './application.ts';
import type { CommandGroup, Invocation, Operand } from './command.ts';
import { CommandError, UsageError } from './errors.ts';
import { ADDRESS_SETTINGS, DATA_SETTINGS, withData } from './open.ts';
import { printRecord } from './output.ts';
import { listCommand, removeCommand, showCommand, updateCommand } from './resource.ts';

const NAMED: Operand = { name: 'user', description: "The user's id or user name" };

const USER: Parameters<typeof showCommand<User>>[0] = {
  group: 'user',
  path: 'users',
  operand: NAMED,
  administration: ({ services }) => services.users,
  id: userId,
  view: viewUser,
  updateExplanation:
    '{"active":false} switches the user off, and with it all of its applications: from the next call on they are refused, and\nwhoever is signed in as the user is signed out. Permissions and divisions that are given take the place of all there were.',
};

export const userCommands: CommandGroup = [
  {
    name: 'user create',
    summary: 'Create a user',
    options: {
      'user-name': { value: '<name>', required: true, description: 'What the user signs in with' },
      'display-name': { value: '<name>', description: 'What people call the user' },
      email: { value: '<address>', description: 'An email address' },
      role: { value: '<role>', description: 'administrator, operator, viewer or service (service)' },
      permission: { value: '<name>', many: true, description: 'A permission, such as employees:view' },
      division: { value: '<name>', many: true, description: 'Limits the user to this division' },
      'with-password': { description: 'Make a password and print it, once; not for the role service' },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      refusePasswordOfService(invocation);
      return withData(invocation, async ({ services, random }) => {
        const divisions = invocation.texts('division');
        const body = definedFields({
          userName: invocation.text('user-name'),
          displayName: invocation.text('display-name'),
          email: invocation.text('email'),
          role: invocation.text('role'),
          permissions: invocation.texts('permission'),
          constraints: divisions.length === 0 ? undefined : { divisions },
        });
        if (!invocation.given('with-password')) {
          await printRecord(invocation, viewUser(await services.users.create(body, COMMAND_LINE)));
          return 0;
        }
        const password = makePassword(random);
        const passwordHash = await hashPassword(password, random);
        const user = await services.users.create(body, COMMAND_LINE, {
          complete: (built) => ({ ...built, passwordHash }),
        });
        await printRecord(invocation, { ...viewUser(user), password }, 'The password is shown this once.');
        return 0;
      });
    },
  },
  listCommand({
    name: 'user list',
    summary: 'List the users',
    rules: USER_LIST,
    columns: ['id', 'userName', 'displayName', 'role', 'active'],
    administration: ({ services }) => services.users,
    view: viewUser,
  }),
  showCommand(USER),
  updateCommand(USER),
  {
    name: 'user invite',
    summary: 'Print a one-time link by which a user sets a password',
    explanation:
      'It is good once and for 72 hours, and takes the place of one that was made before. The settings are those of the server\nthat the user will open it at.',
    operands: [NAMED],
    settings: ADDRESS_SETTINGS,
    json: true,
    run: async (invocation) => {
      const config = await invocation.config();
      if (config.publicUrl === null && config.port === 0) {
        throw new CommandError('it takes --public-url, or the port that the server listens on');
      }
      const address = config.publicUrl ?? listeningUrl(config, config.port);
      return withData(invocation, async ({ services, store }) => {
        const id = await userId({ store }, invocation.operand('user'));
        const { token, expiresAt } = await services.invitations.invite(id, COMMAND_LINE);
        const link = { url: invitationUrl(address, token), expiresAt: isoInstant(expiresAt) };
        await printRecord(invocation, link, 'The link is shown this once.');
        return 0;
      });
    },
  },
  removeCommand(USER, 'One that an application acts as stays. Switched off, a user could come back: see update.'),
];

/** Whoever has no role of the portal does not sign in: the password would open nothing. */
function refusePasswordOfService({ command, given, text }: Invocation): void {
  if (!given('with-password') || (text('role') ?? 'service') !== 'service') return;
  const problem = '--with-password cannot be used with the role service: give --role viewer, operator or administrator';
  throw new UsageError(problem, command.name);
}
