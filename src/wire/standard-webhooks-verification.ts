/** Verifies signatures of Standard Webhooks, on any runtime with WebCrypto: the inverse of `standardWebhookHeaders` in `payload.ts`. */

import { type HeaderPairs, type HeaderRecord, lowerCaseHeaders } from './headers.ts';
import { SIGNATURE_TOLERANCE_SECONDS, WEBHOOK_SIGNATURES_MAX } from './limits.ts';
import { ageProblem, secretKey } from './signature.ts';
import { reject, type Verdict } from './verdict.ts';
import { equalText, hmacSha256Base64 } from './web-hash.ts';

export type MessageHead = {
  readonly headers: HeaderRecord | HeaderPairs;
  /** None is empty. Without any, only public keys can verify. */
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

/** `secretIndex` is null if a public key verified the signature. */
type SignatureVerdict = Verdict<'wrong_signature', { readonly secretIndex: number | null }>;

/** Whether a public key verifies a signature of version v1a, given in Base64. The parts of the message are signed as if concatenated. */
type VerifyByKey = (signature: string, message: readonly (string | Uint8Array)[]) => Promise<boolean>;

/**
 * The verdict on the headers; `verify` checks the body. `id` is as in the header, with `msg_`. It is the same on every attempt, so that
 * receivers can drop duplicates.
 */
export type MessageHeadVerdict = Verdict<
  MessageFailureCode,
  {
    readonly id: string;
    readonly signedAt: number;
    verify(body: Uint8Array): Promise<SignatureVerdict>;
  }
>;

/**
 * Checks everything that does not need the body. The timestamp is signed as text and must be digits: if it were signed as a number,
 * `1795237200.9` would pass with the signature of `1795237200`. The id must have the service's form, so that no other text that was signed
 * with the same key passes for one. `byKey`: signatures of version v1a count too.
 */
export function readStandardWebhook(message: MessageHead, byKey?: VerifyByKey): MessageHeadVerdict {
  const { secrets, now = Date.now(), toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS } = message;
  const headers = lowerCaseHeaders(message.headers);
  const [id, timestamp, given] = HEADERS.map((name) => headers.get(name));
  if (id === undefined || timestamp === undefined || given === undefined) {
    return reject('missing_header', `${HEADERS.filter((name) => !headers.has(name)).join(', ')} is missing`);
  }
  if (!MESSAGE_ID.test(id)) return reject('malformed_id', 'webhook-id is neither msg_ with an identifier nor a UUID');
  if (!/^\d{1,12}$/.test(timestamp)) return reject('malformed_timestamp', 'webhook-timestamp is not digits only');
  const signedAt = Number(timestamp) * 1000;
  const problem = ageProblem('webhook-timestamp', signedAt, now, toleranceSeconds);
  if (problem !== null) return reject(signedAt < now ? 'stale_timestamp' : 'future_timestamp', problem);
  const all = given.split(' ').filter((part) => part.startsWith('v1,') || (byKey && part.startsWith('v1a,')));
  if (all.length === 0 || all.length > WEBHOOK_SIGNATURES_MAX) {
    const versions = byKey ? 'v1 or v1a' : 'v1';
    return reject('malformed_signature', `webhook-signature has ${all.length} signatures of version ${versions}`);
  }
  const verify = async (body: Uint8Array): Promise<SignatureVerdict> => {
    const signed = [`${id}.${timestamp}.`, body] as const;
    const wanted = await Promise.all(secrets.map((secret) => hmacSha256Base64(secretKey(secret), ...signed)));
    // Every signature is compared for every secret, so that the time does not reveal which ones match.
    const matches = wanted.map((one) => all.map((signature) => equalText(signature, `v1,${one}`)).includes(true));
    const secretIndex = matches.indexOf(true);
    if (secretIndex >= 0) return { ok: true, secretIndex };
    // Public keys are no secrets, so the first match ends the search.
    for (const text of all)
      if (text.startsWith('v1a,') && (await byKey?.(text.slice('v1a,'.length), signed)))
        return { ok: true, secretIndex: null };
    const keys = byKey ? ' and no public key' : '';
    return reject(
      'wrong_signature',
      `none of the ${secrets.length} secrets${keys} signed ${id}, ${timestamp} and the body`,
    );
  };
  return { ok: true, id, signedAt, verify };
}

/** The id of a batch of records, or in the format `standard` that of the event. */
const MESSAGE_ID = /^(msg_[A-Za-z0-9_-]{1,64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

const HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
