/** Sends one attempt (contract §5.1): signs it or adds a bearer token, posts it, and makes the record of the attempt. */
import type { KeyObject } from 'node:crypto';
import type { EndedAttempt } from '../domain/batch.ts';
import {
  clientCertificateOf,
  currentApiKey,
  type Endpoint,
  hasOwnHeaders,
  signingKeys,
  signingSecret,
  standardWebhookSecrets,
} from '../domain/endpoint.ts';
import { type OwnHeaders, ownHeaders } from '../domain/endpoint-headers.ts';
import { formsOfSecret, maskSecrets } from '../domain/masking.ts';
import { failure, type Outcome, RESPONSE_KEPT_BYTES } from '../domain/outcome.ts';
import type { SignatureTemplate, WebhookConfiguration } from '../domain/webhook.ts';
import type { Secret } from '../kernel/secret.ts';
import { USER_AGENT } from '../kernel/version.ts';
import type { Cancellation, Transport } from '../outbound/transport.ts';
import { asymmetricSignatures, ed25519Key } from '../wire/ed25519.ts';
import { signDelivery, signingKey, standardWebhookHeaders } from '../wire/payload.ts';
import { STANDARD_SECRET_PREFIX } from '../wire/signature.ts';
import {
  compileTemplate,
  type SignByTemplate,
  type TemplateMessage,
  type TemplateSignature,
  textKey,
} from '../wire/signature-template.ts';
import type { BodyOrFailure, DeliveryBody } from './body.ts';
import type { BearerToken, OauthTokens } from './oauth.ts';

/** One attempt to send. */
type Parts = {
  readonly webhook: Pick<
    WebhookConfiguration,
    'customHeaders' | 'format' | 'standardWebhooks' | 'signature' | 'timeoutSeconds'
  >;
  readonly endpoint: Endpoint;
  readonly batchId: string;
  readonly body: BodyOrFailure;
  /** The time of this attempt, in epoch milliseconds: every attempt gets a new signature. */
  readonly now: number;
};

type Message = {
  readonly url: URL;
  /** In the order in which they are sent. Without `authorization` until the bearer token is added. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Headers that the endpoint adds; null for most. */
  readonly own: OwnHeaders | null;
};

/** Sends one attempt. Never throws: failures are outcomes. */
export type Send = (parts: Parts, cancellation?: Cancellation) => Promise<EndedAttempt>;

type Dependencies = {
  readonly transport: Transport;
  readonly oauth: OauthTokens;
  /** Told of every attempt that a fault of the service prevented, unless it was ended. */
  readonly onFault?: (endpointId: string, message: string) => void;
};

export function createSend({ transport, oauth, onFault }: Dependencies): Send {
  const post = (
    { url, headers, body }: Pick<Message, 'url' | 'headers' | 'body'>,
    parts: Parts,
    cancellation: Cancellation | undefined,
  ): Promise<Outcome> =>
    transport.post({
      url,
      headers,
      body,
      cancellation,
      headDecides: true,
      customerId: parts.endpoint.customerId,
      timeoutMs: parts.webhook.timeoutSeconds * 1000,
      clientCertificate: clientCertificateOf(parts.endpoint),
    });

  /** A 401 drops the token, and the request is sent once more with a new one (contract §5.6). */
  const postWithBearer = async (
    message: Message,
    parts: Parts,
    cancellation: Cancellation | undefined,
  ): Promise<{ outcome: Outcome; message: Message }> => {
    const { endpoint } = parts;
    for (let round = 1; ; round += 1) {
      const bearer = await unlessGivenUp(oauth.token(endpoint), cancellation);
      if (!bearer.ok) return { outcome: bearer, message };
      const headers = { ...message.headers, authorization: `Bearer ${bearer.token}` };
      const authorized = { ...message, headers };
      const outcome = await post(authorized, parts, cancellation);
      const isUnauthorized = !outcome.ok && outcome.answer?.status === 401;
      if (isUnauthorized) oauth.drop(endpoint, bearer.token);
      if (!isUnauthorized || round === 2)
        return { outcome: withoutSecrets(outcome, formsOfSecret(bearer.token)), message: authorized };
    }
  };

  return async (parts, cancellation) => {
    const { body, now: startedAt } = parts;
    if (!body.ok) return { startedAt, outcome: body, requestHeaders: {}, bodyBytes: 0 };
    const message = buildMessage(parts, body);
    const { byteLength } = message.body;
    const isOauth = parts.endpoint.oauthClientId !== null;
    const sent = isOauth
      ? await postWithBearer(message, parts, cancellation)
      : { outcome: await post(message, parts, cancellation), message };
    const { outcome } = sent;
    if (!outcome.ok && outcome.errorClass === 'internal' && cancellation?.reason == null)
      onFault?.(parts.endpoint.id, outcome.message);
    const isAnswered = outcome.ok || outcome.errorClass === 'http_status';
    const { own, headers } = sent.message;
    const requestHeaders = maskedHeaders(headers, own);
    const shown = cut(own === null ? outcome : withoutSecrets(outcome, own.secrets));
    return { startedAt, outcome: shown, requestHeaders, bodyBytes: isAnswered ? byteLength : 0 };
  };
}

/** A receiver may answer with what it got. */
function withoutSecrets(outcome: Outcome, secrets: readonly string[]): Outcome {
  if (outcome.answer === null || secrets.length === 0) return outcome;
  return { ...outcome, answer: maskSecrets(outcome.answer, secrets) } as Outcome;
}

/** Copies the first 4 KiB of the response body, so that an outcome that cannot be written for hours does not hold the rest in memory. */
function cut(outcome: Outcome): Outcome {
  const { answer } = outcome;
  if (answer === null || answer.body.byteLength <= RESPONSE_KEPT_BYTES) return outcome;
  const shorter = { ...answer, body: new Uint8Array(answer.body.subarray(0, RESPONSE_KEPT_BYTES)) };
  return outcome.ok ? { ...outcome, answer: shorter } : { ...outcome, answer: shorter };
}

/** The token request continues, because other deliveries may wait for the same token. */
function unlessGivenUp(token: Promise<BearerToken>, cancellation: Cancellation | undefined): Promise<BearerToken> {
  if (cancellation === undefined) return token;
  return new Promise((resolve, reject) => {
    const giveUp = (): void => resolve(failure('internal', `${cancellation.reason} before it had a token`));
    if (cancellation.reason !== null) return giveUp();
    cancellation.listeners.add(giveUp);
    void token.then(resolve, reject).finally(() => cancellation.listeners.delete(giveUp));
  });
}

function buildMessage({ webhook, endpoint, batchId, now }: Parts, made: DeliveryBody): Message {
  const { bytes, headers: content, messageId } = made;
  const url = urlOf(endpoint);
  const { customHeaders } = webhook;
  const own = hasOwnHeaders(endpoint) ? ownHeaders(endpoint, now) : null;
  const headers: Record<string, string> = {
    'user-agent': USER_AGENT,
    ...(endpoint.sendApiKey && { 'x-api-key': currentApiKey(endpoint, now).reveal() }),
    ...own?.headers,
    ...content,
    ...(endpoint.oauthClientId === null &&
      own?.authorizes !== true &&
      signDelivery({ url, secret: keyOf(signingSecret(endpoint, now)), content, customHeaders })),
  };
  for (const { name, value } of customHeaders) headers[name] = value;
  if (webhook.standardWebhooks || webhook.format === 'standard') {
    const isAsymmetric = endpoint.signatureType === 'ed25519';
    const secrets = isAsymmetric ? [] : standardWebhookSecrets(endpoint, now).map(keyOf);
    const standard = standardWebhookHeaders({ id: batchId, name: messageId, at: now, body: bytes, secrets });
    if (isAsymmetric) standard['webhook-signature'] = asymmetricSignature(endpoint, standard, bytes, now);
    Object.assign(headers, standard);
  }
  if (webhook.signature !== null) {
    const message = { body: bytes, at: now, id: templateId(batchId, made), url };
    Object.assign(headers, signByTemplate(webhook.signature, endpoint, message).headers);
  }
  return { url, body: bytes, headers, own };
}

/** One key for each cached secret. */
const KEYS = new WeakMap<Secret, KeyObject>();

function keyOf(secret: Secret): KeyObject {
  const known = KEYS.get(secret);
  if (known !== undefined) return known;
  const key = signingKey(secret.reveal());
  KEYS.set(secret, key);
  return key;
}

/** One compiled template for each cached webhook, and one key of text for each cached secret. */
const TEMPLATES = new WeakMap<SignatureTemplate, SignByTemplate>();
const TEXT_KEYS = new WeakMap<Secret, KeyObject>();
const PREFIXED_KEYS = new WeakMap<Secret, KeyObject>();
const KEY_MAKERS: Readonly<Record<SignatureTemplate['key'], (secret: Secret) => KeyObject>> = {
  text: (secret) => textKeyOf(secret, TEXT_KEYS, ''),
  decoded: keyOf,
  // What `givenSecret` removed is a part of the key for Stripe and Outpost.
  prefixed: (secret) => textKeyOf(secret, PREFIXED_KEYS, STANDARD_SECRET_PREFIX),
};

/** `{id}` of templates: the `webhook-id` that the request has, or would have with Standard Webhooks. */
export function templateId(batchId: string, { messageId }: Pick<DeliveryBody, 'messageId'>): string {
  return messageId ?? `msg_${batchId}`;
}

/** Signs a request as the template of its webhook says, at the time of the message. */
export function signByTemplate(
  template: SignatureTemplate,
  endpoint: Endpoint,
  message: TemplateMessage,
): TemplateSignature {
  const sign = TEMPLATES.get(template) ?? compileTemplate(template);
  TEMPLATES.set(template, sign);
  const [active, ...others] = standardWebhookSecrets(endpoint, message.at);
  const keyFor = KEY_MAKERS[template.key];
  return sign(message, [keyFor(active), ...others.map(keyFor)]);
}

/** One key object for each cached private key. */
const PRIVATE_KEYS = new WeakMap<Secret, KeyObject>();

/** `standard`: the other headers of Standard Webhooks. */
function asymmetricSignature(
  endpoint: Endpoint,
  { 'webhook-id': id, 'webhook-timestamp': timestamp }: ReturnType<typeof standardWebhookHeaders>,
  body: Uint8Array,
  now: number,
): string {
  const keys = signingKeys(endpoint, now).map((secret) => {
    const key = PRIVATE_KEYS.get(secret) ?? ed25519Key(secret.reveal());
    PRIVATE_KEYS.set(secret, key);
    return key;
  });
  return asymmetricSignatures({ id, timestamp, body }, keys);
}

function textKeyOf(secret: Secret, known: WeakMap<Secret, KeyObject>, prefix: string): KeyObject {
  const key = known.get(secret) ?? textKey(prefix + secret.reveal());
  known.set(secret, key);
  return key;
}

/** One parsed URL for each cached endpoint. */
const URLS = new WeakMap<Endpoint, URL>();

export function urlOf(endpoint: Endpoint): URL {
  const known = URLS.get(endpoint);
  if (known !== undefined) return known;
  const url = new URL(endpoint.url);
  URLS.set(endpoint, url);
  return url;
}

/** The request of an attempt, with its headers as they are stored and shown. */
export function shownMessage(
  parts: Parts,
  body: DeliveryBody,
): { readonly url: string; readonly headers: Readonly<Record<string, string>> } {
  const { url, headers, own } = buildMessage(parts, body);
  const bearer = parts.endpoint.oauthClientId === null ? {} : { authorization: 'Bearer ' };
  return { url: url.href, headers: maskedHeaders({ ...headers, ...bearer }, own) };
}

/** Headers as they are stored and shown. API key, bearer token and secrets are masked; a signature of one request is not. */
function maskedHeaders(headers: Readonly<Record<string, string>>, own: OwnHeaders | null): Record<string, string> {
  const masked: Record<string, string> = { ...headers, ...own?.masked };
  if ('x-api-key' in headers) masked['x-api-key'] = '[secret]';
  if (headers.authorization?.startsWith('Bearer ')) masked.authorization = 'Bearer [secret]';
  return masked;
}
