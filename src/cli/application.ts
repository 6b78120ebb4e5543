/** `sallyport application …`: registered applications and their client credentials. */

import type { Application } from '../access/application.ts';
import { APPLICATION_LIST, viewApplication } from '../access/applications.ts';
import type { Composed } from '../compose.ts';
import { isUuidV7 } from '../kernel/ids.ts';
import { definedFields } from '../kernel/validation.ts';
import { COMMAND_LINE } from '../resources/acting.ts';
import type { CommandGroup, Operand } from './command.ts';
import { CommandError } from './errors.ts';
import { DATA_SETTINGS, withData } from './open.ts';
import { printRecord } from './output.ts';
import { listCommand, removeCommand, showCommand, updateCommand } from './resource.ts';

const ID: Operand = { name: 'id', description: "The application's id or client id" };
const ONCE = 'The client secret is shown this once.';

const APPLICATION: Parameters<typeof showCommand<Application>>[0] = {
  group: 'application',
  path: 'applications',
  operand: ID,
  administration: ({ services }) => services.applications,
  id: applicationId,
  view: (application, { clock }) => viewApplication(application, clock()),
  updateExplanation:
    '{"active":false} switches it off: it gets no token from then on, and those that it has are refused at the next call.',
};

export const applicationCommands: CommandGroup = [
  {
    name: 'application create',
    summary: 'Register an application and print its client credentials',
    options: {
      name: { value: '<name>', required: true, description: 'What people call it' },
      user: { value: '<user>', required: true, description: 'Id or user name of the user that it acts as' },
      scope: { value: '<scope>', many: true, description: 'A scope that it may ask for, such as employees:view' },
      'validity-seconds': {
        value: '<number>',
        integer: true,
        description: 'How long its tokens live, 300 to 86400 (3600)',
      },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async (composed) => {
        const body = definedFields({
          name: invocation.text('name'),
          userId: await userId(composed, invocation.text('user') ?? ''),
          scopes: invocation.texts('scope'),
          accessTokenValiditySeconds: invocation.integer('validity-seconds'),
        });
        const { application, clientSecret } = await composed.services.applications.create(body, COMMAND_LINE);
        await printRecord(invocation, { ...viewApplication(application, composed.clock()), clientSecret }, ONCE);
        return 0;
      }),
  },
  listCommand({
    name: 'application list',
    summary: 'List the applications',
    rules: APPLICATION_LIST,
    columns: ['id', 'name', 'clientId', 'active', 'lastUsedAt', 'scopes'],
    administration: ({ services }) => services.applications,
    view: (application, { clock }) => viewApplication(application, clock()),
  }),
  showCommand(APPLICATION),
  updateCommand(APPLICATION),
  {
    name: 'application regenerate-secret',
    summary: 'Give an application a new client secret',
    operands: [ID],
    options: {
      'overlap-seconds': {
        value: '<number>',
        integer: true,
        description: 'How long the old secret stays valid, 0 to 604800 (0)',
      },
      'revoke-tokens': { description: 'Also refuse every token issued so far' },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services, store, clock }) => {
        const body = definedFields({
          overlapSeconds: invocation.integer('overlap-seconds'),
          revokeTokens: invocation.given('revoke-tokens'),
        });
        const id = await applicationId({ store }, invocation.operand('id'));
        const { application, clientSecret } = await services.applications.regenerateSecret(id, body, COMMAND_LINE);
        await printRecord(invocation, { ...viewApplication(application, clock()), clientSecret }, ONCE);
        return 0;
      }),
  },
  {
    name: 'application revoke-tokens',
    summary: 'Refuse every token that was issued to an application so far',
    operands: [ID],
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services, store, clock }) => {
        const id = await applicationId({ store }, invocation.operand('id'));
        const application = await services.applications.revokeTokens(id, COMMAND_LINE);
        await printRecord(invocation, viewApplication(application, clock()));
        return 0;
      }),
  },
  removeCommand(
    APPLICATION,
    'Its tokens are refused from the next call on. Switched off, it could come back: see update.',
  ),
];

/** The id of an application that was named by it or by its client id, which is what a leaked secret stands beside. */
async function applicationId({ store }: Pick<Composed, 'store'>, application: string): Promise<string> {
  if (isUuidV7(application)) return application;
  const found = await store.applications.getClient(application);
  if (found === null) throw new CommandError(`there is no application ${application}`);
  return found.id;
}

/** The id of a user that was named by its id or its user name. */
export async function userId({ store }: Pick<Composed, 'store'>, user: string): Promise<string> {
  if (isUuidV7(user)) return user;
  const found = await store.users.getByName(user);
  if (found === null) throw new CommandError(`there is no user ${user}`);
  return found.id;
}
