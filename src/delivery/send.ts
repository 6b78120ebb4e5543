/** One attempt: the message is built, sent, and its outcome brought into the form that is kept. */
import type { Clock } from '../ids.ts';
import { RESPONSE_KEPT_BYTES } from '../limits.ts';
import { type Failure, failure, type Outcome } from '../outbound/outcome.ts';
import type { Transport } from '../outbound/transport.ts';
import type { AttemptRecord } from '../store/attempts.ts';
import type { Endpoint } from '../store/endpoints.ts';
import { clientCertificateOf } from '../webhooks/client-certificate.ts';
import { type Encrypt, keyErrorCode } from '../wire/pgp.ts';
import { buildMessage, type Message, type MessageParts, maskedHeaders } from './message.ts';
import type { OauthTokens } from './oauth.ts';

export type Sent = {
  readonly startedAt: number;
  readonly outcome: Outcome;
  /** Secrets masked. */
  readonly requestHeaders: Readonly<Record<string, string>>;
};

type Parts = Omit<MessageParts, 'now' | 'encrypt'>;

/** Sends one attempt. Never throws: what went wrong is the outcome. */
export type Send = (parts: Parts, signal?: AbortSignal) => Promise<Sent>;

type Dependencies = {
  readonly transport: Transport;
  readonly oauth: OauthTokens;
  readonly encrypt: Encrypt;
  readonly clock: Clock;
};

export function createSend({ transport, oauth, encrypt, clock }: Dependencies): Send {
  const post = ({ url, headers, body }: Message, parts: Parts, signal: AbortSignal | undefined): Promise<Outcome> =>
    transport.post({
      url,
      headers,
      body,
      signal,
      timeoutMs: parts.webhook.timeoutSeconds * 1000,
      clientCertificate: clientCertificateOf(parts.endpoint),
    });

  /** A 401 drops the token that was sent and is tried once more with a fresh one (wire.md §5). */
  const postWithBearer = async (
    message: Message,
    parts: Parts,
    signal: AbortSignal | undefined,
  ): Promise<{ outcome: Outcome; message: Message }> => {
    const { endpoint } = parts;
    for (let round = 1; ; round += 1) {
      const bearer = await oauth.token(endpoint);
      if (!bearer.ok) return { outcome: bearer, message };
      const authorized = withBearer(message, bearer.token);
      const outcome = await post(authorized, parts, signal);
      if (!isUnauthorized(outcome)) return { outcome, message: authorized };
      oauth.drop(endpoint, bearer.token);
      if (round === 2) return { outcome, message: authorized };
    }
  };

  return async (parts, signal) => {
    const startedAt = clock();
    let message: Message;
    try {
      const built = buildMessage({ ...parts, encrypt, now: startedAt });
      message = built instanceof Promise ? await built : built;
    } catch (error) {
      return { startedAt, outcome: encryptionFailure(error), requestHeaders: {} };
    }
    const sent = isOauth(parts.endpoint)
      ? await postWithBearer(message, parts, signal)
      : { outcome: await post(message, parts, signal), message };
    return { startedAt, outcome: sent.outcome, requestHeaders: maskedHeaders(sent.message.headers) };
  };
}

type AttemptIdentity = Pick<
  AttemptRecord,
  'id' | 'webhookNumber' | 'kind' | 'batchId' | 'firstOffset' | 'lastOffset' | 'attemptNumber'
>;

/** The attempt as it is kept: the answer cut to its first 4 KiB. */
export function attemptRecord(identity: AttemptIdentity, { startedAt, outcome, requestHeaders }: Sent): AttemptRecord {
  const { answer, timings } = outcome;
  return {
    ...identity,
    startedAt,
    requestHeaders,
    responseStatus: answer?.status ?? null,
    responseHeaders: answer?.headers ?? null,
    responseBody: answer?.body.subarray(0, RESPONSE_KEPT_BYTES) ?? null,
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

function encryptionFailure(error: unknown): Failure {
  const code = keyErrorCode(error);
  const reason = error instanceof Error ? error.message : 'unknown';
  return failure('encryption', code === null ? `the payload could not be encrypted: ${reason}` : `${code}: ${reason}`);
}
