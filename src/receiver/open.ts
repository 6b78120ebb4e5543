/**
 * From a request to what it brings, or to the reason why it is refused: who sent it, by its headers alone; then its bytes; then
 * what they say (wire.md §5). Nothing of a body is read, let alone hashed, before the headers hold.
 */
import { AUTHORIZATION_BYTES } from '../limits.ts';
import { answerChallenge, challengeHeader, isChallengeToken } from '../wire/challenge-answer.ts';
import { readContentHeaders, verifyContent, verifyHead } from '../wire/delivery-verification.ts';
import { parseEnvelope } from '../wire/envelope.ts';
import { lowerCaseHeaders, repeatedHeader } from '../wire/headers.ts';
import { decodePayload, readEncoding } from '../wire/payload-decoding.ts';
import { readMessageHead, verifyStandardWebhook } from '../wire/standard-webhooks-verification.ts';
import { type Failure, failure, type Verdict } from '../wire/verdict.ts';
import { equalText } from '../wire/web-hash.ts';
import type { Delivery, RecordOf } from './delivery.ts';
import type { VerifySettings } from './options.ts';
import type { RefusalCode } from './refusals.ts';
import { type BodyVerdict, bodyTooLarge, bodyWasParsed, isBytes, type ReceivedRequest } from './request.ts';

/** What a request brings: a token challenge with the answer to give, or a delivery. */
export type Opened<Events> =
  | { readonly kind: 'challenge'; readonly answer: string }
  | { readonly kind: 'delivery'; readonly delivery: Delivery<Events> };

export type OpenVerdict<Events> = Verdict<RefusalCode, Opened<Events>>;

/** Headers that come once or the request is refused: which of two would count? */
const SINGLE = [
  'authorization',
  'content-encoding',
  'content-type',
  'date',
  'x-api-key',
  'x-challenge-sha256',
  'x-content-encrypted',
  'x-content-sha256',
  'x-original-encoding',
  'x-pgp-key-name',
];

/** Rejects only with what `bearer`, `decrypt` or the reading of the body throws. */
export async function openRequest<Events>(
  received: ReceivedRequest,
  settings: VerifySettings,
): Promise<OpenVerdict<Events>> {
  const request = { ...received, pathAndQuery: settings.pathAndQuery ?? received.pathAndQuery, now: settings.clock() };
  const { method, pathAndQuery, headers } = request;
  if (method.toUpperCase() !== 'POST') return failure('wrong_method', `the method is ${method}, deliveries are POST`);
  if (!pathAndQuery.startsWith('/')) return failure('malformed_target', 'the request target does not begin with /');
  const repeated = repeatedHeader(headers, SINGLE);
  if (repeated !== null) return failure('repeated_header', repeated);
  const refused = await refuseApiKey(request, settings);
  if (refused !== null) return refused;
  const token = lowerCaseHeaders(headers).get(challengeHeader);
  if (token !== undefined) return takeChallenge(pathAndQuery, token, settings);

  const sender = await verifySender(request, settings);
  if (!sender.ok) return sender;
  const content = await readContent(request, sender.contentHash, settings);
  if (!content.ok) return content;
  const json = decodeText(content.body);
  if (json === null) return failure('malformed_json', 'the body is not UTF-8');
  const parsed = parseEnvelope(json);
  if (!parsed.ok) return parsed;
  const { sentAt, secretIndex } = sender;
  const records = parsed.envelope.records as readonly unknown[] as readonly RecordOf<Events>[];
  const delivery = { ...parsed.envelope, records, sentAt, secretIndex, headers: sender.headers, json };
  return { ok: true, kind: 'delivery', delivery };
}

type Request = ReceivedRequest & { readonly now: number };

async function refuseApiKey({ headers }: Request, { apiKeys }: VerifySettings): Promise<Failure<RefusalCode> | null> {
  if (apiKeys.length === 0) return null;
  const given = lowerCaseHeaders(headers).get('x-api-key');
  if (given === undefined) return failure('missing_api_key', 'x-api-key is missing');
  const matches = await Promise.all(apiKeys.map((apiKey) => equalText(apiKey, given)));
  return matches.includes(true) ? null : failure('wrong_api_key', 'x-api-key is not the one that was agreed');
}

async function takeChallenge<Events>(
  pathAndQuery: string,
  token: string,
  { secrets: [secret] }: VerifySettings,
): Promise<OpenVerdict<Events>> {
  if (!isChallengeToken(token)) {
    const found = `it has ${token.length} characters`;
    return failure('malformed_challenge', `${challengeHeader} is not a token of 43 Base64url characters (${found})`);
  }
  if (secret === undefined) return failure('no_secret', 'there is no secret to answer the challenge with');
  return { ok: true, kind: 'challenge', answer: await answerChallenge({ pathAndQuery, token, secret }) };
}

type Sender = Pick<Delivery<never>, 'sentAt' | 'secretIndex' | 'headers'> & { readonly contentHash: string };

/** By signature, or by bearer token where those are taken. */
async function verifySender(request: Request, settings: VerifySettings): Promise<Verdict<RefusalCode, Sender>> {
  const headers = lowerCaseHeaders(request.headers);
  const authorization = headers.get('authorization') ?? '';
  if (settings.bearer === null || !/^bearer\b/i.test(authorization)) {
    const head = await verifyHead({ ...settings, ...request });
    if (!head.ok) return head;
    const signed = head.signedHeaders.map((name) => [name, headers.get(name) ?? '']);
    return { ...head, sentAt: head.signedAt, headers: Object.fromEntries(signed) };
  }
  const content = readContentHeaders(request.headers, { ...settings, ...request });
  if (!content.ok) return content;
  const token = /^bearer +([\w.~+/-]+=*)$/i.exec(authorization)?.[1];
  if (token === undefined || authorization.length > AUTHORIZATION_BYTES) {
    return failure('malformed_authorization', 'the Authorization header holds no bearer token');
  }
  if (!(await settings.bearer(token))) return failure('wrong_token', 'the bearer token is not accepted');
  return { ...content, secretIndex: null, headers: Object.fromEntries(headers) };
}

/** The bytes as they were sent, decoded. What the headers show to be wrong costs no reading of the body. */
async function readContent(
  request: Request,
  contentHash: string,
  settings: VerifySettings,
): Promise<Verdict<RefusalCode, { readonly body: Uint8Array }>> {
  const { headers, body } = request;
  const { decrypt, standardWebhooks, maxBodyBytes, maxDecodedBytes: maxBytes } = settings;
  const encoding = readEncoding(headers);
  if (!encoding.ok) return encoding;
  if (encoding.keyName !== null && decrypt === null) {
    return failure('no_decryption', 'the body is encrypted and no decrypt was given');
  }
  const message = standardWebhooks ? readMessageHead({ ...settings, ...request }) : null;
  if (message?.ok === false) return message;
  const read = await readBody(body, Number(lowerCaseHeaders(headers).get('content-length') ?? 0), maxBodyBytes);
  if (!read.ok) return read;
  const { bytes } = read;
  const content = await verifyContent(bytes, contentHash);
  if (!content.ok) return wasUnpacked(bytes, headers) ? failure('body_was_unpacked', UNPACKED) : content;
  if (standardWebhooks) {
    const verdict = await verifyStandardWebhook({ ...settings, ...request, body: bytes });
    if (!verdict.ok) return verdict;
  }
  return decodePayload(bytes, headers, decrypt === null ? { maxBytes } : { maxBytes, decrypt });
}

async function readBody(body: ReceivedRequest['body'], announced: number, maxBytes: number): Promise<BodyVerdict> {
  if (announced > maxBytes) return bodyTooLarge(`${announced}`, maxBytes);
  if (typeof body === 'function') return body(maxBytes);
  // Programs without types pass on what their framework made of it.
  if (!isBytes(body)) return bodyWasParsed('');
  return body.length > maxBytes ? bodyTooLarge(`${body.length}`, maxBytes) : { ok: true, bytes: body };
}

const UNPACKED = 'the body is announced as gzip and was unpacked before verification: pass the bytes as received';

function wasUnpacked(bytes: Uint8Array, headers: ReceivedRequest['headers']): boolean {
  return lowerCaseHeaders(headers).has('content-encoding') && !(bytes[0] === 0x1f && bytes[1] === 0x8b);
}

function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
