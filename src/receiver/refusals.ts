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
  | 'wrong_content_hash'
  | 'missing_api_key'
  | 'wrong_api_key'
  | 'malformed_challenge'
  | 'malformed_target'
  | 'wrong_token';

/** What can be wrong with a body before its bytes are looked at, or because they are not those that were sent. */
export type BodyFailureCode = 'body_too_large' | 'body_incomplete' | 'body_was_parsed' | 'body_was_unpacked';

/** `code` for programs, `description` for people, with the figures; it holds no secret. */
export type Refusal = { readonly code: RefusalCode; readonly description: string };

/**
 * The sender tries again whatever the status. 413, or other statuses of 4xx twice that speak of the content, make it send a
 * batch on as two halves (wire.md §5 "Outcome"): so what this side has to mend is 500, and who it is 401.
 */
export const REFUSAL_STATUS: Readonly<Record<RefusalCode, number>> = {
  wrong_method: 405,
  missing_api_key: 401,
  wrong_api_key: 401,
  missing_authorization: 401,
  wrong_scheme: 401,
  malformed_authorization: 401,
  wrong_token: 401,
  unsigned_header: 401,
  repeated_header: 401,
  missing_header: 401,
  malformed_date: 401,
  stale_date: 401,
  future_date: 401,
  malformed_content_hash: 401,
  wrong_signature: 401,
  wrong_content_hash: 401,
  malformed_id: 401,
  malformed_timestamp: 401,
  stale_timestamp: 401,
  future_timestamp: 401,
  malformed_signature: 401,
  malformed_target: 400,
  malformed_challenge: 400,
  body_incomplete: 400,
  contradicting_headers: 400,
  malformed_gzip: 400,
  malformed_json: 400,
  malformed_envelope: 400,
  body_too_large: 413,
  too_large: 413,
  unsupported_content_type: 415,
  unsupported_encoding: 415,
  no_secret: 500,
  body_was_parsed: 500,
  body_was_unpacked: 500,
  no_decryption: 500,
  decryption_failed: 500,
};
