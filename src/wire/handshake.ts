/** The abuse protection of "HTTP 1.1 Web Hooks for Event Delivery" (CloudEvents 1.0.2 §4): a receiver allows an origin, at a rate. Pure. */
import { type Rejection, reject } from './verdict.ts';

export const REQUEST_ORIGIN = 'webhook-request-origin';
export const ALLOWED_ORIGIN = 'webhook-allowed-origin';
export const ALLOWED_RATE = 'webhook-allowed-rate';

type HandshakeFailureCode = 'missing_origin' | 'wrong_origin' | 'malformed_rate' | 'no_rate';

/** The origin of a service: the name of its host. */
export function handshakeOrigin(publicUrl: string): string {
  return new URL(publicUrl).hostname;
}

/**
 * Judges the headers of a 2xx answer, with names in lower case. `allowedPerMinute`: requests a minute; null without a bound. The
 * contract (§12.3) allows a rate to be absent.
 */
export function judgeHandshake(
  headers: Readonly<Record<string, string>>,
  origin: string,
): { readonly ok: true; readonly allowedPerMinute: number | null } | Rejection<HandshakeFailureCode> {
  const allowed = headers[ALLOWED_ORIGIN]?.trim() ?? '';
  if (allowed === '') return reject('missing_origin', `the answer has no ${ALLOWED_ORIGIN}`);
  if (allowed !== '*' && allowed.toLowerCase() !== origin.toLowerCase())
    return reject('wrong_origin', `${ALLOWED_ORIGIN} is neither ${origin} nor *`);
  const rate = headers[ALLOWED_RATE]?.trim() ?? '*';
  if (rate === '*') return { ok: true, allowedPerMinute: null };
  if (!/^\d+$/.test(rate)) return reject('malformed_rate', `${ALLOWED_RATE} is neither a number of requests nor *`);
  // Receivers without a limit may answer the largest number of their language.
  const allowedPerMinute = Math.min(Number(rate), Number.MAX_SAFE_INTEGER);
  return allowedPerMinute === 0
    ? reject('no_rate', `${ALLOWED_RATE} is 0: the receiver allows no requests`)
    : { ok: true, allowedPerMinute };
}
