/** The signature of Standard Webhooks (its specification, "Signature scheme"), beside the service's own (wire.md §5). */
import { SIGNATURE_TOLERANCE_SECONDS, WEBHOOK_SIGNATURES_MAX } from '../limits.ts';
import { equalText, hmacSha256Base64 } from './hash.ts';
import { type HeaderRecord, lowerCaseHeaders } from './headers.ts';
import { secretKey } from './signature.ts';
import { ageProblem } from './tolerance.ts';
import { failure, type Verdict } from './verdict.ts';

export type StandardWebhookHeaders = {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

/** `id` of the batch, without `msg_`; `at` of this attempt in epoch milliseconds; `body` the bytes as sent. */
export type MessageToSign = {
  readonly id: string;
  readonly at: number;
  readonly body: Uint8Array;
  readonly secret: string;
};

export type MessageToVerify = {
  readonly headers: HeaderRecord;
  /** The bytes as received, before any decoding. */
  readonly body: Uint8Array;
  readonly secrets: readonly string[];
  /** Epoch milliseconds; the system's clock where absent, so that leaving it out does not let old requests in. */
  readonly now?: number;
  /** How far `webhook-timestamp` may be from `now`, either way; 300 where absent. */
  readonly toleranceSeconds?: number;
};

export type MessageFailureCode =
  | 'no_secret'
  | 'missing_header'
  | 'malformed_id'
  | 'malformed_timestamp'
  | 'stale_timestamp'
  | 'future_timestamp'
  | 'malformed_signature'
  | 'wrong_signature';

/** `id` as in the header, with `msg_`: the same on every attempt, so that receivers can drop repeats. */
export type MessageVerdict = Verdict<
  MessageFailureCode,
  { readonly id: string; readonly signedAt: number; readonly secretIndex: number }
>;

/** The three headers. The key is that of the service's own signature, so `whsec_<secret>` verifies where it is Base64. */
export function standardWebhookHeaders({ id, at, body, secret }: MessageToSign): StandardWebhookHeaders {
  const name = `msg_${id}`;
  const timestamp = String(Math.floor(at / 1000));
  return {
    'webhook-id': name,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${sign(secret, name, timestamp, body)}`,
  };
}

/**
 * Says whether one of the secrets signed the message, or why not. The headers' own text is signed and the timestamp is
 * digits only, since a number read from `1795237200.9` would pass with the signature of `1795237200`. The id has the
 * service's form, so that no other text under the same key can pass for one. Never throws.
 */
export function verifyStandardWebhook(message: MessageToVerify): MessageVerdict {
  const { secrets, body, now = Date.now(), toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS } = message;
  if (secrets.length === 0 || secrets.includes('')) return failure('no_secret', 'there is no secret, or an empty one');
  const headers = lowerCaseHeaders(message.headers);
  const id = headers.get('webhook-id');
  const timestamp = headers.get('webhook-timestamp');
  const signatures = headers.get('webhook-signature');
  if (id === undefined) return failure('missing_header', 'webhook-id is missing');
  if (timestamp === undefined) return failure('missing_header', 'webhook-timestamp is missing');
  if (signatures === undefined) return failure('missing_header', 'webhook-signature is missing');
  if (!/^msg_[A-Za-z0-9_-]{1,64}$/.test(id)) return failure('malformed_id', 'webhook-id is not msg_ and an identifier');
  if (!/^\d{1,12}$/.test(timestamp)) return failure('malformed_timestamp', 'webhook-timestamp is not digits only');
  const signedAt = Number(timestamp) * 1000;
  const problem = ageProblem('webhook-timestamp', signedAt, now, toleranceSeconds);
  if (problem !== null) return failure(signedAt < now ? 'stale_timestamp' : 'future_timestamp', problem);
  const given = signatures.split(' ').filter((part) => part.startsWith('v1,'));
  if (given.length === 0 || given.length > WEBHOOK_SIGNATURES_MAX) {
    return failure('malformed_signature', `webhook-signature holds ${given.length} signatures of version v1`);
  }
  const matches = secrets.map((secret) => {
    const wanted = `v1,${sign(secret, id, timestamp, body)}`;
    return given.map((part) => equalText(part, wanted)).includes(true);
  });
  const secretIndex = matches.indexOf(true);
  if (secretIndex === -1) {
    return failure('wrong_signature', `no signature is made with a known secret over ${id}, ${timestamp} and the body`);
  }
  return { ok: true, id, signedAt, secretIndex };
}

function sign(secret: string, id: string, timestamp: string, body: Uint8Array): string {
  return hmacSha256Base64(secretKey(secret), `${id}.${timestamp}.`, body);
}
