/** Builds requests as the service sends them, with the sender's half of src/wire. Tests send them unchanged or with one error. */

import { randomBytes } from 'node:crypto';
import type { EnvelopeRecord } from '../../src/domain/event.ts';
import type { CustomHeader } from '../../src/domain/webhook.ts';
import {
  contentHeaders,
  encodeEnvelope,
  encodePayload,
  signDelivery,
  standardWebhookHeaders,
} from '../../src/wire/payload.ts';

type HeaderPair = readonly [name: string, value: string];

/** A request as sent over the wire. */
export type RawRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array;
};

export type SignedRequestOptions = {
  readonly path?: string;
  readonly secret?: string;
  readonly apiKey?: string;
  /** Epoch milliseconds. Default: now. */
  readonly at?: number;
  readonly records?: readonly Partial<EnvelopeRecord>[];
  readonly gzip?: boolean;
  readonly encryption?: { readonly keyName: string; readonly publicKey: string } | null;
  readonly customHeaders?: readonly CustomHeader[];
  /** A bearer token, sent instead of a signature. */
  readonly bearer?: string;
  readonly standardWebhooks?: boolean;
  /** Replaces the JSON of the envelope. */
  readonly content?: Uint8Array;
  /** Replaces the encoded body and its headers. */
  readonly payload?: { readonly bytes: Uint8Array; readonly headers: Readonly<Record<string, string>> };
};

export const PATH = '/hooks/Sallyport?tenant=17';
export const SECRET = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
export const API_KEY = '00112233445566778899aabbccddeeff';

export async function signedRequest(options: SignedRequestOptions = {}): Promise<RawRequest> {
  const { path = PATH, secret = SECRET, apiKey = API_KEY, at = Date.now(), records = [{}] } = options;
  const { gzip = false, encryption = null, customHeaders = [], bearer, standardWebhooks = false } = options;
  const envelope = { subscriptionId: 'w1', sessionId: 's1', attemptNumber: 1, records: records.map(record), now: at };
  const inClear = options.content ?? encodeEnvelope(envelope);
  const payload = options.payload ?? (await encodePayload(inClear, { gzip, encryption, now: at, owner: null }));
  const { bytes: body } = payload;
  const url = new URL(`https://hooks.example.com${path}`);
  const content = contentHeaders(body, at);
  const sender =
    bearer === undefined
      ? signDelivery({ url, secret, content, customHeaders })
      : { ...content, authorization: `Bearer ${bearer}` };
  const id = '0193a1f0-0000-7000-8000-000000000002';
  const headers = {
    'user-agent': 'Sallyport/0.1.0',
    'x-api-key': apiKey,
    ...payload.headers,
    ...sender,
    ...Object.fromEntries(customHeaders.map(({ name, value }) => [name, value])),
    ...(standardWebhooks ? standardWebhookHeaders({ id, at, body, secrets: [secret] }) : {}),
  };
  return { method: 'POST', path, headers: Object.entries(headers), body };
}

function newMessageId(): string {
  return `m-${randomBytes(8).toString('hex')}`;
}

/** Replaces a header of the request; null removes it. */
export function withHeader(request: RawRequest, name: string, value: string | null): RawRequest {
  const others = request.headers.filter(([own]) => own.toLowerCase() !== name.toLowerCase());
  return { ...request, headers: value === null ? others : [...others, [name, value]] };
}

export function headerOf({ headers }: RawRequest, name: string): string {
  return headers.find(([own]) => own === name)?.[1] ?? '';
}

function record(changes: Partial<EnvelopeRecord>, offset: number): EnvelopeRecord {
  return {
    offset,
    createdAt: Date.parse('2026-11-21T05:00:00.000Z'),
    correlationId: 'c1',
    messageId: newMessageId(),
    eventType: 'order.created',
    actorId: null,
    dataJson: '{"orderId":42}',
    ...changes,
  };
}
