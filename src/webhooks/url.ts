/**
 * URLs that the service sends to (contract §4.7): `https:`, without credentials, without fragment, without parts that parsers read
 * differently, and without an address that the egress guard refuses.
 */

import { URL_MAX_LENGTH } from '../domain/limits.ts';
import { refuseField } from '../kernel/refusal.ts';
import { type EgressPolicy, hostVerdict } from '../outbound/egress.ts';
import { ambiguityOf, NOT_VISIBLE } from '../outbound/plain-url.ts';

/** Checks a URL only if it changed. */
export function refuseNewUrl(
  field: string,
  text: string | null,
  before: string | null | undefined,
  egress: EgressPolicy,
): void {
  if (text !== null && text !== before) refuseUnsafeUrl(field, text, egress);
}

/** Throws a refusal of a URL that is wrong whatever its address is. */
export function refuseMalformedUrl(field: string, text: string): URL {
  if (text.length > URL_MAX_LENGTH) throw refuseField(field, `must have at most ${URL_MAX_LENGTH} characters`);
  if (/[\s\p{Cc}\p{Cf}]/u.test(text)) throw refuseField(field, NOT_VISIBLE);
  const url = URL.parse(text);
  if (url === null) throw refuseField(field, 'is not an absolute URL');
  if (url.protocol !== 'https:') throw refuseField(field, 'must begin with https://');
  if (/^https:\/\/[^/?#\\]*@/i.test(text)) throw refuseField(field, 'must not hold credentials');
  if (url.hash !== '' || text.includes('#')) throw refuseField(field, 'must not hold a fragment');
  return url;
}

/** Throws a refusal that names `field`. The addresses of a host name are checked again at every connection. */
export function refuseUnsafeUrl(field: string, text: string, egress: EgressPolicy): void {
  const url = refuseMalformedUrl(field, text);
  const verdict = hostVerdict(url.hostname, egress);
  if (verdict.ok) {
    const ambiguity = ambiguityOf(text, url);
    if (ambiguity !== null) throw refuseField(field, ambiguity);
    return;
  }
  // A customer cannot change the settings.
  const advice =
    verdict.range === 'invalid'
      ? ''
      : egress.isForCustomers === true
        ? '. Use an address that can be reached from the internet'
        : ', and events go to public addresses only. To allow it, add it to SALLYPORT_EGRESS_ALLOW and restart';
  throw refuseField(field, `cannot be used: ${verdict.description}${advice}`);
}
