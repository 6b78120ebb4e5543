/**
 * From a request to what it brings, or to the reason why it is refused: who sent it, by its headers alone; then its bytes; then
 * what they say (wire.md §5). Nothing of a body is read, let alone hashed, before the headers hold.
 */
import { AUTHORIZATION_BYTES } from '../limits.ts';
import { answerChallenge, challengeHeader, isChallengeToken } from '../wire/challenge-answer.ts';
import { readContentHeaders, verifyContent, verifyHead } from '../wire/delivery-verification.ts';
import { parseEnvelope } from '../wire/envelope.ts';
import { lowerCaseHeaders } from '../wire/headers.ts';
import { readEncoding } from '../wire/payload-decoding.ts';
import { failure, type Verdict } from '../wire/verdict.ts';
import { equalText } from '../wire/web-hash.ts';
import type { Delivery, RecordOf } from './delivery.ts';
import type { Settings } from './options.ts';
import type { RefusalCode } from './refusals.ts';
import { type BodyVerdict, isBytes, type ReceivedRequest, tooLarge, wasParsed } from './request.ts';

/** What a request brings: a token challenge with the answer to give, or a delivery. */
export type Opened<Events> =
  | { readonly kind: 'challenge'; readonly answer: string }
  | { readonly kind: 'delivery'; readonly delivery: Delivery<Events> };

export type OpenVerdict<Events> = Verdict<RefusalCode, Opened<Events>>;

/** Rejects only with what a function of the settings throws. */
export async function openRequest<Events>(received: ReceivedRequest, settings: Settings): Promise<OpenVerdict<Events>> {
  const request = openable(received, settings);
  const { method, headers, apiKeys } = request;
  if (method.toUpperCase() !== 'POST') return failure('wrong_method', `the method is ${method}, deliveries are POST`);
  if (apiKeys.length > 0) {
    const given = headers.get('x-api-key');
    if (given === undefined) return failure('missing_api_key', 'x-api-key is missing');
    const matches = apiKeys.map((apiKey) => equalText(apiKey, given));
    if (!matches.includes(true)) return failure('wrong_api_key', 'x-api-key is not the one that was agreed');
  }
  const token = headers.get(challengeHeader);
  if (token !== undefined) return takeChallenge(request, token);

  const sender = await verifySender(request);
  if (!sender.ok) return sender;
  const content = await readContent(request, sender.contentHash);
  if (!content.ok) return content;
  const json = decodeText(content.body);
  const parsed = parseEnvelope(json);
  if (!parsed.ok) return parsed;
  const { sentAt, secretIndex } = sender;
  const records = parsed.envelope.records as readonly unknown[] as readonly RecordOf<Events>[];
  const delivery = { ...parsed.envelope, records, sentAt, secretIndex, headers: sender.headers, json };
  return { ok: true, kind: 'delivery', delivery };
}

/** The request with what it is held to. */
type Openable = ReturnType<typeof openable>;

function openable(request: ReceivedRequest, settings: Settings) {
  return {
    ...settings,
    ...request,
    pathAndQuery: settings.pathAndQuery ?? request.pathAndQuery,
    headers: lowerCaseHeaders(request.headers),
    now: settings.clock(),
  };
}

async function takeChallenge<Events>(
  { pathAndQuery, secrets: [secret] }: Openable,
  token: string,
): Promise<OpenVerdict<Events>> {
  if (!isChallengeToken(token)) {
    return failure('malformed_challenge', `${challengeHeader} is not 43 Base64url characters, it has ${token.length}`);
  }
  if (secret === undefined) return failure('no_secret', 'there is no secret to answer the challenge with');
  return { ok: true, kind: 'challenge', answer: await answerChallenge({ pathAndQuery, token, secret }) };
}

type Sender = Pick<Delivery<never>, 'sentAt' | 'secretIndex' | 'headers'> & { readonly contentHash: string };

/** By signature, or by bearer token where those are taken. */
async function verifySender(request: Openable): Promise<Verdict<RefusalCode, Sender>> {
  const { headers, bearer } = request;
  const authorization = headers.get('authorization') ?? '';
  if (bearer === undefined || !/^bearer /i.test(authorization)) {
    const head = await verifyHead(request);
    if (!head.ok) return head;
    return { ...head, headers: Object.fromEntries([...headers].filter(([name]) => head.signedHeaders.includes(name))) };
  }
  const content = readContentHeaders(request);
  if (!content.ok) return content;
  const token = /^\S+ ([\w.~+/-]+=*)$/.exec(authorization.slice(0, AUTHORIZATION_BYTES))?.[1];
  if (token === undefined) return failure('malformed_authorization', 'the Authorization header holds no bearer token');
  if (!(await bearer(token))) return failure('wrong_token', 'the bearer token is not accepted');
  return { ...content, secretIndex: null, headers: Object.fromEntries(headers) };
}

/** The bytes that were sent, decoded. What the headers show to be wrong costs no reading of the body. */
async function readContent(
  request: Openable,
  contentHash: string,
): Promise<Verdict<RefusalCode, { readonly body: Uint8Array }>> {
  const { headers, body, decrypt, maxBodyBytes, maxDecodedBytes: maxBytes } = request;
  const encoding = readEncoding(headers, { decrypt, maxBytes });
  if (!encoding.ok) return encoding;
  const message = request.standardWebhooks?.(request);
  if (message?.ok === false) return message;

  const announced = Number(headers.get('content-length') ?? 0);
  if (announced > maxBodyBytes) return tooLarge(announced, maxBodyBytes);
  const read = typeof body === 'function' ? await body(maxBodyBytes) : givenBody(body, maxBodyBytes);
  if (!read.ok) return read;
  const { bytes } = read;
  const content = await verifyContent(bytes, contentHash);
  if (!content.ok) {
    const unpacked = headers.has('content-encoding') && bytes[0] !== 0x1f;
    return unpacked ? failure(content.code, `${content.description}, which are no gzip: were they unpacked?`) : content;
  }
  const verdict = await message?.verify(bytes);
  return verdict?.ok === false ? verdict : encoding.decode(bytes);
}

function givenBody(bytes: Uint8Array, maxBytes: number): BodyVerdict {
  // Programs without types pass on what their framework made of it.
  if (!isBytes(bytes)) return wasParsed();
  return bytes.length <= maxBytes ? { ok: true, bytes } : tooLarge(bytes.length, maxBytes);
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // What is not UTF-8 is no JSON either.
    return '';
  }
}
