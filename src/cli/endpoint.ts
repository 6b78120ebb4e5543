/** `sallyport endpoint …`: the HTTPS addresses to which webhooks send. */

import { COMMAND_LINE } from '../domain/acting.ts';
import { SECRET_OVERLAP_MAX_SECONDS } from '../domain/application.ts';
import { type Endpoint, mustBeVerified, OWN_SETTINGS } from '../domain/endpoint.ts';
import { validate } from '../kernel/validation.ts';
import {
  ENDPOINT_LIST,
  type EndpointBody,
  endpointReader,
  rotateApiKeyInput,
  rotateAuthenticationInput,
  rotateInput,
  viewEndpoint,
} from '../webhooks/endpoint-schema.ts';
import type { CommandGroup, Invocation, Option } from './command.ts';
import { CUSTOMER_OPTION, customerIdOf } from './customer.ts';
import { bodyOf, readSecretText } from './input.ts';
import { dataCommand, OUTBOUND_SETTINGS } from './open.ts';
import type { Shown } from './output.ts';
import { actionCommand, type Configured, deleteCommand, listCommand, showCommand, updateCommand } from './resource.ts';
import { printNamed } from './text/named-record.ts';

const SECRET = '<text|@file|->';
const ONCE = 'The secret is shown only once.';
const ACTIVATION: Readonly<Record<string, Option>> = {
  'activate-after-seconds': {
    value: '<number>',
    integer: true,
    description: 'When it replaces the old one; until then the receiver can accept both (default: 0, immediately)',
  },
};

export const ENDPOINT: Configured<Endpoint, EndpointBody> = {
  group: 'endpoint',
  path: 'endpoints',
  operand: { name: 'endpoint', description: 'Its id or name' },
  example: { name: 'Acme', fields: '{"enabled":false}' },
  names: ({ name }) => [name],
  administration: ({ services }) => services.endpoints,
  reader: endpointReader,
  view: (endpoint, { clock }) => viewEndpoint(endpoint, clock()),
  noteUpdated: noteUnverified,
  // A new URL needs a new token challenge.
  updateSettings: OUTBOUND_SETTINGS,
  updateExplanation: 'With tokenChallenge or verification, a new url is verified again.',
};

export const endpointCommands: CommandGroup = [
  dataCommand({
    name: 'endpoint create',
    summary: 'Create an endpoint and print its secret',
    examples: ['sallyport endpoint create --name Acme --url https://hooks.acme.example/orders --token-challenge'],
    explanation:
      'Recommended: --token-challenge sends a challenge now, and enables the endpoint after a correct ' +
      'answer.\n--fields takes other fields of POST /services/api/x/edge/v1/endpoints, such as ' +
      'authentication, requestHeaders, oauth or clientCertificate.',
    options: {
      ...CUSTOMER_OPTION,
      name: { value: '<name>', required: true, description: 'Name, shown in lists and messages' },
      url: { value: '<url>', required: true, description: 'An https: URL without credentials or fragment' },
      secret: {
        value: SECRET,
        description: 'The signing secret (default: a new one); @ reads a file, - standard input',
      },
      'api-key': { value: '<hex>', description: '32 hexadecimal digits, sent as x-api-key (default: a new key)' },
      gzip: { field: 'contentEncoding', sets: 'gzip', description: 'Compress deliveries' },
      'token-challenge': { description: 'Require proof that the endpoint knows the secret (recommended)' },
      verification: {
        value: '<cloudevents>',
        description: 'Ask the receiver with the OPTIONS handshake of CloudEvents instead',
      },
      disabled: { field: 'enabled', sets: false, description: 'Do not enable the endpoint' },
      fields: { value: '<json|@file|->', description: 'Other fields as a JSON object' },
    },
    settings: OUTBOUND_SETTINGS,
    run: async (composed, invocation) => {
      const { services, clock } = composed;
      const customerId = await customerIdOf(composed, invocation);
      const body = await bodyOf(invocation, { customerId, secret: await readSecret(invocation) });
      const endpoint = await services.endpoints.create(endpointReader.create(body), COMMAND_LINE);
      const shown = { ...viewEndpoint(endpoint, clock()), secret: endpoint.secret.reveal() };
      await printNamed(composed, invocation, shown, ONCE);
      await noteUnverified(invocation, endpoint);
    },
  }),
  listCommand(ENDPOINT, {
    rules: ENDPOINT_LIST,
    columns: ['name', 'customer', 'url', { field: 'state', of: stateOf }, 'id'],
  }),
  showCommand(ENDPOINT),
  updateCommand(ENDPOINT),
  actionCommand(ENDPOINT, {
    name: 'endpoint verify',
    summary: 'Verify an endpoint: send it a token challenge, or the handshake of CloudEvents',
    examples: ['sallyport endpoint verify Acme'],
    explanation:
      'Fails (exit status 1) unless the endpoint answers correctly. An endpoint that was verified before stays verified.',
    settings: OUTBOUND_SETTINGS,
    run: async ({ services, clock }, _, id) => {
      const endpoint = await services.endpoints.verify(id, COMMAND_LINE);
      const verified = endpoint.lastVerification?.verified === true;
      const notes = [
        ...(endpoint.verified && !verified ? ['The endpoint did not answer the challenge. It stays verified.'] : []),
        ...(endpoint.lastVerification?.responseStatus == null ? [OWN_SETTINGS] : []),
      ];
      return {
        record: viewEndpoint(endpoint, clock()),
        note: notes.length === 0 ? undefined : notes.join(' '),
        status: verified ? 0 : 1,
      };
    },
  }),
  actionCommand(ENDPOINT, {
    name: 'endpoint rotate-secret',
    summary: 'Replace the secret of an endpoint',
    examples: ['sallyport endpoint rotate-secret Acme --activate-after-seconds 86400'],
    options: {
      secret: {
        value: SECRET,
        description: 'The new secret (default: a random one); @ reads a file, - standard input',
      },
      ...ACTIVATION,
      'overlap-seconds': {
        value: '<seconds>',
        integer: true,
        description:
          'How long Standard Webhooks then also sends the signature of the old secret, at most ' +
          `${SECRET_OVERLAP_MAX_SECONDS} (default: 0)`,
      },
    },
    run: async ({ services, clock }, invocation, id) => {
      const input = validate(rotateInput, await bodyOf(invocation, { secret: await readSecret(invocation) }));
      const { endpoint, newSecret } = await services.endpoints.rotateSecret(id, input, COMMAND_LINE);
      return { record: { ...viewEndpoint(endpoint, clock()), secret: newSecret.reveal() }, note: ONCE };
    },
  }),
  actionCommand(ENDPOINT, {
    name: 'endpoint rotate-api-key',
    summary: 'Replace the API key of an endpoint',
    examples: ['sallyport endpoint rotate-api-key Acme'],
    options: {
      'api-key': { value: '<hex>', description: 'The new key, 32 hexadecimal digits (default: a random one)' },
      ...ACTIVATION,
    },
    run: async ({ services, clock }, invocation, id) => {
      const input = validate(rotateApiKeyInput, await bodyOf(invocation));
      return { record: viewEndpoint(await services.endpoints.rotateApiKey(id, input, COMMAND_LINE), clock()) };
    },
  }),
  actionCommand(ENDPOINT, {
    name: 'endpoint rotate-authentication',
    summary: 'Replace the authentication of an endpoint',
    examples: [
      'sallyport endpoint rotate-authentication Acme --authentication @bearer.json --activate-after-seconds 86400',
    ],
    explanation:
      'The JSON object has the method (basic, bearer or header) and the new secret, such as ' +
      '{"method":"bearer","token":"…"}.',
    options: {
      authentication: { value: '<json|@file|->', object: true, required: true, description: 'The new authentication' },
      ...ACTIVATION,
    },
    run: async ({ services, clock }, invocation, id) => {
      const input = validate(rotateAuthenticationInput, await bodyOf(invocation));
      const endpoint = await services.endpoints.rotateAuthentication(id, input, COMMAND_LINE);
      return { record: viewEndpoint(endpoint, clock()) };
    },
  }),
  deleteCommand(ENDPOINT, 'An endpoint that a webhook uses cannot be deleted.'),
];

async function readSecret(invocation: Invocation): Promise<string | undefined> {
  const given = invocation.text('secret');
  return given === undefined ? undefined : readSecretText(invocation, 'secret', given);
}

/** Goes to standard error, because programs read standard output: the command succeeded, but nothing is sent to the endpoint. */
async function noteUnverified({ terminal }: Invocation, endpoint: Endpoint): Promise<void> {
  const { id, verified, enableWhenVerified, lastVerification } = endpoint;
  if (!mustBeVerified(endpoint) || verified || !enableWhenVerified) return;
  const isHandshake = endpoint.verification !== null;
  const hint = lastVerification?.responseStatus === null ? `\n${OWN_SETTINGS}` : '';
  await terminal.err(
    `The endpoint did not answer the ${isHandshake ? 'handshake' : 'challenge'} and is disabled. ` +
      `${isHandshake ? 'Let the receiver allow requests' : 'Give the receiver the secret'}, then run: ` +
      `${terminal.program()} endpoint verify ${id}${hint}\n`,
  );
}

/** One word, so that the addresses have room. */
function stateOf({ enabled, verified, tokenChallenge, verification }: Shown): string {
  if (enabled === true) return 'enabled';
  const mustVerify = tokenChallenge === true || typeof verification === 'string';
  return mustVerify && verified !== true ? 'unverified' : 'disabled';
}
