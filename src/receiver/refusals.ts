/** Every reason why a receiver refuses a request, and the status that it answers. */
import type { HeadFailureCode } from '../wire/delivery-verification.ts';
import type { EnvelopeFailureCode } from '../wire/envelope.ts';
import type { EventFailureCode } from '../wire/event-reading.ts';
import type { PayloadFailureCode } from '../wire/payload-decoding.ts';
import type { MessageFailureCode } from '../wire/standard-webhooks-verification.ts';

export type RefusalCode =
  | HeadFailureCode
  | MessageFailureCode
  | PayloadFailureCode
  | EnvelopeFailureCode
  | EventFailureCode
  | 'unexpected_format'
  | 'wrong_method'
  | 'body_incomplete'
  | 'body_was_parsed'
  | 'wrong_content_hash'
  | 'wrong_api_key'
  | 'malformed_challenge'
  | 'wrong_token'
  | 'wrong_password'
  | 'wrong_origin';

/**
 * `code` is for programs, `description` for people; it has the figures and no secret. `verified` means that the request comes from the
 * sender, so the problem is in the delivery or in this receiver. Any other request may come from anyone.
 */
export type Refusal = { readonly code: RefusalCode; readonly description: string; readonly verified: boolean };

/**
 * The sender retries after any of these statuses. After a 413, or a second 4xx about the content, it splits the batch into two halves
 * (contract §5.8). Therefore an error of the receiver is 500, and a request of unknown origin is 401.
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
