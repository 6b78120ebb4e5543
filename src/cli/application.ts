/** `sallyport application …`: applications and their client credentials. */

import {
  APPLICATION_LIST,
  type ApplicationBody,
  applicationReader,
  regenerateInput,
  viewApplication,
} from '../access/applications.ts';
import { COMMAND_LINE } from '../domain/acting.ts';
import {
  type Application,
  SECRET_OVERLAP_MAX_SECONDS,
  TOKEN_VALIDITY_DEFAULT_SECONDS,
  TOKEN_VALIDITY_MAX_SECONDS,
  TOKEN_VALIDITY_MIN_SECONDS,
} from '../domain/application.ts';
import { validate } from '../kernel/validation.ts';
import type { CommandGroup } from './command.ts';
import { CUSTOMER_OPTION, customerIdOf } from './customer.ts';
import { bodyOf } from './input.ts';
import { recordCommand } from './open.ts';
import {
  actionCommand,
  type Configured,
  deleteCommand,
  listCommand,
  recordId,
  showCommand,
  updateCommand,
} from './resource.ts';
import { USER } from './user.ts';

const ONCE = 'The client secret is shown only once.';

const APPLICATION: Configured<Application, ApplicationBody> = {
  group: 'application',
  path: 'applications',
  operand: { name: 'application', description: 'Its id, client id or name' },
  example: { name: 'Billing', fields: '{"active":false}' },
  administration: ({ services }) => services.applications,
  reader: applicationReader,
  // People find the client id next to a leaked secret.
  names: ({ name, clientId }) => [name, clientId],
  view: (application, { clock }) => viewApplication(application, clock()),
  updateExplanation:
    '{"active":false} disables the application: it gets no more tokens, and its tokens are refused from the next call on.',
};

export const applicationCommands: CommandGroup = [
  recordCommand({
    name: 'application create',
    summary: 'Create an application and print its client credentials',
    examples: ['sallyport application create --name Billing --user billing --scope orders:view --scope orders:edit'],
    options: {
      ...CUSTOMER_OPTION,
      name: { value: '<name>', required: true, description: 'Name, shown in lists and messages' },
      user: {
        value: '<user>',
        required: true,
        field: 'userId',
        description: 'Id or user name of the user that it acts as',
      },
      scope: {
        value: '<scope>',
        many: true,
        field: 'scopes',
        description: 'A scope that it may request, such as employees:view',
      },
      'validity-seconds': {
        value: '<number>',
        field: 'accessTokenValiditySeconds',
        integer: true,
        description:
          `Lifetime of its tokens, ${TOKEN_VALIDITY_MIN_SECONDS} to ${TOKEN_VALIDITY_MAX_SECONDS} (default: ` +
          `${TOKEN_VALIDITY_DEFAULT_SECONDS})`,
      },
    },
    run: async (composed, invocation) => {
      const { services, clock } = composed;
      const customerId = await customerIdOf(composed, invocation);
      const user = invocation.text('user') ?? '';
      const userId = await recordId(USER, composed, user, { customerId: customerId ?? '' });
      const body = await bodyOf(invocation, { customerId, userId });
      const { application, clientSecret } = await services.applications.create(
        applicationReader.create(body),
        COMMAND_LINE,
      );
      return { record: { ...viewApplication(application, clock()), clientSecret }, note: ONCE };
    },
  }),
  listCommand(APPLICATION, {
    rules: APPLICATION_LIST,
    columns: ['name', 'customer', 'active', 'lastUsedAt', 'scopes', 'clientId'],
  }),
  showCommand(APPLICATION),
  updateCommand(APPLICATION),
  actionCommand(APPLICATION, {
    name: 'application regenerate-secret',
    summary: 'Create a new client secret for an application',
    examples: ['sallyport application regenerate-secret Billing --overlap-seconds 3600'],
    options: {
      'overlap-seconds': {
        value: '<number>',
        integer: true,
        description: `How long the old secret stays valid, 0 to ${SECRET_OVERLAP_MAX_SECONDS} (default: 0)`,
      },
      'revoke-tokens': { description: 'Also revoke all tokens issued so far' },
    },
    run: async ({ services, clock }, invocation, id) => {
      const input = validate(regenerateInput, await bodyOf(invocation));
      const { application, clientSecret } = await services.applications.regenerateSecret(id, input, COMMAND_LINE);
      return { record: { ...viewApplication(application, clock()), clientSecret }, note: ONCE };
    },
  }),
  actionCommand(APPLICATION, {
    name: 'application revoke-tokens',
    summary: 'Revoke all tokens issued to an application so far',
    examples: ['sallyport application revoke-tokens Billing'],
    run: async ({ services, clock }, _, id) => ({
      record: viewApplication(await services.applications.revokeTokens(id, COMMAND_LINE), clock()),
    }),
  }),
  deleteCommand(
    APPLICATION,
    'Its tokens are rejected immediately. To disable the application instead, see sallyport help application update.',
  ),
];
