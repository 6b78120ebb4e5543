/**
 * Opens a request, or says why it is refused (contract §5). Checks the sender by the headers, then the bytes of the body, then their
 * content. The body is not read before the headers are verified.
 */
import { answerChallenge, challengeHeader } from '../wire/challenge-answer.ts';
import { readContentHeaders, verifyContent, verifyHead } from '../wire/delivery-verification.ts';
import { type Envelope, parseEnvelope } from '../wire/envelope.ts';
import { lowerCaseHeaders } from '../wire/headers.ts';
import { readEncoding, tooLarge } from '../wire/payload-decoding.ts';
import { reject, type Verdict } from '../wire/verdict.ts';
import { equalText } from '../wire/web-hash.ts';
import type { Delivery } from './delivery.ts';
import type { Settings } from './options.ts';
import type { Refusal, RefusalCode } from './refusals.ts';
import type { ReceivedRequest } from './request.ts';

/** The content of a request: the answer to a token challenge, or a delivery. */
export type Opened<Events> = { readonly answer: string } | { readonly delivery: Delivery<Events> };

export type OpenVerdict<Events> = ({ readonly ok: true } & Opened<Events>) | ({ readonly ok: false } & Refusal);

/** Rejects only if a function of the settings throws. */
export async function openRequest<Events>(received: ReceivedRequest, settings: Settings): Promise<OpenVerdict<Events>> {
  const { pathAndQuery = received.pathAndQuery } = settings;
  const headers = lowerCaseHeaders(received.headers);
  const request = { ...settings, ...received, pathAndQuery, headers, now: settings.clock?.() };
  const sender = await verifySender(request);
  if (!sender.ok) return { ...sender, verified: false };
  if ('answer' in sender) return sender;
  const { ok, contentHash, ...sent } = sender;
  const content = await readContent(request, contentHash);
  // Without secrets, only the body is verified.
  const verified = settings.secrets.length > 0 || (!content.ok && content.code !== 'wrong_signature');
  if (!content.ok) return { ...content, verified };
  const { body } = content;
  const envelope = content.envelope as Pick<Delivery<Events>, keyof Envelope>;
  return { ok, delivery: { ...envelope, ...sent, body } };
}

/** A request with the settings to check it by. */
type Openable = Settings &
  ReceivedRequest & {
    readonly pathAndQuery: string;
    readonly headers: ReadonlyMap<string, string>;
    readonly now: number | undefined;
  };

/** `contentHash` is the hash that the body must have. A challenge has an answer instead. */
type Sender =
  | (Pick<Delivery<never>, 'sentAt' | 'secretIndex' | 'headers'> & { readonly contentHash: string })
  | { readonly answer: string };

/** Checks the API key, then the signature, or the bearer token if the receiver accepts them. */
async function verifySender(request: Openable): Promise<Verdict<RefusalCode, Sender>> {
  const { method, pathAndQuery, headers, secrets, apiKeys, bearer } = request;
  if (method !== 'POST') return reject('wrong_method', `the method is ${method}, not POST`);
  const given = headers.get('x-api-key');
  // Compares all keys, so that the time does not reveal which one matches.
  if (apiKeys.length > 0 && !apiKeys.map((apiKey) => equalText(apiKey, given ?? '')).includes(true)) {
    return reject('wrong_api_key', `x-api-key is ${given === undefined ? 'missing' : 'wrong'}`);
  }
  const token = headers.get(challengeHeader);
  if (token !== undefined) {
    const [secret] = secrets;
    if (secret === undefined) return reject('malformed_challenge', 'there is no secret to answer a challenge with');
    const answer = await answerChallenge({ pathAndQuery, token, secret });
    if (answer !== null) return { ok: true, answer };
    return reject(
      'malformed_challenge',
      `${challengeHeader} is not one token of visible ASCII, or the answer would be a valid signature of a forged delivery`,
    );
  }
  const bearerToken = bearer && /^bearer ([\w.~+/-]+=*)$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (bearerToken) {
    const content = readContentHeaders(request);
    if (!content.ok) return content;
    if (!(await bearer(bearerToken))) return reject('wrong_token', 'the bearer token is not accepted');
    return { ...content, secretIndex: null, headers: Object.fromEntries(headers) };
  }
  if (secrets.length === 0) return readUnsigned(request);
  const head = await verifyHead(request);
  if (!head.ok) return head;
  const { signedHeaders, ...signed } = head;
  const trusted = signedHeaders.map((name) => [name, headers.get(name)]);
  return { ...signed, headers: Object.fromEntries(trusted) as Record<string, string> };
}

/** Without secrets, no header is signed but the time of the signature. `readContent` verifies the body. */
function readUnsigned(request: Openable): Verdict<RefusalCode, Sender> {
  const content = readContentHeaders(request);
  if (!content.ok) return content;
  const message = request.standardWebhooks?.(request);
  if (message?.ok !== true) return message ?? reject('wrong_signature', 'nothing verifies it');
  return { ...content, sentAt: message.signedAt, secretIndex: null, headers: {} };
}

/** Reads and decodes the body. Problems that the headers show are found before the body is read. */
async function readContent(
  request: Openable,
  contentHash: string,
): Promise<Verdict<RefusalCode, { readonly body: Uint8Array; readonly envelope: Envelope }>> {
  const { headers, body, maxBytes } = request;
  const encoding = readEncoding(headers, request);
  if (!encoding.ok) return encoding;
  const message = request.standardWebhooks?.(request);
  if (message?.ok === false) return message;

  const announced = Number(headers.get('content-length'));
  const read = announced > maxBytes ? 'too large' : typeof body === 'function' ? await body(maxBytes) : body;
  if (read === 'broken') return reject('body_incomplete', 'the connection ended before the body was complete');
  // A program without types may pass a parsed body. Not `instanceof`: in a test runner the bytes may come from another realm.
  if (read !== 'too large' && !ArrayBuffer.isView(read)) {
    return reject('body_was_parsed', 'the body was parsed before verification: pass the raw bytes');
  }
  if (read === 'too large' || read.length > maxBytes) return tooLarge('the body', maxBytes);
  const content = await verifyContent(read, contentHash);
  if (!content.ok) return content;
  const verdict = await message?.verify(read);
  if (verdict?.ok === false) return verdict;
  const decoded = await encoding.decode(read);
  if (!decoded.ok) return decoded;
  return { ...decoded, ...parseEnvelope(decoded.body) };
}
