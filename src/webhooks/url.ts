/** Which URLs the service will send to (contract §4): `https:`, no credentials, no fragment, nothing that parsers read differently, and no address that is refused on sight. */

import { URL_MAX_LENGTH } from '../kernel/limits/limits.ts';
import { refuseField } from '../kernel/refusal.ts';
import { type EgressPolicy, hostVerdict } from '../outbound/egress.ts';
import { ambiguityOf, NOT_VISIBLE } from '../outbound/plain-url.ts';

/** The same of an address that may be one that was taken before, which is not judged anew. */
export function refuseNewUrl(
  field: string,
  text: string | null,
  before: string | null | undefined,
  egress: EgressPolicy,
): void {
  if (text !== null && text !== before) refuseUnsafeUrl(field, text, egress);
}

/** Throws a refusal that names `field`. A host name is checked again by what it resolves to, at every connection. */
export function refuseUnsafeUrl(field: string, text: string, egress: EgressPolicy): void {
  if (text.length > URL_MAX_LENGTH) throw refuseField(field, `must have at most ${URL_MAX_LENGTH} characters`);
  if (/[\s\p{Cc}\p{Cf}]/u.test(text)) throw refuseField(field, NOT_VISIBLE);
  const url = URL.parse(text);
  if (url === null) throw refuseField(field, 'is not an absolute URL');
  if (url.protocol !== 'https:') throw refuseField(field, 'must begin with https:');
  if (/^https:\/\/[^/?#\\]*@/i.test(text)) throw refuseField(field, 'must not hold credentials');
  if (url.hash !== '' || text.includes('#')) throw refuseField(field, 'must not hold a fragment');
  const verdict = hostVerdict(url.hostname, egress);
  if (verdict.ok) {
    const ambiguity = ambiguityOf(text, url);
    if (ambiguity !== null) throw refuseField(field, ambiguity);
    return;
  }
  const advice =
    verdict.range === 'invalid' ? '' : '; one that is meant to be reached is allowed in SALLYPORT_EGRESS_ALLOW';
  throw refuseField(field, `names an address that is not sent to: ${verdict.description}${advice}`);
}
