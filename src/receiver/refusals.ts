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
  | 'wrong_method'
  | 'body_incomplete'
  | 'body_was_parsed'
  | 'wrong_content_hash'
  | 'wrong_api_key'
  | 'malformed_challenge'
  | 'wrong_token';

/**
 * `code` for programs, `description` for people, with the figures; it holds no secret. `verified` says that the request comes
 * from the sender, so that something is wrong with the delivery or this receiver; anything else may come from anybody.
 */
export type Refusal = { readonly code: RefusalCode; readonly description: string; readonly verified: boolean };

/**
 * The sender tries again whatever the status. 413, or other statuses of 4xx twice that speak of the content, make it send a
 * batch on as two halves (contract §5 "Outcome"): so a fault of the receiver is 500, and a request of unknown origin is 401.
 */
export function statusOf({ code, verified }: Refusal): number {
  return STATUS[code] ?? (verified ? 400 : 401);
}

const STATUS: Readonly<Partial<Record<RefusalCode, number>>> = {
  wrong_method: 405,
  too_large: 413,
  body_was_parsed: 500,
  no_decryption: 500,
  decryption_failed: 500,
};
