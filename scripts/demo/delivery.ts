/** Steps that all deliveries of the demo share: creating the endpoint, checking the envelope, reading the recorded attempt. */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Envelope, parseEnvelope } from '../../src/wire/envelope.ts';
import { type Api, EDGE } from './api.ts';
import type { Expectation, FromReceiver, ReceivedDelivery } from './messages.ts';
import type { ReceiverProcess } from './processes.ts';

export type MadeEndpoint = {
  readonly id: string;
  readonly url: string;
  /** The token challenge that verified the endpoint, or null if it needed none. */
  readonly challenge: Extract<FromReceiver, { kind: 'challenge' }> | null;
};

/** Tells the receiver a secret and an API key, and creates the endpoint, which is verified by token challenge. */
export async function createReceivingEndpoint(
  admin: Api,
  receiver: ReceiverProcess,
  path: string,
  expectation: Partial<Expectation>,
  contentEncoding: 'gzip' | null,
  more: Readonly<Record<string, unknown>> = {},
): Promise<MadeEndpoint> {
  const secret = randomBytes(32).toString('base64');
  const apiKey = randomBytes(16).toString('hex');
  await receiver.expect({
    path,
    secret,
    apiKey,
    authentication: 'signature',
    standardWebhooks: false,
    decryption: null,
    answers: [],
    ...expectation,
  });
  const url = receiver.origin + path;
  const { body } = await admin.call<{ id: string; verified: boolean; lastVerification: unknown }>(
    201,
    'POST',
    `${EDGE}/endpoints`,
    { name: path, url, secret, apiKey, contentEncoding, tokenChallenge: true, ...more },
  );
  if (!body.verified) throw new Error(`the endpoint was not verified: ${JSON.stringify(body.lastVerification)}`);
  return { id: body.id, url, challenge: await receiver.next('challenge', path) };
}

/** Parses the envelope of a delivery, and checks its webhook and its number of records. */
export function checkEnvelope(
  { json }: ReceivedDelivery,
  webhookId: string,
  records: number,
): { envelope: Envelope; records: Envelope['records'] } {
  const parsed = parseEnvelope(Buffer.from(json));
  if (!parsed.ok) throw new Error(`the body is not an envelope: ${parsed.description}`);
  const { envelope } = parsed;
  if (envelope.subscriptionId !== webhookId) throw new Error(`the delivery is of webhook ${envelope.subscriptionId}`);
  if (envelope.records.length !== records) {
    throw new Error(`the delivery has ${envelope.records.length} records instead of ${records}`);
  }
  return { envelope, records: envelope.records };
}

export type StoredDelivery = {
  readonly id: string;
  readonly state: string;
  readonly offset: number;
  readonly attempts: readonly {
    readonly responseStatus: number | null;
    readonly timings: Readonly<Record<string, number | null>>;
  }[];
};

/** Waits until the record at an offset is delivered, and returns it with its attempts. */
export async function readBack(admin: Api, webhookId: string, offset: number): Promise<StoredDelivery> {
  const { id } = await until(`the delivery at offset ${offset} is not delivered although it was taken`, async () => {
    const path = `${EDGE}/deliveries?webhookId=${webhookId}&state=delivered`;
    const { body } = await admin.call<{ items: StoredDelivery[] }>(200, 'GET', path);
    return body.items.find((delivery) => delivery.offset === offset) ?? null;
  });
  return (await admin.call<StoredDelivery>(200, 'GET', `${EDGE}/deliveries/${id}`)).body;
}

const TIMEOUT_MS = 20_000;
const POLL_INTERVAL_MS = 10;

/** Polls until the service has recorded an outcome, which happens shortly after the receiver's answer. */
export async function until<T>(problem: string, look: () => Promise<T | null>): Promise<T> {
  const end = performance.now() + TIMEOUT_MS;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > end) throw new Error(problem);
    await pause(POLL_INTERVAL_MS);
  }
}

/** The headers as received, one per line. */
export function showHeaders(headers: ReceivedDelivery['headers']): string {
  return headers.map(([name, value]) => `${name}: ${value}`).join('\n');
}
