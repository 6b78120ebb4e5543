/**
 * Bearer tokens from a customer's authorization server (wire.md §5, RFC 6749 §4.4): one request at a time per endpoint, kept
 * until shortly before they expire.
 */
import { z } from 'zod';
import type { Clock } from '../ids.ts';
import { OAUTH_ANSWER_SHOWN_LENGTH, OAUTH_CACHED, OAUTH_EARLY_MS, OAUTH_TIMEOUT_MS } from '../limits.ts';
import { type Answer, type Failure, failure } from '../outbound/outcome.ts';
import type { Transport } from '../outbound/transport.ts';
import type { Endpoint } from '../store/endpoints.ts';
import { USER_AGENT } from '../version.ts';

export type BearerToken = { readonly ok: true; readonly token: string } | Failure;

export type OauthTokens = {
  /** The endpoint's token: the kept one, or a new one. Never throws; why there is none stands in the failure. */
  token(endpoint: Endpoint): Promise<BearerToken>;
  /** Forgets a token that the endpoint refused, unless another has taken its place. */
  drop(endpoint: Endpoint, token: string): void;
};

type Kept = { readonly version: number; readonly token: string; readonly expiresAt: number };

/** RFC 6749 §5.1. Some servers send numbers as text. */
const tokenAnswer = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]+$/),
  token_type: z.string(),
  expires_in: z.coerce.number().positive().optional().catch(undefined),
});

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
    const outcome = await transport.post(tokenRequest(endpoint));
    if (!outcome.ok && outcome.errorClass !== 'http_status') {
      return failure('oauth_token', `the token request failed: ${outcome.errorClass}: ${outcome.message}`, outcome);
    }
    const answer = outcome.answer as Answer;
    const parsed = answer.status === 200 ? tokenAnswer.safeParse(parseJson(answer.body)) : null;
    const problem = problemOf(answer.status, parsed);
    if (problem !== null || parsed?.success !== true) {
      const shown = withoutToken(answer);
      const body = Buffer.from(shown.body).toString('utf8').slice(0, OAUTH_ANSWER_SHOWN_LENGTH);
      return failure('oauth_token', `${problem}: ${body === '' ? '(empty body)' : body}`, {
        answer: shown,
        timings: outcome.timings,
      });
    }
    const { access_token: token, expires_in: expiresIn } = parsed.data;
    const lifetimeMs =
      expiresIn === undefined ? (endpoint.oauthTokenExpirationMinutes ?? 60) * 60_000 : expiresIn * 1000;
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

/** Basic of `clientId:clientSecret` as they are, not form-encoded first (wire.md §5 differs from RFC 6749 §2.3.1 here). */
function tokenRequest(endpoint: Endpoint): Parameters<Transport['post']>[0] {
  const credentials = `${endpoint.oauthClientId}:${endpoint.oauthClientSecret?.reveal()}`;
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (endpoint.oauthScopes !== null) form.set('scope', endpoint.oauthScopes);
  return {
    url: new URL(endpoint.oauthTokenUrl ?? ''),
    headers: {
      authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      'user-agent': USER_AGENT,
    },
    body: Buffer.from(form.toString()),
    timeoutMs: OAUTH_TIMEOUT_MS,
  };
}

function problemOf(status: number, parsed: z.ZodSafeParseResult<z.infer<typeof tokenAnswer>> | null): string | null {
  if (parsed === null) return `the token endpoint answered ${status}`;
  if (!parsed.success) return 'the token endpoint answered 200 without a usable access_token and token_type';
  const { token_type: tokenType } = parsed.data;
  return tokenType.toLowerCase() === 'bearer'
    ? null
    : 'the token endpoint issued a token whose token_type is not Bearer';
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** An answer that is shown to people must not show a token that was in it. */
function withoutToken(answer: Answer): Answer {
  const text = Buffer.from(answer.body).toString('utf8');
  const masked = text.replace(/("(?:access|refresh|id)_token"\s*:\s*)"(?:[^"\\]|\\.)*"?/g, '$1"[secret]"');
  return { ...answer, body: Buffer.from(masked) };
}
