/** What every delivery of the demo goes through: an endpoint on both sides, the envelope, the record of the attempt. */
import { randomBytes } from 'node:crypto';
import { type Envelope, parseEnvelope } from '../../src/wire/envelope.ts';
import { type Api, EDGE } from './api.ts';
import type { Expectation, FromReceiver, ReceivedDelivery } from './messages.ts';
import type { ReceiverProcess } from './processes.ts';

export type MadeEndpoint = {
  readonly id: string;
  readonly url: string;
  /** The token challenge that verified it; null where it had none. */
  readonly challenge: Extract<FromReceiver, { kind: 'challenge' }> | null;
};

/** Agrees on secret and API key with the receiver, and creates the endpoint, which is verified by token challenge. */
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

/** The envelope of a delivery, which has to be the webhook's and hold so many records. */
export function checkEnvelope(
  { json }: ReceivedDelivery,
  webhookId: string,
  records: number,
): { envelope: Envelope; records: Envelope['records'] } {
  const parsed = parseEnvelope(json);
  if (!parsed.ok) throw new Error(`the body is no envelope: ${parsed.description}`);
  const { envelope } = parsed;
  if (envelope.subscriptionId !== webhookId) throw new Error(`the delivery is of webhook ${envelope.subscriptionId}`);
  if (envelope.records.length !== records) {
    throw new Error(`the delivery has ${envelope.records.length} records where ${records} were sent`);
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

const LOOKS = 100;

/**
 * The delivery at an offset as the API shows it once it is delivered: the receiver has answered, and the service writes
 * that down a moment later.
 */
export async function readBack(admin: Api, webhookId: string, offset: number): Promise<StoredDelivery> {
  for (let look = 1; ; look += 1) {
    const { body } = await admin.call<{ items: StoredDelivery[] }>(
      200,
      'GET',
      `${EDGE}/deliveries?webhookId=${webhookId}`,
    );
    const found = body.items.find((delivery) => delivery.offset === offset);
    if (found === undefined) throw new Error(`there is no delivery with offset ${offset}`);
    if (found.state === 'delivered' || look === LOOKS) {
      const detail = await admin.call<StoredDelivery>(200, 'GET', `${EDGE}/deliveries/${found.id}`);
      if (detail.body.state !== 'delivered') throw new Error(`the delivery is ${detail.body.state}, not delivered`);
      return detail.body;
    }
  }
}

/** Headers as they came, one a line. */
export function showHeaders(headers: ReceivedDelivery['headers']): string {
  return headers.map(([name, value]) => `${name}: ${value}`).join('\n');
}
