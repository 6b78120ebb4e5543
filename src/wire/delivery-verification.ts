/**
 * Says who sent a delivery (contract §5 "HMAC"): the inverse of `delivery-signature.ts`, on any runtime that has WebCrypto. All
 * but the content hash is judged before the body is needed, so that a forged request costs no more than its headers.
 */
import { SIGNATURE_TOLERANCE_SECONDS } from '../kernel/limits/limits.ts';
import { parseImfFixdate } from './date.ts';
import { type HeaderPairs, type HeaderRecord, lowerCaseHeaders } from './headers.ts';
import { parseAuthorization, REQUIRED_SIGNED_HEADERS, SIGNATURE_SCHEME, secretKey, stringToSign } from './signature.ts';
import { ageProblem } from './tolerance.ts';
import { failure, type Verdict } from './verdict.ts';
import { equalText, hmacSha256Base64, sha256Base64 } from './web-hash.ts';

/** What is known of a delivery before its body. */
export type DeliveryHead = {
  readonly method: string;
  /** As in the request line. */
  readonly pathAndQuery: string;
  readonly headers: HeaderRecord | HeaderPairs;
  /** Each of them may have signed: two while a secret is being rotated. None is empty. */
  readonly secrets: readonly string[];
  /** Names that have to be among the signed ones besides hash and date, such as a custom header that is relied on. */
  readonly requiredHeaders?: readonly string[];
} & Reception;

/** `body` is the bytes as received, before any decoding. */
export type DeliveryToVerify = DeliveryHead & { readonly body: Uint8Array };

export type Reception = {
  /** Epoch milliseconds; the system's clock where absent, so that leaving it out does not let old requests in. */
  readonly now?: number | undefined;
  /** How far `date` may be from `now`, either way; 300 where absent. Infinity lets every date pass: for tests with old payloads. */
  readonly toleranceSeconds?: number;
};

export type ContentFailureCode =
  | 'missing_header'
  | 'malformed_date'
  | 'stale_date'
  | 'future_date'
  | 'malformed_content_hash';

export type HeadFailureCode =
  | ContentFailureCode
  | 'missing_authorization'
  | 'wrong_scheme'
  | 'malformed_authorization'
  | 'unsigned_header'
  | 'wrong_signature';

export type DeliveryFailureCode = HeadFailureCode | 'wrong_content_hash';

/** `sentAt` is the date in epoch milliseconds, whole seconds; `contentHash` what the body has to have. */
export type ContentVerdict = Verdict<ContentFailureCode, { readonly sentAt: number; readonly contentHash: string }>;

type Signed = { readonly secretIndex: number; readonly sentAt: number; readonly signedHeaders: readonly string[] };

export type HeadVerdict = Verdict<HeadFailureCode, Signed & { readonly contentHash: string }>;

/** `secretIndex` says which secret signed, `sentAt` when (epoch milliseconds, whole seconds). */
export type DeliveryVerdict = Verdict<DeliveryFailureCode, Signed>;

/** Says whether a request is a delivery that one of the secrets signed, or which of the reasons stands against it. Rejects for an empty secret alone. */
export async function verifyDelivery(delivery: DeliveryToVerify): Promise<DeliveryVerdict> {
  const head = await verifyHead(delivery);
  if (!head.ok) return head;
  const { contentHash, ...signed } = head;
  const content = await verifyContent(delivery.body, contentHash);
  return content.ok ? signed : content;
}

/** All of `verifyDelivery` but the body: cheap checks first, the signature last. Rejects for an empty secret alone. */
export async function verifyHead(delivery: DeliveryHead): Promise<HeadVerdict> {
  const { method, pathAndQuery, secrets, requiredHeaders = [] } = delivery;
  const headers = lowerCaseHeaders(delivery.headers);
  const authorization = headers.get('authorization');
  if (authorization === undefined) return failure('missing_authorization', 'Authorization is missing');
  if (!authorization.startsWith(`${SIGNATURE_SCHEME} `)) {
    return failure('wrong_scheme', `Authorization is not of the scheme ${SIGNATURE_SCHEME}`);
  }
  const parsed = parseAuthorization(authorization);
  if (parsed === null) {
    return failure('malformed_authorization', 'Authorization lacks SignedHeaders=a;b&Signature=c');
  }
  const { signedHeaders, signature } = parsed;
  for (const name of [...REQUIRED_SIGNED_HEADERS, ...requiredHeaders]) {
    const isSigned = signedHeaders.includes(name.toLowerCase());
    if (!isSigned) return failure('unsigned_header', `SignedHeaders lacks ${name}`);
  }
  for (const name of signedHeaders) {
    if (!headers.has(name)) return failure('missing_header', `the signed header ${name} is missing`);
  }
  const content = readContentHeaders(delivery);
  if (!content.ok) return content;
  const values = signedHeaders.map((name) => headers.get(name) ?? '');
  const signed = stringToSign(method, pathAndQuery, values);
  // Every secret is tried whatever the first ones say, so that the time tells nothing about which one it was.
  const wanted = await Promise.all(secrets.map((secret) => hmacSha256Base64(secretKey(secret), signed)));
  const secretIndex = wanted.map((one) => equalText(one, signature)).indexOf(true);
  if (secretIndex === -1) {
    return failure(
      'wrong_signature',
      `none of ${secrets.length} secrets signed ${method} ${pathAndQuery} and these values of ${signedHeaders.join(', ')}`,
    );
  }
  return { ...content, secretIndex, signedHeaders };
}

/** Reads the two headers that deliveries with a bearer token carry too, and judges the date. Hashes nothing. */
export function readContentHeaders(received: Pick<DeliveryHead, 'headers'> & Reception): ContentVerdict {
  const { now = Date.now(), toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS } = received;
  const headers = lowerCaseHeaders(received.headers);
  const [contentHash = '', date = ''] = REQUIRED_SIGNED_HEADERS.map((name) => headers.get(name));
  if (!/^[A-Za-z0-9+/]{43}=$/.test(contentHash)) {
    return failure('malformed_content_hash', `x-content-sha256 is not Base64 of 32 bytes: "${contentHash}"`);
  }
  const sentAt = parseImfFixdate(date);
  if (sentAt === null) return failure('malformed_date', `date is not an IMF-fixdate: "${date}"`);
  const problem = ageProblem('date', sentAt, now, toleranceSeconds);
  if (problem !== null) return failure(sentAt < now ? 'stale_date' : 'future_date', problem);
  return { ok: true, sentAt, contentHash };
}

/** Whether the bytes are those that `x-content-sha256` is the hash of. Neither is a secret. */
export async function verifyContent(body: Uint8Array, contentHash: string): Promise<Verdict<'wrong_content_hash'>> {
  if ((await sha256Base64(body)) === contentHash) return { ok: true };
  return failure(
    'wrong_content_hash',
    `x-content-sha256 is not that of the ${body.length} bytes here: were they unpacked or parsed?`,
  );
}
