/**
 * Bearer tokens from a customer's authorization server (wire.md §5, RFC 6749 §4.4): one request at a time per endpoint, kept
 * until shortly before they expire.
 */
import type { Clock } from '../ids.ts';
import { OAUTH_ANSWER_SHOWN_LENGTH, OAUTH_CACHED, OAUTH_EARLY_MS } from '../limits.ts';
import { type Failure, failure } from '../outbound/outcome.ts';
import type { Transport } from '../outbound/transport.ts';
import type { Endpoint } from '../store/endpoints.ts';
import { requestToken, type TokenReply } from './oauth-request.ts';

export type BearerToken = { readonly ok: true; readonly token: string } | Failure;

export type OauthTokens = {
  /** The endpoint's token: the kept one, or a new one. Never throws; why there is none stands in the failure. */
  token(endpoint: Endpoint): Promise<BearerToken>;
  /** Forgets a token that the endpoint refused, unless another has taken its place. */
  drop(endpoint: Endpoint, token: string): void;
};

type Kept = { readonly version: number; readonly token: string; readonly expiresAt: number };

export function createOauthTokens({
  transport,
  clock,
}: {
  readonly transport: Transport;
  readonly clock: Clock;
}): OauthTokens {
  const kept = new Map<string, Kept>();
  const underWay = new Map<string, Promise<BearerToken>>();

  const fetchToken = async (endpoint: Endpoint): Promise<BearerToken> => {
    const requestedAt = clock();
    const reply = await requestToken(transport, endpoint);
    if (!reply.ok) return refusedToken(reply);
    const { token, expiresInSeconds } = reply;
    const lifetimeMs =
      expiresInSeconds === undefined ? (endpoint.oauthTokenExpirationMinutes ?? 60) * 60_000 : expiresInSeconds * 1000;
    // Used until shortly before its end, so that it does not expire on its way.
    const expiresAt = requestedAt + lifetimeMs - Math.min(OAUTH_EARLY_MS, lifetimeMs / 10);
    kept.delete(endpoint.id);
    kept.set(endpoint.id, { version: endpoint.updatedAt, token, expiresAt });
    const [oldest] = kept.keys();
    if (kept.size > OAUTH_CACHED && oldest !== undefined) kept.delete(oldest);
    return { ok: true, token };
  };

  return {
    token: (endpoint) => {
      const known = kept.get(endpoint.id);
      if (known !== undefined && known.version === endpoint.updatedAt && known.expiresAt > clock()) {
        return Promise.resolve({ ok: true, token: known.token });
      }
      const key = `${endpoint.id} ${endpoint.updatedAt}`;
      const running = underWay.get(key);
      if (running !== undefined) return running;
      const request = fetchToken(endpoint).finally(() => underWay.delete(key));
      underWay.set(key, request);
      return request;
    },
    drop: (endpoint, token) => {
      if (kept.get(endpoint.id)?.token === token) kept.delete(endpoint.id);
    },
  };
}

/** With what the server said, where it said anything: why it refuses stands in its body (RFC 6749 §5.2). */
function refusedToken({ problem, outcome }: Extract<TokenReply, { ok: false }>): Failure {
  if (!outcome.ok && outcome.errorClass !== 'http_status') return failure('oauth_token', problem, outcome);
  const body = Buffer.from(outcome.answer?.body ?? [])
    .toString('utf8')
    .slice(0, OAUTH_ANSWER_SHOWN_LENGTH);
  return failure('oauth_token', `${problem}: ${body === '' ? '(empty body)' : body}`, outcome);
}
