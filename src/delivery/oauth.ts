/**
 * Bearer tokens from a customer's authorization server (contract §5, RFC 6749 §4.4): one request at a time for each endpoint, cached
 * until shortly before they expire.
 */

import type { Clock } from '../kernel/ids.ts';
import { OAUTH_ANSWER_SHOWN_LENGTH, OAUTH_CACHED, OAUTH_EARLY_MS } from '../kernel/limits/delivery.ts';
import { createLru } from '../kernel/lru.ts';
import { type Failure, failure } from '../outbound/outcome.ts';
import type { Transport } from '../outbound/transport.ts';
import type { Endpoint } from '../webhooks/endpoint.ts';
import { requestToken, type TokenReply } from './oauth-request.ts';

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
  const underWay = new Map<string, Running>();

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
      const before = underWay.get(endpoint.id);
      if (before?.settings === settings) return before.token;
      const fetched = (): Promise<BearerToken> => fetchToken(endpoint, settings);
      const running: Running = { settings, token: before === undefined ? fetched() : before.token.then(fetched) };
      underWay.set(endpoint.id, running);
      return running.token.finally(() => {
        if (underWay.get(endpoint.id) === running) underWay.delete(endpoint.id);
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
