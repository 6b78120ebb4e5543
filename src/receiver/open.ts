/**
 * Opens a request, or says why it is refused (contract §5.2, §5.3). Checks the sender by the headers, then the bytes of the body, then
 * their content. The body is not read before the headers are verified.
 */
import { decodeStrictBase64 } from '../wire/bytes.ts';
import { answerChallenge, challengeHeader } from '../wire/challenge-answer.ts';
import { readContentHeaders, verifyContent, verifyHead } from '../wire/delivery-verification.ts';
import { type Envelope, parseEnvelope } from '../wire/envelope.ts';
import { lowerCaseHeaders } from '../wire/headers.ts';
import { readEncoding, tooLarge } from '../wire/payload-decoding.ts';
import { reject, type Verdict } from '../wire/verdict.ts';
import { equalText } from '../wire/web-hash.ts';
import type { Delivery, EventDelivery } from './delivery.ts';
import type { EventFormats } from './events.ts';
import type { Settings } from './options.ts';
import type { Refusal, RefusalCode } from './refusals.ts';
import type { ReceivedRequest } from './request.ts';

/** The content of a request: the answer to a token challenge, the headers that answer a handshake, or a delivery. */
export type Opened<Events> =
  | { readonly answer: string }
  | { readonly handshake: Readonly<Record<string, string>> }
  | { readonly delivery: Delivery<Events> }
  | { readonly eventDelivery: EventDelivery<Events> };

export type OpenVerdict<Events> = ({ readonly ok: true } & Opened<Events>) | ({ readonly ok: false } & Refusal);

/** The formats for which the receiver has functions. */
type Formats<Events> = { readonly records: boolean; readonly events: EventFormats<Events> | undefined };

/** Rejects only if a function of the settings throws. */
export async function openRequest<Events>(
  received: ReceivedRequest,
  settings: Settings,
  formats: Formats<Events>,
): Promise<OpenVerdict<Events>> {
  const { pathAndQuery = received.pathAndQuery } = settings;
  const headers = lowerCaseHeaders(received.headers);
  const request = { ...settings, ...received, pathAndQuery, headers, now: settings.clock?.() };
  const sender = await verifySender(request, formats.events);
  if (!sender.ok) return { ...sender, verified: false };
  if ('answer' in sender || 'handshake' in sender) return sender;
  const { ok, contentHash, ...sent } = sender;
  const content = await readContent(request, contentHash, formats);
  // Without secrets, only the body is verified.
  const verified = settings.secrets.length > 0 || (!content.ok && content.code !== 'wrong_signature');
  if (!content.ok) return { ...content, verified };
  const { body } = content;
  if ('events' in content) return { ok, eventDelivery: { events: content.events, ...sent, body } };
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

/** `contentHash` is the hash that the body must have. A challenge or a handshake has an answer instead. */
type Sender =
  | (Pick<Delivery<never>, 'sentAt' | 'secretIndex' | 'headers'> & { readonly contentHash: string })
  | Exclude<Opened<never>, { readonly delivery: unknown } | { readonly eventDelivery: unknown }>;

/** Checks the API key, then the signature, or the bearer token or password if the receiver accepts them. */
async function verifySender(
  request: Openable,
  events: Pick<EventFormats<never>, 'answersHandshake' | 'shakeHands'> | undefined,
): Promise<Verdict<RefusalCode, Sender>> {
  const { method, pathAndQuery, headers, secrets, apiKeys } = request;
  const handshake = method === 'OPTIONS' && events?.answersHandshake === true ? events : null;
  if (method !== 'POST' && handshake === null) return reject('wrong_method', `the method is ${method}, not POST`);
  const given = headers.get('x-api-key');
  // Compares all keys, so that the time does not reveal which one matches.
  if (apiKeys.length > 0 && !apiKeys.map((apiKey) => equalText(apiKey, given ?? '')).includes(true)) {
    return reject('wrong_api_key', `x-api-key is ${given === undefined ? 'missing' : 'wrong'}`);
  }
  if (handshake !== null) return handshake.shakeHands(headers);
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
  const credentials = await checkCredentials(request);
  if (credentials !== null) return credentials;
  if (secrets.length === 0) return readUnsigned(request);
  const head = await verifyHead(request);
  if (!head.ok) return head;
  const { signedHeaders, ...signed } = head;
  const trusted = signedHeaders.map((name) => [name, headers.get(name)]);
  return { ...signed, headers: Object.fromEntries(trusted) as Record<string, string> };
}

/** Checks a bearer token or a password in place of a signature; null if the receiver accepts neither, or the request has neither. */
async function checkCredentials(request: Openable): Promise<Verdict<RefusalCode, Sender> | null> {
  const { headers, bearer, basic } = request;
  const authorization = headers.get('authorization') ?? '';
  const token = bearer && /^bearer ([\w.~+/-]+=*)$/i.exec(authorization)?.[1];
  const pair = basic && passwordOf(/^basic ([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1]);
  if (!token && !pair) return null;
  const content = readContentHeaders(request);
  if (!content.ok) return content;
  if (token && !(await bearer(token))) return reject('wrong_token', 'the bearer token is not accepted');
  if (pair && !(await basic(...pair))) return reject('wrong_password', 'the user name and password are not accepted');
  return { ...content, secretIndex: null, headers: Object.fromEntries(headers) };
}

/** User name and password of RFC 7617, in UTF-8. */
function passwordOf(base64: string | undefined): [userName: string, password: string] | null {
  const bytes = base64 === undefined ? null : decodeStrictBase64(base64);
  if (bytes === null) return null;
  const text = new TextDecoder().decode(bytes);
  const colon = text.indexOf(':');
  return colon < 0 ? null : [text.slice(0, colon), text.slice(colon + 1)];
}

/** Without secrets, no header is signed but the time of the signature. `readContent` verifies the body. */
function readUnsigned(request: Openable): Verdict<RefusalCode, Sender> {
  const content = readContentHeaders(request);
  if (!content.ok) return content;
  const message = request.standardWebhooks?.(request);
  if (message?.ok !== true) return message ?? reject('wrong_signature', 'nothing verifies it');
  return { ...content, sentAt: message.signedAt, secretIndex: null, headers: {} };
}

/** The content of a body: records, or events in another format. */
type Content<Events> = Pick<EventDelivery<Events>, 'events'> | { readonly envelope: Envelope };

/** Reads and decodes the body. Problems that the headers show are found before the body is read. */
async function readContent<Events>(
  request: Openable,
  contentHash: string,
  { records, events }: Formats<Events>,
): Promise<Verdict<RefusalCode, Content<Events> & { readonly body: Uint8Array }>> {
  const { headers, body, maxBytes } = request;
  const announced = events?.announced(headers) ?? null;
  const { contentType, verifyMessage } = announced ?? {};
  const encoding = readEncoding(headers, { ...request, contentType });
  if (!encoding.ok) return encoding;
  const message = (request.standardWebhooks ?? verifyMessage)?.(request);
  if (message?.ok === false) return message;

  const length = Number(headers.get('content-length'));
  const bytes = length > maxBytes ? 'too large' : typeof body === 'function' ? await body(maxBytes) : body;
  if (bytes === 'broken') return reject('body_incomplete', 'the connection ended before the body was complete');
  // A program without types may pass a parsed body. Not `instanceof`: in a test runner the bytes may come from another realm.
  if (bytes !== 'too large' && !ArrayBuffer.isView(bytes)) {
    return reject('body_was_parsed', 'the body was parsed before verification: pass the raw bytes');
  }
  if (bytes === 'too large' || bytes.length > maxBytes) return tooLarge('the body', maxBytes);
  const content = await verifyContent(bytes, contentHash);
  if (!content.ok) return content;
  const verdict = await message?.verify(bytes);
  if (verdict?.ok === false) return verdict;
  const decoded = await encoding.decode(bytes);
  if (!decoded.ok) return decoded;
  const read = events?.read(announced, headers, decoded.body) ?? null;
  if (read !== null) return { ...decoded, ...read };
  if (records) return { ...decoded, ...parseEnvelope(decoded.body) };
  return reject('unexpected_format', 'the webhook sends records, and the receiver has no onRecords');
}
