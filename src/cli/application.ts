/** `sallyport application …`: applications and their client credentials. */
import type { Application } from '../access/application.ts';
import {
  APPLICATION_LIST,
  type ApplicationBody,
  applicationReader,
  regenerateInput,
  viewApplication,
} from '../access/applications.ts';
import type { Composed } from '../compose.ts';
import { isUuidV7 } from '../kernel/ids.ts';
import {
  SECRET_OVERLAP_MAX_SECONDS,
  TOKEN_VALIDITY_DEFAULT_SECONDS,
  TOKEN_VALIDITY_MAX_SECONDS,
  TOKEN_VALIDITY_MIN_SECONDS,
} from '../kernel/limits/limits.ts';
import { definedFields, validate } from '../kernel/validation.ts';
import { COMMAND_LINE } from '../resources/acting.ts';
import type { CommandGroup, Operand } from './command.ts';
import { CommandError } from './errors.ts';
import { recordCommand } from './open.ts';
import { type Configured, listCommand, removeCommand, showCommand, updateCommand } from './resource.ts';

const ID: Operand = { name: 'id', description: 'The id or client id of the application' };
const ONCE = 'The client secret is shown only once.';

const APPLICATION: Configured<Application, ApplicationBody> = {
  group: 'application',
  path: 'applications',
  operand: ID,
  administration: ({ services }) => services.applications,
  reader: applicationReader,
  id: applicationId,
  view: (application, { clock }) => viewApplication(application, clock()),
  updateExplanation:
    '{"active":false} disables the application: it gets no more tokens, and its tokens are refused from the next call on.',
};

export const applicationCommands: CommandGroup = [
  recordCommand({
    name: 'application create',
    summary: 'Create an application and print its client credentials',
    options: {
      name: { value: '<name>', required: true, description: 'A name for people' },
      user: { value: '<user>', required: true, description: 'Id or user name of the user that it acts as' },
      scope: { value: '<scope>', many: true, description: 'A scope that it may request, such as employees:view' },
      'validity-seconds': {
        value: '<number>',
        integer: true,
        description: `Lifetime of its tokens, ${TOKEN_VALIDITY_MIN_SECONDS} to ${TOKEN_VALIDITY_MAX_SECONDS} (default: ${TOKEN_VALIDITY_DEFAULT_SECONDS})`,
      },
    },
    run: async ({ services, store, clock }, { text, texts, integer }) => {
      const body = definedFields({
        name: text('name'),
        userId: await userId({ store }, text('user') ?? ''),
        scopes: texts('scope'),
        accessTokenValiditySeconds: integer('validity-seconds'),
      });
      const { application, clientSecret } = await services.applications.create(
        applicationReader.create(body),
        COMMAND_LINE,
      );
      return { record: { ...viewApplication(application, clock()), clientSecret }, note: ONCE };
    },
  }),
  listCommand(APPLICATION, {
    rules: APPLICATION_LIST,
    columns: ['id', 'name', 'clientId', 'active', 'lastUsedAt', 'scopes'],
  }),
  showCommand(APPLICATION),
  updateCommand(APPLICATION),
  recordCommand({
    name: 'application regenerate-secret',
    summary: 'Create a new client secret for an application',
    operands: [ID],
    options: {
      'overlap-seconds': {
        value: '<number>',
        integer: true,
        description: `How long the old secret stays valid, 0 to ${SECRET_OVERLAP_MAX_SECONDS} (default: 0)`,
      },
      'revoke-tokens': { description: 'Also revoke all tokens issued so far' },
    },
    run: async ({ services, store, clock }, { operand, integer, given }) => {
      const id = await applicationId({ store }, operand('id'));
      const body = definedFields({ overlapSeconds: integer('overlap-seconds'), revokeTokens: given('revoke-tokens') });
      const { application, clientSecret } = await services.applications.regenerateSecret(
        id,
        validate(regenerateInput, body),
        COMMAND_LINE,
      );
      return { record: { ...viewApplication(application, clock()), clientSecret }, note: ONCE };
    },
  }),
  recordCommand({
    name: 'application revoke-tokens',
    summary: 'Revoke all tokens issued to an application so far',
    operands: [ID],
    run: async ({ services, store, clock }, { operand }) => {
      const id = await applicationId({ store }, operand('id'));
      const application = await services.applications.revokeTokens(id, COMMAND_LINE);
      return { record: viewApplication(application, clock()) };
    },
  }),
  removeCommand(
    APPLICATION,
    'Its tokens are refused from the next call on. To disable the application instead, see sallyport help application update.',
  ),
];

/** The id of an application given by id or by client id, which is what people find next to a leaked secret. */
async function applicationId({ store }: Pick<Composed, 'store'>, application: string): Promise<string> {
  if (isUuidV7(application)) return application;
  const found = await store.applications.getClient(application);
  if (found === null) throw new CommandError(`there is no application ${application}`);
  return found.id;
}

/** The id of a user given by id or user name. */
export async function userId({ store }: Pick<Composed, 'store'>, user: string): Promise<string> {
  if (isUuidV7(user)) return user;
  const found = await store.users.getByName(user);
  if (found === null) throw new CommandError(`there is no user ${user}`);
  return found.id;
}
