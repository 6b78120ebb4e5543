/**
 * Verifies who sent a delivery (contract §5.3): the inverse of `signDelivery` in `payload.ts`, on any runtime with WebCrypto. Everything
 * but the content hash is checked before the body is read, so that a forged request costs only its headers.
 */

import { type HeaderPairs, type HeaderRecord, lowerCaseHeaders } from './headers.ts';
import { SIGNATURE_TOLERANCE_SECONDS } from './limits.ts';
import {
  ageProblem,
  parseAuthorization,
  parseImfFixdate,
  REQUIRED_SIGNED_HEADERS,
  SIGNATURE_SCHEME,
  secretKey,
  stringToSign,
} from './signature.ts';
import { reject, type Verdict } from './verdict.ts';
import { equalText, hmacSha256Base64, sha256Base64 } from './web-hash.ts';

/** A delivery without its body. */
export type DeliveryHead = {
  readonly method: string;
  /** As in the request line. */
  readonly pathAndQuery: string;
  readonly headers: HeaderRecord | HeaderPairs;
  /** Any of them may have signed: there are two while a secret is being rotated. None is empty. */
  readonly secrets: readonly string[];
  /** Headers that must be signed besides hash and date, such as a custom header that the receiver relies on. */
  readonly requiredHeaders?: readonly string[];
} & Reception;

type Reception = {
  /** Epoch milliseconds; by default the system's clock, so that old requests are refused. */
  readonly now?: number | undefined;
  /** How far `date` may be from `now`, in either direction (default 300). Infinity accepts every date: for tests with old payloads. */
  readonly toleranceSeconds?: number;
};

type ContentFailureCode = 'missing_header' | 'malformed_date' | 'stale_date' | 'future_date' | 'malformed_content_hash';

export type HeadFailureCode =
  | ContentFailureCode
  | 'missing_authorization'
  | 'wrong_scheme'
  | 'malformed_authorization'
  | 'unsigned_header'
  | 'wrong_signature';

/** `sentAt` is the date in epoch milliseconds, in whole seconds; `contentHash` is the hash that the body must have. */
type ContentVerdict = Verdict<ContentFailureCode, { readonly sentAt: number; readonly contentHash: string }>;

/** `secretIndex` says which secret signed; `sentAt` says when, in epoch milliseconds and whole seconds. */
export type HeadVerdict = Verdict<
  HeadFailureCode,
  {
    readonly secretIndex: number;
    readonly sentAt: number;
    readonly signedHeaders: readonly string[];
    readonly contentHash: string;
  }
>;

/**
 * Verifies that one of the secrets signed the headers, or says why not: cheap checks first, the signature last. `verifyContent` checks the
 * body. Rejects only for an empty secret.
 */
export async function verifyHead(delivery: DeliveryHead): Promise<HeadVerdict> {
  const { method, pathAndQuery, secrets, requiredHeaders = [] } = delivery;
  const headers = lowerCaseHeaders(delivery.headers);
  const authorization = headers.get('authorization');
  if (authorization === undefined) return reject('missing_authorization', 'Authorization is missing');
  if (!authorization.startsWith(`${SIGNATURE_SCHEME} `)) {
    return reject('wrong_scheme', `the scheme of Authorization is not ${SIGNATURE_SCHEME}`);
  }
  const parsed = parseAuthorization(authorization);
  if (parsed === null) {
    return reject('malformed_authorization', 'Authorization lacks SignedHeaders=a;b&Signature=c');
  }
  const { signedHeaders, signature } = parsed;
  for (const name of [...REQUIRED_SIGNED_HEADERS, ...requiredHeaders]) {
    const isSigned = signedHeaders.includes(name.toLowerCase());
    if (!isSigned) return reject('unsigned_header', `SignedHeaders lacks ${name}`);
  }
  for (const name of signedHeaders) {
    if (!headers.has(name)) return reject('missing_header', `the signed header ${name} is missing`);
  }
  const content = readContentHeaders(delivery);
  if (!content.ok) return content;
  const values = signedHeaders.map((name) => headers.get(name) ?? '');
  const signed = stringToSign(method, pathAndQuery, values);
  // Every secret is tried, so that the time does not reveal which one signed.
  const signatures = await Promise.all(secrets.map((secret) => hmacSha256Base64(secretKey(secret), signed)));
  const secretIndex = signatures.map((one) => equalText(one, signature)).indexOf(true);
  if (secretIndex === -1) {
    return reject(
      'wrong_signature',
      `none of the ${secrets.length} secrets signed ${method} ${pathAndQuery} with these values of ${signedHeaders.join(', ')}`,
    );
  }
  return { ...content, secretIndex, signedHeaders };
}

/** Reads hash and date, which every delivery carries, and checks the date. Hashes nothing. */
export function readContentHeaders(received: Pick<DeliveryHead, 'headers'> & Reception): ContentVerdict {
  const { now = Date.now(), toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS } = received;
  const headers = lowerCaseHeaders(received.headers);
  const [contentHash = '', date = ''] = REQUIRED_SIGNED_HEADERS.map((name) => headers.get(name));
  if (!/^[A-Za-z0-9+/]{43}=$/.test(contentHash)) {
    return reject('malformed_content_hash', `x-content-sha256 is not Base64 of 32 bytes: "${contentHash}"`);
  }
  const sentAt = parseImfFixdate(date);
  if (sentAt === null) return reject('malformed_date', `date is not an IMF-fixdate: "${date}"`);
  const problem = ageProblem('date', sentAt, now, toleranceSeconds);
  if (problem !== null) return reject(sentAt < now ? 'stale_date' : 'future_date', problem);
  return { ok: true, sentAt, contentHash };
}

/** Compares the body with `x-content-sha256`. Neither is secret. */
export async function verifyContent(body: Uint8Array, contentHash: string): Promise<Verdict<'wrong_content_hash'>> {
  if ((await sha256Base64(body)) === contentHash) return { ok: true };
  return reject(
    'wrong_content_hash',
    `x-content-sha256 does not match the ${body.length} bytes of the body: was it decompressed or parsed before?`,
  );
}
