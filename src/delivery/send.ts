/** Sends one attempt: builds the message, posts it, and makes the record of the attempt. */
import { RESPONSE_KEPT_BYTES } from '../kernel/limits/limits.ts';
import { reasonOf } from '../outbound/attempt.ts';
import { failure, type Outcome } from '../outbound/outcome.ts';
import type { Transport } from '../outbound/transport.ts';
import { clientCertificateOf } from '../webhooks/client-certificate.ts';
import type { Endpoint } from '../webhooks/endpoint.ts';
import type { WebhookConfiguration } from '../webhooks/webhook.ts';
import type { AttemptRecord } from './attempt.ts';
import type { BodyOrFailure } from './body.ts';
import { buildMessage, type Message, type MessageParts, maskedHeaders } from './message.ts';
import type { BearerToken, OauthTokens } from './oauth.ts';

export type Sent = {
  readonly startedAt: number;
  /** With the first `RESPONSE_KEPT_BYTES` of the response body. */
  readonly outcome: Outcome;
  /** Secrets masked. */
  readonly requestHeaders: Readonly<Record<string, string>>;
};

/** `body` may be a failure to make it. `now` is the time of the attempt, in epoch milliseconds. */
type Parts = Omit<MessageParts, 'webhook' | 'body'> & {
  readonly webhook: MessageParts['webhook'] & Pick<WebhookConfiguration, 'timeoutSeconds'>;
  readonly body: BodyOrFailure;
};

/** Sends one attempt. Never throws: failures are outcomes. */
export type Send = (parts: Parts, signal?: AbortSignal) => Promise<Sent>;

type Dependencies = {
  readonly transport: Transport;
  readonly oauth: OauthTokens;
  /** Told of every attempt that a fault of the service prevented, unless it was ended. */
  readonly onFault?: (endpointId: string, message: string) => void;
};

export function createSend({ transport, oauth, onFault }: Dependencies): Send {
  const post = ({ url, headers, body }: Message, parts: Parts, signal: AbortSignal | undefined): Promise<Outcome> =>
    transport.post({
      url,
      headers,
      body,
      signal,
      headDecides: true,
      timeoutMs: parts.webhook.timeoutSeconds * 1000,
      clientCertificate: clientCertificateOf(parts.endpoint),
    });

  /** A 401 drops the token, and the request is sent once more with a new one (contract §5). */
  const postWithBearer = async (
    message: Message,
    parts: Parts,
    signal: AbortSignal | undefined,
  ): Promise<{ outcome: Outcome; message: Message }> => {
    const { endpoint } = parts;
    for (let round = 1; ; round += 1) {
      const bearer = await unlessGivenUp(oauth.token(endpoint), signal);
      if (!bearer.ok) return { outcome: bearer, message };
      const authorized = withBearer(message, bearer.token);
      const outcome = await post(authorized, parts, signal);
      if (!isUnauthorized(outcome)) return { outcome, message: authorized };
      oauth.drop(endpoint, bearer.token);
      if (round === 2) return { outcome, message: authorized };
    }
  };

  return async (parts, signal) => {
    const { body, now: startedAt } = parts;
    if (!body.ok) return { startedAt, outcome: body, requestHeaders: {} };
    const message = buildMessage({ ...parts, body });
    const sent = isOauth(parts.endpoint)
      ? await postWithBearer(message, parts, signal)
      : { outcome: await post(message, parts, signal), message };
    const { outcome } = sent;
    if (!outcome.ok && outcome.errorClass === 'internal' && !signal?.aborted)
      onFault?.(parts.endpoint.id, outcome.message);
    return { startedAt, outcome: cut(outcome), requestHeaders: maskedHeaders(sent.message.headers) };
  };
}

/** Copies the first 4 KiB of the response body, so that an outcome that cannot be written for hours does not hold the rest in memory. */
function cut(outcome: Outcome): Outcome {
  const { answer } = outcome;
  if (answer === null || answer.body.byteLength <= RESPONSE_KEPT_BYTES) return outcome;
  const shorter = { ...answer, body: new Uint8Array(answer.body.subarray(0, RESPONSE_KEPT_BYTES)) };
  return outcome.ok ? { ...outcome, answer: shorter } : { ...outcome, answer: shorter };
}

/** The token request continues, because other deliveries may wait for the same token. */
function unlessGivenUp(token: Promise<BearerToken>, signal: AbortSignal | undefined): Promise<BearerToken> {
  if (signal === undefined) return token;
  return new Promise((resolve, reject) => {
    const giveUp = (): void => resolve(failure('internal', `${reasonOf(signal)} before it had a token`));
    if (signal.aborted) return giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    void token.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}

type AttemptIdentity = Pick<
  AttemptRecord,
  'id' | 'webhookNumber' | 'kind' | 'batchId' | 'firstOffset' | 'lastOffset' | 'attemptNumber'
>;

/** The attempt as it is stored. */
export function attemptRecord(identity: AttemptIdentity, { startedAt, outcome, requestHeaders }: Sent): AttemptRecord {
  const { answer, timings } = outcome;
  return {
    ...identity,
    startedAt,
    requestHeaders,
    responseStatus: answer?.status ?? null,
    responseHeaders: answer?.headers ?? null,
    responseBody: answer?.body ?? null,
    errorClass: outcome.ok ? null : outcome.errorClass,
    errorMessage: outcome.ok ? null : outcome.message,
    timings,
  };
}

function isOauth(endpoint: Endpoint): boolean {
  return endpoint.oauthClientId !== null;
}

function withBearer(message: Message, token: string): Message {
  return { ...message, headers: { ...message.headers, authorization: `Bearer ${token}` } };
}

function isUnauthorized(outcome: Outcome): boolean {
  return !outcome.ok && outcome.errorClass === 'http_status' && outcome.answer?.status === 401;
}
