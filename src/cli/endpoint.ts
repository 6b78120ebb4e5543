/** `sallyport endpoint …`: the HTTPS addresses that webhooks send to. */

import { definedFields } from '../kernel/validation.ts';
import { COMMAND_LINE } from '../resources/acting.ts';
import { OWN_SETTINGS } from '../webhooks/advice.ts';
import type { Endpoint } from '../webhooks/endpoint.ts';
import { ENDPOINT_LIST, viewEndpoint } from '../webhooks/endpoint-schema.ts';
import type { CommandGroup, Invocation, Operand, Option } from './command.ts';
import { readJsonObject, readText } from './input.ts';
import { DATA_SETTINGS, OUTBOUND_SETTINGS, withData } from './open.ts';
import { printRecord } from './output.ts';
import { listCommand, removeCommand, showCommand, updateCommand } from './resource.ts';

const ID: Operand = { name: 'id', description: "The endpoint's id" };
const SECRET = '<text|@file|->';
const ONCE = 'The secret is shown this once.';
const ACTIVATION: Readonly<Record<string, Option>> = {
  'activate-after-seconds': {
    value: '<number>',
    integer: true,
    description: 'When it takes the place of the old one, so that the receiver can take both until then (0: at once)',
  },
};

const ENDPOINT: Parameters<typeof showCommand<Endpoint>>[0] = {
  group: 'endpoint',
  path: 'endpoints',
  operand: ID,
  administration: ({ services }) => services.endpoints,
  view: (endpoint, { clock }) => viewEndpoint(endpoint, clock()),
  noteUpdated: noteUnanswered,
  // A url that changes is challenged anew.
  updateSettings: OUTBOUND_SETTINGS,
  updateExplanation:
    "Where url changes and tokenChallenge is on, the endpoint is challenged anew, by the settings of the command's own environment.",
};

export const endpointCommands: CommandGroup = [
  {
    name: 'endpoint create',
    summary: 'Create an endpoint and print its secret',
    explanation:
      'Recommended: --token-challenge, which challenges the endpoint now and enables it once it has answered correctly.\n--fields holds any further field of POST /services/api/x/edge/v1/endpoints, such as oauth or clientCertificate.',
    options: {
      name: { value: '<name>', required: true, description: 'What people call it' },
      url: { value: '<url>', required: true, description: 'Where it is: https: without credentials or fragment' },
      secret: { value: SECRET, description: 'The secret that signs; made if absent. @ reads a file, - standard input' },
      'api-key': { value: '<hex>', description: '32 hexadecimal digits, sent as x-api-key; made if absent' },
      gzip: { description: 'Compress deliveries' },
      'token-challenge': {
        description: 'Have the endpoint prove that it holds the secret (recommended; off unless given)',
      },
      disabled: { description: 'Leave it switched off' },
      fields: { value: '<json|@file|->', description: 'Further fields as a JSON object' },
    },
    settings: OUTBOUND_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services, clock }) => {
        const secret = invocation.text('secret');
        const body = {
          ...(await readJsonObject(invocation, 'fields')),
          ...definedFields({
            name: invocation.text('name'),
            url: invocation.text('url'),
            apiKey: invocation.text('api-key'),
            secret: secret === undefined ? undefined : (await readText(invocation, secret)).trimEnd(),
            contentEncoding: invocation.given('gzip') ? 'gzip' : undefined,
            tokenChallenge: invocation.given('token-challenge') ? true : undefined,
            enabled: invocation.given('disabled') ? false : undefined,
          }),
        };
        const endpoint = await services.endpoints.create(body, COMMAND_LINE);
        const shown = { ...viewEndpoint(endpoint, clock()), secret: endpoint.secret.reveal() };
        await printRecord(invocation, shown, ONCE);
        await noteUnanswered(invocation, endpoint);
        return 0;
      }),
  },
  listCommand({
    name: 'endpoint list',
    summary: 'List the endpoints',
    rules: ENDPOINT_LIST,
    columns: ['id', 'name', 'url', 'verified', 'enabled'],
    administration: ({ services }) => services.endpoints,
    view: (endpoint, { clock }) => viewEndpoint(endpoint, clock()),
  }),
  showCommand(ENDPOINT),
  updateCommand(ENDPOINT),
  {
    name: 'endpoint verify',
    summary: 'Challenge an endpoint to prove that it holds its secret',
    explanation:
      'Fails (exit status 1) unless the endpoint answers correctly. An endpoint that was verified before stays verified. The command\nsends with the settings of its own environment, which may differ from those of the server.',
    operands: [ID],
    settings: OUTBOUND_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services, clock }) => {
        const endpoint = await services.endpoints.verify(invocation.operand('id'), COMMAND_LINE);
        const verified = endpoint.lastVerification?.verified === true;
        const notes = [
          ...(endpoint.verified && !verified ? ['It did not answer the challenge, and stays verified.'] : []),
          ...(endpoint.lastVerification?.responseStatus == null ? [OWN_SETTINGS] : []),
        ];
        await printRecord(
          invocation,
          viewEndpoint(endpoint, clock()),
          notes.length === 0 ? undefined : notes.join(' '),
        );
        return verified ? 0 : 1;
      }),
  },
  {
    name: 'endpoint rotate-secret',
    summary: 'Give an endpoint a new secret',
    operands: [ID],
    options: {
      secret: { value: SECRET, description: 'The new secret; made if absent. @ reads a file, - standard input' },
      ...ACTIVATION,
      'overlap-seconds': {
        value: '<seconds>',
        integer: true,
        description: 'How long after that Standard Webhooks has the signature of the old one too (0)',
      },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services, clock }) => {
        const secret = invocation.text('secret');
        const body = definedFields({
          secret: secret === undefined ? undefined : (await readText(invocation, secret)).trimEnd(),
          activateAfterSeconds: invocation.integer('activate-after-seconds'),
          overlapSeconds: invocation.integer('overlap-seconds'),
        });
        const id = invocation.operand('id');
        const { endpoint, newSecret } = await services.endpoints.rotateSecret(id, body, COMMAND_LINE);
        await printRecord(invocation, { ...viewEndpoint(endpoint, clock()), secret: newSecret.reveal() }, ONCE);
        return 0;
      }),
  },
  {
    name: 'endpoint rotate-api-key',
    summary: 'Give an endpoint a new API key',
    operands: [ID],
    options: {
      'api-key': { value: '<hex>', description: 'The new key, 32 hexadecimal digits; made if absent' },
      ...ACTIVATION,
    },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services, clock }) => {
        const body = definedFields({
          apiKey: invocation.text('api-key'),
          activateAfterSeconds: invocation.integer('activate-after-seconds'),
        });
        const endpoint = await services.endpoints.rotateApiKey(invocation.operand('id'), body, COMMAND_LINE);
        await printRecord(invocation, viewEndpoint(endpoint, clock()));
        return 0;
      }),
  },
  removeCommand(ENDPOINT, 'One that a webhook sends to stays.'),
];

/** Beside the data, which may be read by a program: the command has done what it was to do, and still nothing is sent there. */
async function noteUnanswered({ terminal }: Invocation, endpoint: Endpoint): Promise<void> {
  if (!isWithoutAnswer(endpoint)) return;
  const { id, lastVerification } = endpoint;
  const lacks = lastVerification?.responseStatus === null ? `\n${OWN_SETTINGS}` : '';
  await terminal.err(
    `It did not answer the challenge and is off. Hand the secret over, then: sallyport endpoint verify ${id}${lacks}\n`,
  );
}

/** Whether it is off for that alone: it would be on had it answered. */
function isWithoutAnswer({ tokenChallenge, verified, enableWhenVerified }: Endpoint): boolean {
  return tokenChallenge && !verified && enableWhenVerified;
}
