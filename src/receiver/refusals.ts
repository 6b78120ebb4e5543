/** Every reason for which a receiver refuses a request, and the status that tells the sender what to do about it. */
import type { HeadFailureCode } from '../wire/delivery-verification.ts';
import type { EnvelopeFailureCode } from '../wire/envelope.ts';
import type { PayloadFailureCode } from '../wire/payload-decoding.ts';
import type { MessageFailureCode } from '../wire/standard-webhooks-verification.ts';

export type RefusalCode =
  | HeadFailureCode
  | MessageFailureCode
  | PayloadFailureCode
  | EnvelopeFailureCode
  | BodyFailureCode
  | 'wrong_method'
  | 'wrong_content_hash'
  | 'missing_api_key'
  | 'wrong_api_key'
  | 'malformed_challenge'
  | 'wrong_token';

/** What can be wrong with a body before its bytes are looked at, or because they are not those that were sent. */
export type BodyFailureCode = 'too_large' | 'body_incomplete' | 'body_was_parsed';

/** `code` for programs, `description` for people, with the figures; it holds no secret. */
export type Refusal = { readonly code: RefusalCode; readonly description: string };

/**
 * The sender tries again whatever the status. 413, or other statuses of 4xx twice that speak of the content, make it send a
 * batch on as two halves (wire.md §5 "Outcome"): so what this side has to mend is 500, and whatever leaves open who sent it 401.
 */
export function statusOf(code: RefusalCode): number {
  return STATUS[code] ?? 401;
}

const STATUS: Readonly<Partial<Record<RefusalCode, number>>> = {
  wrong_method: 405,
  malformed_challenge: 400,
  body_incomplete: 400,
  contradicting_headers: 400,
  malformed_gzip: 400,
  malformed_json: 400,
  malformed_envelope: 400,
  too_large: 413,
  unsupported_content_type: 400,
  unsupported_encoding: 400,
  no_secret: 500,
  body_was_parsed: 500,
  no_decryption: 500,
  decryption_failed: 500,
};
