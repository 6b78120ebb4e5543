/** Shows every delivery mode. The receiver checks each delivery as a customer's receiver does. */
import { type Api, EDGE, EMPLOYEES } from './api.ts';
import type { Circled } from './circle.ts';
import { checkEnvelope, createReceivingEndpoint, readBack, until } from './delivery.ts';
import { type Expectation, OAUTH_CLIENT, type ReceivedDelivery, TOKEN_PATH } from './messages.ts';
import type { ReceiverProcess } from './processes.ts';
import type { Story, Tell } from './story.ts';

type Mode = {
  readonly name: string;
  readonly title: string;
  readonly gzip?: boolean;
  readonly encrypted?: boolean;
  readonly oauth?: boolean;
  readonly standardWebhooks?: boolean;
};

const MODES: readonly Mode[] = [
  { name: 'plain', title: 'Plain JSON, signed' },
  { name: 'gzip', title: 'Compressed with gzip', gzip: true },
  { name: 'pgp', title: 'Encrypted', encrypted: true },
  { name: 'pgp-gzip', title: 'Compressed, then encrypted', gzip: true, encrypted: true },
  { name: 'oauth', title: "With a bearer token from the customer's authorization server", gzip: true, oauth: true },
  { name: 'standard-webhooks', title: 'With a Standard Webhooks signature as well', standardWebhooks: true },
];

type Stage = Circled & { readonly story: Story; readonly admin: Api; readonly receiver: ReceiverProcess };

const CLEAR_TYPE = 'order.placed';

export async function runModes(stage: Stage): Promise<void> {
  const { story, admin } = stage;
  story.chapter('Other ways to deliver');
  await story.step('event-type', 'An event type that need not be encrypted', async (tell) => {
    await admin.call(201, 'POST', `${EDGE}/event-types`, { name: CLEAR_TYPE });
    tell.fact('name', CLEAR_TYPE);
  });
  for (const mode of MODES) {
    await story.step(mode.name, mode.title, (tell) => runMode(stage, mode, tell));
  }
  await story.step('ordered', 'In order, although the first attempt fails', (tell) => runOrdered(stage, tell));
}

async function runMode(stage: Stage, mode: Mode, tell: Tell): Promise<void> {
  const { admin, receiver, keyName, privateKey } = stage;
  const path = `/modes/${mode.name}`;
  const webhookId = await subscribe(
    stage,
    path,
    {
      authentication: mode.oauth === true ? 'bearer' : 'signature',
      standardWebhooks: mode.standardWebhooks === true,
      decryption: mode.encrypted === true ? { keyName, privateKey } : null,
    },
    mode,
  );
  if (mode.encrypted === true) await createEmployee(stage, mode.name);
  else await publish(admin, [{ mode: mode.name }]);
  if (mode.oauth === true) {
    const token = await receiver.next('token', TOKEN_PATH);
    tell.line(`→ POST ${TOKEN_PATH} as ${token.clientId}, scope ${token.scope}`);
  }
  const delivery = await receiver.next('delivery', path);
  checkEncodings(delivery, mode);
  const { records } = checkEnvelope(delivery, webhookId, 1);
  await readBack(admin, webhookId, 0);
  for (const [name, value] of delivery.headers.filter(([header]) => TELLING.has(header.toLowerCase()))) {
    tell.line(`→ ${name}: ${value.length > 100 ? `${value.slice(0, 100)}…` : value}`);
  }
  tell.line(`verified and read: ${records[0]?.eventType}, in ${delivery.bodyBytes} bytes`);
  tell.record('headers', Object.fromEntries(delivery.headers));
  tell.record('bodyBytes', delivery.bodyBytes);
  tell.record('eventType', records[0]?.eventType ?? null);
}

/** The headers that differ between modes. */
const TELLING: ReadonlySet<string> = new Set([
  'authorization',
  'content-type',
  'content-encoding',
  'x-content-encrypted',
  'x-pgp-key-name',
  'x-original-encoding',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
]);

/** The receiver answers the first attempt with 503. No later record overtakes it. */
async function runOrdered(stage: Stage, tell: Tell): Promise<void> {
  const { admin, receiver } = stage;
  const path = '/modes/ordered';
  const webhookId = await subscribe(stage, path, { answers: [503] }, {}, { ordered: true, maxBatchRecords: 1 });
  await publish(admin, [{ order: 1 }, { order: 2 }, { order: 3 }]);
  const seen: string[] = [];
  const note = (delivery: ReceivedDelivery): void => {
    const { envelope, records } = checkEnvelope(delivery, webhookId, 1);
    seen.push(`offset ${records[0]?.offset} attempt ${envelope.attemptNumber} → ${delivery.answered}`);
  };
  note(await receiver.next('delivery', path));
  await failed(admin, webhookId);
  // Without this, the retry would take 2.5 to 5 s. Restarting the webhook makes it due immediately.
  await admin.call(200, 'POST', `${EDGE}/webhooks/${webhookId}/stop`);
  await admin.call(200, 'POST', `${EDGE}/webhooks/${webhookId}/start`);
  for (let rest = 3; rest > 0; rest -= 1) note(await receiver.next('delivery', path));
  const wanted = [
    'offset 0 attempt 1 → 503',
    'offset 0 attempt 2 → 204',
    'offset 1 attempt 1 → 204',
    'offset 2 attempt 1 → 204',
  ];
  if (seen.join() !== wanted.join()) throw new Error(`the deliveries arrived as ${seen.join(', ')}`);
  await readBack(admin, webhookId, 2);
  for (const line of seen) tell.line(line);
  tell.record('order', seen);
}

/** Waits until the service has recorded that the attempt failed. */
async function failed(admin: Api, webhookId: string): Promise<void> {
  await until('the webhook is not failing, although its attempt was answered with 503', async () => {
    const { body } = await admin.call<{ state: string }>(200, 'GET', `${EDGE}/webhooks/${webhookId}`);
    return body.state === 'failing' ? body : null;
  });
}

/** Creates an endpoint and a started webhook. Returns the webhook's id. */
async function subscribe(
  { admin, receiver, keyName }: Stage,
  path: string,
  expectation: Partial<Expectation>,
  { gzip, oauth, encrypted, standardWebhooks }: Partial<Mode>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { clientId, clientSecret, scope } = OAUTH_CLIENT;
  const tokenServer = { clientId, clientSecret, tokenUrl: receiver.origin + TOKEN_PATH, scopes: scope };
  const endpoint = await createReceivingEndpoint(admin, receiver, path, expectation, gzip === true ? 'gzip' : null, {
    ...(oauth === true ? { oauth: tokenServer } : {}),
  });
  const { body } = await admin.call<{ id: string }>(201, 'POST', `${EDGE}/webhooks`, {
    name: path,
    endpointId: endpoint.id,
    eventTypes: encrypted === true ? ['employee.created'] : [CLEAR_TYPE],
    encryptionKeyName: encrypted === true ? keyName : null,
    standardWebhooks: standardWebhooks === true,
    ...more,
  });
  await admin.call(200, 'POST', `${EDGE}/webhooks/${body.id}/start`);
  return body.id;
}

async function publish(admin: Api, all: readonly object[]): Promise<void> {
  const events = all.map((data) => ({ type: CLEAR_TYPE, data }));
  await admin.call(202, 'POST', `${EDGE}/events`, { events });
}

async function createEmployee({ application }: Stage, userName: string): Promise<void> {
  const email = `${userName}@customer.example`;
  const names = { userName, firstName: 'Grace', lastName: 'Hopper', email };
  await application.call(201, 'POST', EMPLOYEES, { ...names, division: 'sales' });
}

function checkEncodings({ encrypted, compressed }: ReceivedDelivery, mode: Mode): void {
  if (encrypted !== (mode.encrypted === true))
    throw new Error(encrypted ? 'the delivery is encrypted' : 'the delivery is not encrypted');
  if (compressed !== (mode.gzip === true))
    throw new Error(compressed ? 'the delivery is compressed' : 'the delivery is not compressed');
}
