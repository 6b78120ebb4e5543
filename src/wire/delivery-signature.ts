/** Signs a delivery and verifies one (wire.md §5 "HMAC"). The two halves are inverse; the layout is in `signature.ts`. */
import { SIGNATURE_TOLERANCE_SECONDS } from '../limits.ts';
import { formatImfFixdate, parseImfFixdate } from './date.ts';
import { equalText, hmacSha256Base64, sha256Base64 } from './hash.ts';
import { type HeaderRecord, lowerCaseHeaders } from './headers.ts';
import {
  type CustomHeader,
  formatAuthorization,
  parseAuthorization,
  pathAndQuery,
  REQUIRED_SIGNED_HEADERS,
  SIGNATURE_SCHEME,
  secretKey,
  stringToSign,
} from './signature.ts';
import { ageProblem } from './tolerance.ts';
import { type Failure, failure, type Verdict } from './verdict.ts';

/** The headers that every delivery carries, signed or with OAuth. */
export type ContentHeaders = { 'x-content-sha256': string; date: string };

/** `body` is the bytes as sent, `at` the moment of this attempt in epoch milliseconds. */
export type DeliveryToSign = {
  readonly url: URL;
  readonly secret: string;
  readonly body: Uint8Array;
  readonly at: number;
  readonly customHeaders: readonly CustomHeader[];
};

export type DeliveryToVerify = {
  readonly method: string;
  /** As in the request line. */
  readonly pathAndQuery: string;
  readonly headers: HeaderRecord;
  /** The bytes as received, before any decoding. */
  readonly body: Uint8Array;
  /** Each of them may have signed: two while a secret is being rotated. */
  readonly secrets: readonly string[];
  /** Names that have to be among the signed ones besides hash and date, such as a custom header that is relied on. */
  readonly requiredHeaders?: readonly string[];
  /** Epoch milliseconds; the system's clock where absent, so that leaving it out does not let old requests in. */
  readonly now?: number;
  /** How far `date` may be from `now`, either way; 300 where absent. */
  readonly toleranceSeconds?: number;
};

export type DeliveryFailureCode =
  | 'no_secret'
  | 'wrong_method'
  | 'missing_authorization'
  | 'wrong_scheme'
  | 'malformed_authorization'
  | 'unsigned_header'
  | 'missing_header'
  | 'malformed_date'
  | 'stale_date'
  | 'future_date'
  | 'wrong_signature'
  | 'wrong_content_hash';

/** `secretIndex` says which secret signed, `signedAt` when (epoch milliseconds, whole seconds). */
export type DeliveryVerdict = Verdict<
  DeliveryFailureCode,
  { readonly secretIndex: number; readonly signedAt: number; readonly signedHeaders: readonly string[] }
>;

/** Hash and date of a delivery: all of it where OAuth takes the place of the signature. */
export function contentHeaders(body: Uint8Array, at: number): ContentHeaders {
  return { 'x-content-sha256': sha256Base64(body), date: formatImfFixdate(at) };
}

/** The three headers of a signed delivery; the custom headers are signed here and sent by the caller. */
export function signDelivery(delivery: DeliveryToSign): ContentHeaders & { authorization: string } {
  const { url, secret, body, at, customHeaders } = delivery;
  const content = contentHeaders(body, at);
  const values = [content['x-content-sha256'], content.date, ...customHeaders.map(({ value }) => value)];
  const signature = hmacSha256Base64(secretKey(secret), stringToSign('POST', pathAndQuery(url), values));
  const names = [...REQUIRED_SIGNED_HEADERS, ...customHeaders.map(({ name }) => name)];
  return { ...content, authorization: formatAuthorization(names, signature) };
}

/**
 * Says whether a request is a delivery that one of the secrets signed, or which of the reasons stands against it. The
 * body is hashed last, when everything else holds, so that a forged request costs no more than its headers. Never throws.
 */
export function verifyDelivery(delivery: DeliveryToVerify): DeliveryVerdict {
  const { method, secrets, requiredHeaders = [], now = Date.now() } = delivery;
  const { toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS } = delivery;
  if (secrets.length === 0 || secrets.includes('')) return failure('no_secret', 'there is no secret, or an empty one');
  if (method.toUpperCase() !== 'POST') return failure('wrong_method', `the method is ${method}, deliveries are POST`);
  const headers = lowerCaseHeaders(delivery.headers);
  const authorization = readAuthorization(headers.get('authorization'));
  if (!authorization.ok) return authorization;
  const { signedHeaders, signature } = authorization;
  const required = [...REQUIRED_SIGNED_HEADERS, ...requiredHeaders.map((name) => name.toLowerCase())];
  const unsigned = required.filter((name) => !signedHeaders.includes(name));
  if (unsigned.length > 0) return failure('unsigned_header', `SignedHeaders lacks ${unsigned.join(', ')}`);
  const missing = signedHeaders.filter((name) => !headers.has(name));
  if (missing.length > 0) return failure('missing_header', `the signed header ${missing.join(', ')} is missing`);
  const date = headers.get('date') ?? '';
  const signedAt = parseImfFixdate(date);
  if (signedAt === null) return failure('malformed_date', `date is not an IMF-fixdate: ${JSON.stringify(date)}`);
  const problem = ageProblem('date', signedAt, now, toleranceSeconds);
  if (problem !== null) return failure(signedAt < now ? 'stale_date' : 'future_date', problem);
  const values = signedHeaders.map((name) => headers.get(name) ?? '');
  const signed = stringToSign(method, delivery.pathAndQuery, values);
  const secretIndex = secretThatSigned(secrets, signed, signature);
  if (secretIndex === -1) {
    const [line, target] = signed.split('\n');
    const by = secrets.length === 1 ? 'the secret' : `any of the ${secrets.length} secrets`;
    return failure(
      'wrong_signature',
      `the signature is not made with ${by} over ${line} ${target} and the values of ${signedHeaders.join(', ')}`,
    );
  }
  if (!equalText(sha256Base64(delivery.body), headers.get('x-content-sha256') ?? '')) {
    return failure('wrong_content_hash', `x-content-sha256 is not that of the ${delivery.body.length} bytes received`);
  }
  return { ok: true, secretIndex, signedAt, signedHeaders };
}

type Authorization = { readonly ok: true; readonly signedHeaders: readonly string[]; readonly signature: string };

function readAuthorization(text: string | undefined): Authorization | Failure<DeliveryFailureCode> {
  if (text === undefined) return failure('missing_authorization', 'there is no Authorization header');
  if (!text.startsWith(`${SIGNATURE_SCHEME} `)) {
    return failure('wrong_scheme', `the scheme of the Authorization header is not ${SIGNATURE_SCHEME}`);
  }
  const parsed = parseAuthorization(text);
  if (parsed === null) {
    const layout = `${SIGNATURE_SCHEME} SignedHeaders=<names joined by ;>&Signature=<Base64>`;
    return failure('malformed_authorization', `the Authorization header is not of the form ${layout}`);
  }
  return { ok: true, ...parsed };
}

/** Tries every secret whatever the first ones say, so that the time tells nothing about which one it was. */
function secretThatSigned(secrets: readonly string[], signed: string, signature: string): number {
  const matches = secrets.map((secret) => equalText(hmacSha256Base64(secretKey(secret), signed), signature));
  return matches.indexOf(true);
}
