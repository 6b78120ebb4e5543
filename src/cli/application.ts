/** `sallyport application …`: registered applications and their client credentials. */
import { viewApplication } from '../access/applications.ts';
import { COMMAND_LINE } from '../audit.ts';
import type { Composed } from '../compose.ts';
import { isUuidV7 } from '../ids.ts';
import { definedFields } from '../validation.ts';
import { CommandError, type CommandGroup, type Operand } from './command.ts';
import { DATA_SETTINGS, withData } from './open.ts';
import { printRecord } from './output.ts';
import { listCommand } from './resource.ts';

const ID: Operand = { name: 'id', description: "The application's id" };
const ONCE = 'The client secret is shown this once.';

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
    columns: ['id', 'name', 'clientId', 'active', 'scopes'],
    administration: ({ services }) => services.applications,
    view: (application, { clock }) => viewApplication(application, clock()),
  }),
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
      withData(invocation, async ({ services, clock }) => {
        const body = definedFields({
          overlapSeconds: invocation.integer('overlap-seconds'),
          revokeTokens: invocation.given('revoke-tokens'),
        });
        const id = invocation.operand('id');
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
      withData(invocation, async ({ services, clock }) => {
        const application = await services.applications.revokeTokens(invocation.operand('id'), COMMAND_LINE);
        await printRecord(invocation, viewApplication(application, clock()));
        return 0;
      }),
  },
];

/** The id of a user that was named by its id or its user name. */
export async function userId({ store }: Pick<Composed, 'store'>, user: string): Promise<string> {
  if (isUuidV7(user)) return user;
  const found = await store.users.getByName(user);
  if (found === null) throw new CommandError(`there is no user ${user}`);
  return found.id;
}
