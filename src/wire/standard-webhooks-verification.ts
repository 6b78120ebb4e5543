/** Verifies signatures of Standard Webhooks, on any runtime with WebCrypto: the inverse of `standard-webhooks.ts`. */

import { type HeaderPairs, type HeaderRecord, lowerCaseHeaders } from './headers.ts';
import { SIGNATURE_TOLERANCE_SECONDS, WEBHOOK_SIGNATURES_MAX } from './limits.ts';
import { ageProblem, secretKey } from './signature.ts';
import { reject, type Verdict } from './verdict.ts';
import { equalText, hmacSha256Base64 } from './web-hash.ts';

export type MessageHead = {
  readonly headers: HeaderRecord | HeaderPairs;
  /** None is empty. */
  readonly secrets: readonly string[];
  /** Epoch milliseconds; by default the system's clock, so that old requests are refused. */
  readonly now?: number | undefined;
  /** How far `webhook-timestamp` may be from `now`, in either direction (default 300). */
  readonly toleranceSeconds?: number;
};

export type MessageFailureCode =
  | 'missing_header'
  | 'malformed_id'
  | 'malformed_timestamp'
  | 'stale_timestamp'
  | 'future_timestamp'
  | 'malformed_signature'
  | 'wrong_signature';

/**
 * The verdict on the headers; `verify` checks the body. `id` is as in the header, with `msg_`. It is the same on every attempt, so that
 * receivers can drop duplicates.
 */
export type MessageHeadVerdict = Verdict<
  MessageFailureCode,
  {
    readonly id: string;
    readonly signedAt: number;
    verify(body: Uint8Array): Promise<Verdict<'wrong_signature', { readonly secretIndex: number }>>;
  }
>;

/**
 * Checks everything that does not need the body. The timestamp is signed as text and must be digits: if it were signed as a number,
 * `1795237200.9` would pass with the signature of `1795237200`. The id must have the service's form, so that no other text that was signed
 * with the same key passes for one.
 */
export function readStandardWebhook(message: MessageHead): MessageHeadVerdict {
  const { secrets, now = Date.now(), toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS } = message;
  const headers = lowerCaseHeaders(message.headers);
  const [id, timestamp, given] = HEADERS.map((name) => headers.get(name));
  if (id === undefined || timestamp === undefined || given === undefined) {
    return reject('missing_header', `${HEADERS.filter((name) => !headers.has(name)).join(', ')} is missing`);
  }
  if (!/^msg_[A-Za-z0-9_-]{1,64}$/.test(id))
    return reject('malformed_id', 'webhook-id is not msg_ followed by an identifier');
  if (!/^\d{1,12}$/.test(timestamp)) return reject('malformed_timestamp', 'webhook-timestamp is not digits only');
  const signedAt = Number(timestamp) * 1000;
  const problem = ageProblem('webhook-timestamp', signedAt, now, toleranceSeconds);
  if (problem !== null) return reject(signedAt < now ? 'stale_timestamp' : 'future_timestamp', problem);
  const signatures = given.split(' ').filter((part) => part.startsWith('v1,'));
  if (signatures.length === 0 || signatures.length > WEBHOOK_SIGNATURES_MAX) {
    return reject('malformed_signature', `webhook-signature has ${signatures.length} signatures of version v1`);
  }
  const verify = async (body: Uint8Array): Promise<Verdict<'wrong_signature', { readonly secretIndex: number }>> => {
    const sign = (secret: string): Promise<string> => hmacSha256Base64(secretKey(secret), `${id}.${timestamp}.`, body);
    const wanted = await Promise.all(secrets.map(sign));
    // Every signature is compared for every secret, so that the time does not reveal which ones match.
    const matches = wanted.map((one) =>
      signatures.map((signature) => equalText(signature, `v1,${one}`)).includes(true),
    );
    const secretIndex = matches.indexOf(true);
    if (secretIndex >= 0) return { ok: true, secretIndex };
    return reject('wrong_signature', `none of the ${secrets.length} secrets signed ${id}, ${timestamp} and the body`);
  };
  return { ok: true, id, signedAt, verify };
}

const HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
