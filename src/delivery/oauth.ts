/**
 * Bearer tokens from a customer's authorization server (contract §5.6, RFC 6749 §4.4): one request at a time for each endpoint, cached
 * until shortly before they expire; and the test of an endpoint's settings, which requests one token and stores nothing.
 */

import { brotliDecompressSync, gunzipSync, inflateSync, type ZlibOptions } from 'node:zlib';
import { z } from 'zod';
import type { Endpoint } from '../domain/endpoint.ts';
import { formsOfSecret, maskSecrets } from '../domain/masking.ts';
import {
  adviceFor,
  type Failure,
  failure,
  type Outcome,
  RESPONSE_KEPT_BYTES,
  RESPONSE_READ_BYTES,
  type ReceiverAnswer,
  type Timings,
} from '../domain/outcome.ts';
import type { Clock } from '../kernel/ids.ts';
import { createLru } from '../kernel/lru.ts';
import { Refusal } from '../kernel/refusal.ts';
import { isObject } from '../kernel/validation.ts';
import { USER_AGENT } from '../kernel/version.ts';
import type { Transport } from '../outbound/transport.ts';
import type { Administration } from '../resources/administration.ts';
import { OAUTH_TIMEOUT_MS } from './limits.ts';

/** A token is renewed this long before its end, or a tenth of its lifetime before if that is less. */
const OAUTH_EARLY_MS = 60_000;
const OAUTH_CACHED = 10_000;

/** How much of the token endpoint's error response is quoted. */
const OAUTH_ANSWER_SHOWN_LENGTH = 500;

export type BearerToken = { readonly ok: true; readonly token: string } | Failure;

export type OauthTokens = {
  /** The endpoint's token: cached or new. Never throws; the failure says why there is none. */
  token(endpoint: Endpoint): Promise<BearerToken>;
  /** Drops a token that the endpoint refused, unless a newer one has replaced it. */
  drop(endpoint: Endpoint, token: string): void;
};

type CachedToken = { readonly settings: string; readonly token: string; readonly expiresAt: number };

type Running = { readonly settings: string; readonly token: Promise<BearerToken> };

export function createOauthTokens({
  transport,
  clock,
}: {
  readonly transport: Transport;
  readonly clock: Clock;
}): OauthTokens {
  const cache = createLru<string, CachedToken>({ max: OAUTH_CACHED });
  const inProgress = new Map<string, Running>();

  const fetchToken = async (endpoint: Endpoint, settings: string): Promise<BearerToken> => {
    const requestedAt = clock();
    const reply = await requestToken(transport, endpoint);
    if (!reply.ok) return refusedToken(reply);
    const { token, expiresInSeconds } = reply;
    const lifetimeMs =
      expiresInSeconds === undefined
        ? (endpoint.oauthTokenExpirationMinutes ?? 60) * 60_000
        : Math.max(0, expiresInSeconds * 1000);
    // Renewed before its end, so that it does not expire on the way.
    const expiresAt = requestedAt + lifetimeMs - Math.min(OAUTH_EARLY_MS, lifetimeMs / 10);
    cache.set(endpoint.id, { settings, token, expiresAt });
    return { ok: true, token };
  };

  return {
    token: (endpoint) => {
      const settings = settingsOf(endpoint);
      const cached = cache.get(endpoint.id);
      if (cached !== undefined && cached.settings === settings && cached.expiresAt > clock()) {
        return Promise.resolve({ ok: true, token: cached.token });
      }
      if (cached?.settings !== settings) cache.delete(endpoint.id);
      const before = inProgress.get(endpoint.id);
      if (before?.settings === settings) return before.token;
      const fetched = (): Promise<BearerToken> => fetchToken(endpoint, settings);
      const running: Running = { settings, token: before === undefined ? fetched() : before.token.then(fetched) };
      inProgress.set(endpoint.id, running);
      return running.token.finally(() => {
        if (inProgress.get(endpoint.id) === running) inProgress.delete(endpoint.id);
      });
    },
    drop: (endpoint, token) => {
      if (cache.get(endpoint.id)?.token === token) cache.delete(endpoint.id);
    },
  };
}

/** The settings a token depends on. Other changes of the endpoint leave it valid. */
function settingsOf(endpoint: Endpoint): string {
  const { oauthClientId, oauthClientSecret, oauthTokenUrl, oauthScopes, oauthTokenExpirationMinutes } = endpoint;
  const secret = oauthClientSecret?.reveal();
  return JSON.stringify([oauthClientId, secret, oauthTokenUrl, oauthScopes, oauthTokenExpirationMinutes]);
}

/** Quotes the server's response, whose body gives the reason (RFC 6749 §5.2). */
function refusedToken({ problem, outcome }: Extract<TokenReply, { ok: false }>): Failure {
  // The service could not send the request: that is neither server's fault.
  if (!outcome.ok && outcome.errorClass === 'internal') return failure('internal', problem, outcome);
  if (!outcome.ok && outcome.errorClass !== 'http_status') return failure('oauth_token', problem, outcome);
  const body = Buffer.from(outcome.answer?.body ?? [])
    .toString('utf8')
    .slice(0, OAUTH_ANSWER_SHOWN_LENGTH);
  return failure('oauth_token', `${problem}: ${body === '' ? '(empty body)' : body}`, outcome);
}

type TokenReply =
  | {
      readonly ok: true;
      readonly token: string;
      /** As the server sent it, even 0; undefined if it sent none. */
      readonly expiresInSeconds: number | undefined;
      readonly outcome: Outcome;
    }
  | { readonly ok: false; readonly problem: string; readonly outcome: Outcome };

/** RFC 6749 §5.1. Some servers send numbers as text. */
const tokenAnswer = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]+$/),
  token_type: z.string(),
  expires_in: z
    .union([
      z.number(),
      z
        .string()
        .regex(/^-?\d+$/)
        .transform(Number),
    ])
    .optional()
    .catch(undefined),
});

/**
 * Sends one request. Never throws. The response in `outcome` has tokens masked, even if it was truncated, and the client secret wherever
 * the server echoes it.
 */
async function requestToken(transport: Transport, endpoint: Endpoint): Promise<TokenReply> {
  const received = await transport.post(tokenRequest(endpoint));
  const content = received.answer === null ? null : decoded(received.answer);
  const shown = content === null ? null : maskSecrets(content.answer, formsOfClientSecret(endpoint));
  const outcome = { ...received, answer: shown } as Outcome;
  const refuse = (problem: string): TokenReply => ({ ok: false, problem, outcome });
  if (!received.ok && received.errorClass !== 'http_status') {
    return refuse(`the token request failed: ${received.errorClass}: ${received.message}`);
  }
  // Every other outcome has a response.
  const { answer, problem } = content as DecodedAnswer;
  if (answer.status !== 200) return refuse(`the token endpoint answered ${answer.status}`);
  if (problem !== null) return refuse(`the token endpoint answered 200 ${problem}`);
  const parsed = tokenAnswer.safeParse(parseJson(answer.body));
  if (!parsed.success) return refuse('the token endpoint answered 200 without a usable access_token and token_type');
  const { access_token: token, token_type: tokenType, expires_in: expiresInSeconds } = parsed.data;
  if (tokenType.toLowerCase() !== 'bearer') {
    return refuse('the token endpoint issued a token whose token_type is not Bearer');
  }
  return { ok: true, token, expiresInSeconds, outcome };
}

/** Basic of `clientId:clientSecret` as they are, in UTF-8, not form-encoded first (contract §5.6 differs from RFC 6749 §2.3.1 here). */
function tokenRequest(endpoint: Endpoint): Parameters<Transport['post']>[0] {
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (endpoint.oauthScopes !== null) form.set('scope', endpoint.oauthScopes);
  return {
    url: new URL(endpoint.oauthTokenUrl ?? ''),
    customerId: endpoint.customerId,
    headers: {
      authorization: `Basic ${basicCredentials(endpoint)}`,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': USER_AGENT,
    },
    body: Buffer.from(form.toString()),
    timeoutMs: OAUTH_TIMEOUT_MS,
  };
}

function basicCredentials({ oauthClientId, oauthClientSecret }: Endpoint): string {
  return Buffer.from(`${oauthClientId}:${oauthClientSecret?.reveal()}`).toString('base64');
}

/** Undefined if it is not JSON. */
function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** The forms in which a response may echo the client secret, also as sent. */
function formsOfClientSecret(endpoint: Endpoint): readonly string[] {
  const secret = endpoint.oauthClientSecret?.reveal() ?? '';
  return secret === '' ? [] : [basicCredentials(endpoint), ...formsOfSecret(secret)];
}

export type OauthTest = {
  readonly at: number;
  /** The server issued a usable token. It is neither stored nor shown. */
  readonly issued: boolean;
  /** Null without a response. */
  readonly responseStatus: number | null;
  /** The first 4 KiB, tokens masked. */
  readonly responseBody: string | null;
  /** The members of the response (RFC 6749 §5.1), as sent. */
  readonly tokenType: string | null;
  readonly expiresIn: string | null;
  readonly scope: string | null;
  readonly error: string | null;
  /** The advice for the error. */
  readonly advice: string | null;
  readonly timings: Timings;
};

/** Throws 404 for an unknown endpoint and 409 for one without OAuth settings. */
export type TestOauth = (endpointId: string) => Promise<OauthTest>;

type Dependencies = {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly endpoints: Pick<Administration<Endpoint>, 'get'>;
};

export function createTestOauth({ transport, clock, endpoints }: Dependencies): TestOauth {
  return async (endpointId) => {
    const endpoint = await endpoints.get(endpointId);
    if (endpoint.oauthTokenUrl === null) throw new Refusal('invalid_state', 'the endpoint has no OAuth settings');
    const at = clock();
    const reply = await requestToken(transport, endpoint);
    const { outcome } = reply;
    const { answer, timings } = outcome;
    const json = answer === null ? undefined : parseJson(answer.body);
    const member = (name: string): string | null => {
      const value = isObject(json) ? json[name] : undefined;
      return typeof value === 'string' || typeof value === 'number'
        ? String(value).slice(0, MEMBER_SHOWN_LENGTH)
        : null;
    };
    return {
      at,
      issued: reply.ok,
      responseStatus: answer?.status ?? null,
      responseBody: answer === null ? null : Buffer.from(answer.body.subarray(0, RESPONSE_KEPT_BYTES)).toString('utf8'),
      tokenType: member('token_type'),
      expiresIn: member('expires_in'),
      scope: member('scope'),
      error: reply.ok ? null : reply.problem,
      // The advice for tokens is about OAuth settings. A failed connection has other causes.
      advice: reply.ok
        ? null
        : outcome.ok || outcome.errorClass === 'http_status'
          ? adviceFor('oauth_token')
          : outcome.advice,
      timings,
    };
  };
}

const MEMBER_SHOWN_LENGTH = 500;

/** The answer of a token server, decoded. */
type DecodedAnswer = {
  /** The body as text is, without content coding and byte order mark; empty if it could not be decoded. */
  readonly answer: ReceiverAnswer;
  /** Why the body could not be decoded, as the end of a sentence, or null. */
  readonly problem: string | null;
};

const DECODERS: Readonly<Record<string, (bytes: Uint8Array, options: ZlibOptions) => Uint8Array>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

/**
 * Removes the content coding, which some servers apply although the request accepts none, and a byte order mark. The body has at most
 * `RESPONSE_READ_BYTES` afterwards too. A body that cannot be decoded is left out, because nobody could find the secrets in it.
 */
function decoded(answer: ReceiverAnswer): DecodedAnswer {
  const coding = (answer.headers['content-encoding'] ?? '').trim().toLowerCase();
  if (coding === '' || coding === 'identity' || answer.body.length === 0) {
    return { answer: { ...answer, body: withoutMark(answer.body) }, problem: null };
  }
  const undecoded = { ...answer, body: new Uint8Array(0) };
  const decode = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (decode === undefined) {
    return { answer: undecoded, problem: 'in a Content-Encoding that was not asked for and is not supported' };
  }
  try {
    const body = decode(answer.body, { maxOutputLength: RESPONSE_READ_BYTES });
    return { answer: { ...answer, body: withoutMark(body) }, problem: null };
  } catch {
    const problem = `with a body that cannot be decoded as ${coding}, or has more than ${RESPONSE_READ_BYTES} bytes`;
    return { answer: undecoded, problem };
  }
}

/** JSON text must not begin with a byte order mark, and parsers may ignore one (RFC 8259 §8.1). */
function withoutMark(body: Uint8Array): Uint8Array {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}
