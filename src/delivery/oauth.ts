/**
 * Bearer tokens from a customer's authorization server (contract §5, RFC 6749 §4.4): one request at a time per endpoint, kept
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
  /** The endpoint's token: the kept one, or a new one. Never throws; why there is none stands in the failure. */
  token(endpoint: Endpoint): Promise<BearerToken>;
  /** Forgets a token that the endpoint refused, unless another has taken its place. */
  drop(endpoint: Endpoint, token: string): void;
};

type Kept = { readonly settings: string; readonly token: string; readonly expiresAt: number };

type Running = { readonly settings: string; readonly token: Promise<BearerToken> };

export function createOauthTokens({
  transport,
  clock,
}: {
  readonly transport: Transport;
  readonly clock: Clock;
}): OauthTokens {
  const kept = createLru<string, Kept>({ max: OAUTH_CACHED });
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
    // Used until shortly before its end, so that it does not expire on its way.
    const expiresAt = requestedAt + lifetimeMs - Math.min(OAUTH_EARLY_MS, lifetimeMs / 10);
    kept.set(endpoint.id, { settings, token, expiresAt });
    return { ok: true, token };
  };

  return {
    token: (endpoint) => {
      const settings = settingsOf(endpoint);
      const known = kept.get(endpoint.id);
      if (known !== undefined && known.settings === settings && known.expiresAt > clock()) {
        return Promise.resolve({ ok: true, token: known.token });
      }
      if (known?.settings !== settings) kept.delete(endpoint.id);
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
      if (kept.get(endpoint.id)?.token === token) kept.delete(endpoint.id);
    },
  };
}

/** What a token was asked for with: other changes of an endpoint leave it as good as it was. */
function settingsOf(endpoint: Endpoint): string {
  const { oauthClientId, oauthClientSecret, oauthTokenUrl, oauthScopes, oauthTokenExpirationMinutes } = endpoint;
  const secret = oauthClientSecret?.reveal();
  return JSON.stringify([oauthClientId, secret, oauthTokenUrl, oauthScopes, oauthTokenExpirationMinutes]);
}

/** With what the server said, where it said anything: why it refuses stands in its body (RFC 6749 §5.2). */
function refusedToken({ problem, outcome }: Extract<TokenReply, { ok: false }>): Failure {
  // What keeps this machine from asking is no fault of either server.
  if (!outcome.ok && outcome.errorClass === 'internal') return failure('internal', problem, outcome);
  if (!outcome.ok && outcome.errorClass !== 'http_status') return failure('oauth_token', problem, outcome);
  const body = Buffer.from(outcome.answer?.body ?? [])
    .toString('utf8')
    .slice(0, OAUTH_ANSWER_SHOWN_LENGTH);
  return failure('oauth_token', `${problem}: ${body === '' ? '(empty body)' : body}`, outcome);
}
