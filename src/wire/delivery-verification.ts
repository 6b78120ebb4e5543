/**
 * Says who sent a delivery (wire.md §5 "HMAC"): the inverse of `delivery-signature.ts`, on any runtime that has WebCrypto. All
 * but the content hash is judged before the body is needed, so that a forged request costs no more than its headers.
 */
import { SIGNATURE_TOLERANCE_SECONDS } from '../limits.ts';
import { decodeStrictBase64 } from './base64.ts';
import { parseImfFixdate } from './date.ts';
import { type HeaderRecord, lowerCaseHeaders, repeatedHeader } from './headers.ts';
import { parseAuthorization, REQUIRED_SIGNED_HEADERS, SIGNATURE_SCHEME, secretKey, stringToSign } from './signature.ts';
import { ageProblem } from './tolerance.ts';
import { type Failure, failure, type Verdict } from './verdict.ts';
import { equalText, hmacSha256Base64, sha256Base64 } from './web-hash.ts';

/** What is known of a delivery before its body. */
export type DeliveryHead = {
  readonly method: string;
  /** As in the request line. */
  readonly pathAndQuery: string;
  readonly headers: HeaderRecord;
  /** Each of them may have signed: two while a secret is being rotated. */
  readonly secrets: readonly string[];
  /** Names that have to be among the signed ones besides hash and date, such as a custom header that is relied on. */
  readonly requiredHeaders?: readonly string[];
} & Reception;

/** `body` is the bytes as received, before any decoding. */
export type DeliveryToVerify = DeliveryHead & { readonly body: Uint8Array };

export type Reception = {
  /** Epoch milliseconds; the system's clock where absent, so that leaving it out does not let old requests in. */
  readonly now?: number;
  /** How far `date` may be from `now`, either way; 300 where absent. Infinity lets every date pass: for tests with old payloads. */
  readonly toleranceSeconds?: number;
};

export type ContentFailureCode =
  | 'repeated_header'
  | 'missing_header'
  | 'malformed_date'
  | 'stale_date'
  | 'future_date'
  | 'malformed_content_hash';

export type HeadFailureCode =
  | ContentFailureCode
  | 'no_secret'
  | 'wrong_method'
  | 'missing_authorization'
  | 'wrong_scheme'
  | 'malformed_authorization'
  | 'unsigned_header'
  | 'wrong_signature';

export type DeliveryFailureCode = HeadFailureCode | 'wrong_content_hash';

/** `sentAt` is the date in epoch milliseconds, whole seconds; `contentHash` what the body has to have. */
export type ContentVerdict = Verdict<ContentFailureCode, { readonly sentAt: number; readonly contentHash: string }>;

type Signed = { readonly secretIndex: number; readonly signedAt: number; readonly signedHeaders: readonly string[] };

export type HeadVerdict = Verdict<HeadFailureCode, Signed & { readonly contentHash: string }>;

/** `secretIndex` says which secret signed, `signedAt` when (epoch milliseconds, whole seconds). */
export type DeliveryVerdict = Verdict<DeliveryFailureCode, Signed>;

/** Says whether a request is a delivery that one of the secrets signed, or which of the reasons stands against it. Never rejects. */
export async function verifyDelivery(delivery: DeliveryToVerify): Promise<DeliveryVerdict> {
  const head = await verifyHead(delivery);
  if (!head.ok) return head;
  const content = await verifyContent(delivery.body, head.contentHash);
  if (!content.ok) return content;
  const { secretIndex, signedAt, signedHeaders } = head;
  return { ok: true, secretIndex, signedAt, signedHeaders };
}

/** All of `verifyDelivery` but the body: cheap checks first, the signature last. Never rejects. */
export async function verifyHead(delivery: DeliveryHead): Promise<HeadVerdict> {
  const { method, secrets, requiredHeaders = [] } = delivery;
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
  const repeated = repeatedHeader(delivery.headers, signedHeaders);
  if (repeated !== null) return failure('repeated_header', repeated);
  const content = readContentHeaders(delivery.headers, delivery);
  if (!content.ok) return content;
  const values = signedHeaders.map((name) => headers.get(name) ?? '');
  const signed = stringToSign(method, delivery.pathAndQuery, values);
  const secretIndex = await secretThatSigned(secrets, signed, signature);
  if (secretIndex === -1) {
    const [line, target] = signed.split('\n');
    const by = secrets.length === 1 ? 'the secret' : `any of the ${secrets.length} secrets`;
    return failure(
      'wrong_signature',
      `the signature is not made with ${by} over ${line} ${target} and the values of ${signedHeaders.join(', ')}`,
    );
  }
  return { ok: true, secretIndex, signedAt: content.sentAt, signedHeaders, contentHash: content.contentHash };
}

/** Reads the two headers that deliveries with a bearer token carry too, and judges the date. Hashes nothing. */
export function readContentHeaders(record: HeaderRecord, reception: Reception): ContentVerdict {
  const { now = Date.now(), toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS } = reception;
  const repeated = repeatedHeader(record, REQUIRED_SIGNED_HEADERS);
  if (repeated !== null) return failure('repeated_header', repeated);
  const headers = lowerCaseHeaders(record);
  const [contentHash, date] = [headers.get('x-content-sha256'), headers.get('date')];
  if (contentHash === undefined) return failure('missing_header', 'x-content-sha256 is missing');
  if (date === undefined) return failure('missing_header', 'date is missing');
  if (decodeStrictBase64(contentHash)?.length !== 32) {
    const found = `${contentHash.length} characters`;
    return failure(
      'malformed_content_hash',
      `x-content-sha256 is not the Base64 of 32 bytes (44 characters): ${found}`,
    );
  }
  const sentAt = parseImfFixdate(date);
  if (sentAt === null) return failure('malformed_date', `date is not an IMF-fixdate: ${JSON.stringify(date)}`);
  const problem = ageProblem('date', sentAt, now, toleranceSeconds);
  if (problem !== null) return failure(sentAt < now ? 'stale_date' : 'future_date', problem);
  return { ok: true, sentAt, contentHash };
}

/** Whether the bytes are those that `x-content-sha256` is the hash of. */
export async function verifyContent(body: Uint8Array, contentHash: string): Promise<Verdict<'wrong_content_hash'>> {
  if (await equalText(await sha256Base64(body), contentHash)) return { ok: true };
  return failure('wrong_content_hash', `x-content-sha256 is not that of the ${body.length} bytes received`);
}

type Authorization = { readonly ok: true; readonly signedHeaders: readonly string[]; readonly signature: string };

function readAuthorization(text: string | undefined): Authorization | Failure<HeadFailureCode> {
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
async function secretThatSigned(secrets: readonly string[], signed: string, signature: string): Promise<number> {
  const matches = secrets.map(async (secret) =>
    equalText(await hmacSha256Base64(secretKey(secret), signed), signature),
  );
  return (await Promise.all(matches)).indexOf(true);
}
