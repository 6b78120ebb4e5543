/** Verifies as Standard Webhooks has it, on any runtime that has WebCrypto: the inverse of `standard-webhooks.ts`. */
import { SIGNATURE_TOLERANCE_SECONDS, WEBHOOK_SIGNATURES_MAX } from '../kernel/limits/limits.ts';
import { type HeaderPairs, type HeaderRecord, lowerCaseHeaders } from './headers.ts';
import { secretKey } from './signature.ts';
import { ageProblem } from './tolerance.ts';
import { failure, type Verdict } from './verdict.ts';
import { equalText, hmacSha256Base64 } from './web-hash.ts';

export type MessageHead = {
  readonly headers: HeaderRecord | HeaderPairs;
  /** None is empty. */
  readonly secrets: readonly string[];
  /** Epoch milliseconds; the system's clock where absent, so that leaving it out does not let old requests in. */
  readonly now?: number | undefined;
  /** How far `webhook-timestamp` may be from `now`, either way; 300 where absent. */
  readonly toleranceSeconds?: number;
};

/** `body` is the bytes as received, before any decoding. */
export type MessageToVerify = MessageHead & { readonly body: Uint8Array };

export type MessageFailureCode =
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

/** What the headers say, and what holds them against the body. */
export type MessageHeadVerdict = Verdict<
  MessageFailureCode,
  {
    readonly id: string;
    readonly signedAt: number;
    verify(body: Uint8Array): Promise<Verdict<'wrong_signature', { readonly secretIndex: number }>>;
  }
>;

/** Says whether one of the secrets signed the message, or why not. Malformed headers cost no hashing of the body. Rejects for an empty secret alone. */
export async function verifyStandardWebhook(message: MessageToVerify): Promise<MessageVerdict> {
  const head = readStandardWebhook(message);
  if (!head.ok) return head;
  const { id, signedAt } = head;
  const verdict = await head.verify(message.body);
  return verdict.ok ? { ok: true, id, signedAt, secretIndex: verdict.secretIndex } : verdict;
}

/**
 * All that can be said without the body. The headers' own text is signed and the timestamp is digits only, since a number
 * read from `1795237200.9` would pass with the signature of `1795237200`. The id has the service's form, so that no other
 * text under the same key can pass for one.
 */
export function readStandardWebhook(message: MessageHead): MessageHeadVerdict {
  const { secrets, now = Date.now(), toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS } = message;
  const headers = lowerCaseHeaders(message.headers);
  const [id, timestamp, given] = HEADERS.map((name) => headers.get(name));
  if (id === undefined || timestamp === undefined || given === undefined) {
    return failure('missing_header', `${HEADERS.filter((name) => !headers.has(name)).join(', ')} is missing`);
  }
  if (!/^msg_[A-Za-z0-9_-]{1,64}$/.test(id)) return failure('malformed_id', 'webhook-id is not msg_ and an identifier');
  if (!/^\d{1,12}$/.test(timestamp)) return failure('malformed_timestamp', 'webhook-timestamp is not digits only');
  const signedAt = Number(timestamp) * 1000;
  const problem = ageProblem('webhook-timestamp', signedAt, now, toleranceSeconds);
  if (problem !== null) return failure(signedAt < now ? 'stale_timestamp' : 'future_timestamp', problem);
  const signatures = given.split(' ').filter((part) => part.startsWith('v1,'));
  if (signatures.length === 0 || signatures.length > WEBHOOK_SIGNATURES_MAX) {
    return failure('malformed_signature', `webhook-signature holds ${signatures.length} signatures of version v1`);
  }
  const verify = async (body: Uint8Array): Promise<Verdict<'wrong_signature', { readonly secretIndex: number }>> => {
    const sign = (secret: string): Promise<string> => hmacSha256Base64(secretKey(secret), `${id}.${timestamp}.`, body);
    const wanted = await Promise.all(secrets.map(sign));
    // Every signature is held against every secret, so that the time tells nothing about which ones they were.
    const matches = wanted.map((one) =>
      signatures.map((signature) => equalText(signature, `v1,${one}`)).includes(true),
    );
    const secretIndex = matches.indexOf(true);
    if (secretIndex >= 0) return { ok: true, secretIndex };
    return failure('wrong_signature', `none of ${secrets.length} secrets signed ${id}, ${timestamp} and the body`);
  };
  return { ok: true, id, signedAt, verify };
}

const HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
