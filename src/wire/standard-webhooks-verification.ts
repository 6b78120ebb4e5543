/** Verifies as Standard Webhooks has it, on any runtime that has WebCrypto: the inverse of `standard-webhooks.ts`. */
import { SIGNATURE_TOLERANCE_SECONDS, WEBHOOK_SIGNATURES_MAX } from '../limits.ts';
import { type HeaderRecord, lowerCaseHeaders } from './headers.ts';
import { secretKey } from './signature.ts';
import { ageProblem } from './tolerance.ts';
import { failure, type Verdict } from './verdict.ts';
import { equalText, hmacSha256Base64 } from './web-hash.ts';

export type MessageHead = {
  readonly headers: HeaderRecord;
  readonly secrets: readonly string[];
  /** Epoch milliseconds; the system's clock where absent, so that leaving it out does not let old requests in. */
  readonly now?: number;
  /** How far `webhook-timestamp` may be from `now`, either way; 300 where absent. */
  readonly toleranceSeconds?: number;
};

/** `body` is the bytes as received, before any decoding. */
export type MessageToVerify = MessageHead & { readonly body: Uint8Array };

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

/** What the headers say; `signatures` are those of version v1, which the body has yet to be held against. */
export type MessageHeadVerdict = Verdict<
  MessageFailureCode,
  {
    readonly id: string;
    readonly timestamp: string;
    readonly signedAt: number;
    readonly signatures: readonly string[];
  }
>;

/** Says whether one of the secrets signed the message, or why not. Malformed headers cost no hashing of the body. Never rejects. */
export async function verifyStandardWebhook(message: MessageToVerify): Promise<MessageVerdict> {
  const { secrets, body } = message;
  const head = readMessageHead(message);
  if (!head.ok) return head;
  const { id, timestamp, signedAt, signatures } = head;
  const matches = await Promise.all(
    secrets.map(async (secret) => {
      const wanted = `v1,${await hmacSha256Base64(secretKey(secret), `${id}.${timestamp}.`, body)}`;
      const equal = await Promise.all(signatures.map((signature) => equalText(signature, wanted)));
      return equal.includes(true);
    }),
  );
  const secretIndex = matches.indexOf(true);
  if (secretIndex === -1) {
    return failure('wrong_signature', `no signature is made with a known secret over ${id}, ${timestamp} and the body`);
  }
  return { ok: true, id, signedAt, secretIndex };
}

/**
 * All that can be said without the body. The headers' own text is signed and the timestamp is digits only, since a number
 * read from `1795237200.9` would pass with the signature of `1795237200`. The id has the service's form, so that no other
 * text under the same key can pass for one.
 */
export function readMessageHead(message: MessageHead): MessageHeadVerdict {
  const { secrets, now = Date.now(), toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS } = message;
  if (secrets.length === 0 || secrets.includes('')) return failure('no_secret', 'there is no secret, or an empty one');
  const headers = lowerCaseHeaders(message.headers);
  const [id, timestamp, given] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headers.get(name),
  );
  if (id === undefined) return failure('missing_header', 'webhook-id is missing');
  if (timestamp === undefined) return failure('missing_header', 'webhook-timestamp is missing');
  if (given === undefined) return failure('missing_header', 'webhook-signature is missing');
  if (!/^msg_[A-Za-z0-9_-]{1,64}$/.test(id)) return failure('malformed_id', 'webhook-id is not msg_ and an identifier');
  if (!/^\d{1,12}$/.test(timestamp)) return failure('malformed_timestamp', 'webhook-timestamp is not digits only');
  const signedAt = Number(timestamp) * 1000;
  const problem = ageProblem('webhook-timestamp', signedAt, now, toleranceSeconds);
  if (problem !== null) return failure(signedAt < now ? 'stale_timestamp' : 'future_timestamp', problem);
  const signatures = given.split(' ').filter((part) => part.startsWith('v1,'));
  if (signatures.length === 0 || signatures.length > WEBHOOK_SIGNATURES_MAX) {
    return failure('malformed_signature', `webhook-signature holds ${signatures.length} signatures of version v1`);
  }
  return { ok: true, id, timestamp, signedAt, signatures };
}
