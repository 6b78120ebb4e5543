/** One token request to a customer's authorization server (contract §5, RFC 6749 §4.4), and its result. */
import { z } from 'zod';
import { OAUTH_TIMEOUT_MS } from '../kernel/limits/delivery.ts';
import { USER_AGENT } from '../kernel/version.ts';
import type { Answer, Outcome } from '../outbound/outcome.ts';
import type { Transport } from '../outbound/transport.ts';
import type { Endpoint } from '../webhooks/endpoint.ts';

export type TokenReply =
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
export async function requestToken(transport: Transport, endpoint: Endpoint): Promise<TokenReply> {
  const received = await transport.post(tokenRequest(endpoint));
  const outcome: Outcome = received.ok
    ? { ...received, answer: withoutSecrets(received.answer, endpoint) }
    : { ...received, answer: received.answer === null ? null : withoutSecrets(received.answer, endpoint) };
  const refuse = (problem: string): TokenReply => ({ ok: false, problem, outcome });
  if (!received.ok && received.errorClass !== 'http_status') {
    return refuse(`the token request failed: ${received.errorClass}: ${received.message}`);
  }
  // Every other outcome has a response.
  const answer = received.answer as Answer;
  if (answer.status !== 200) return refuse(`the token endpoint answered ${answer.status}`);
  const parsed = tokenAnswer.safeParse(parseJson(answer.body));
  if (!parsed.success) return refuse('the token endpoint answered 200 without a usable access_token and token_type');
  const { access_token: token, token_type: tokenType, expires_in: expiresInSeconds } = parsed.data;
  if (tokenType.toLowerCase() !== 'bearer') {
    return refuse('the token endpoint issued a token whose token_type is not Bearer');
  }
  return { ok: true, token, expiresInSeconds, outcome };
}

/** Basic of `clientId:clientSecret` as they are, in UTF-8, not form-encoded first (contract §5 differs from RFC 6749 §2.3.1 here). */
function tokenRequest(endpoint: Endpoint): Parameters<Transport['post']>[0] {
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (endpoint.oauthScopes !== null) form.set('scope', endpoint.oauthScopes);
  return {
    url: new URL(endpoint.oauthTokenUrl ?? ''),
    headers: {
      authorization: `Basic ${basicCredentials(endpoint)}`,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
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
export function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** Masks tokens, in JSON and in forms, and the client secret, because people see the response. */
function withoutSecrets(answer: Answer, endpoint: Endpoint): Answer {
  const sent = formsOfSecret(endpoint);
  const withoutSent = (text: string): string => sent.reduce((rest, form) => rest.replaceAll(form, '[secret]'), text);
  const text = Buffer.from(answer.body).toString('utf8');
  const masked = withoutSent(text)
    .replace(/("(?:access|refresh|id)_token"\s*:\s*)"(?:[^"\\]|\\.)*"?/g, '$1"[secret]"')
    .replace(/\b((?:access|refresh|id)_token=)[^&\s]+/g, '$1[secret]');
  const headers = Object.entries(answer.headers).map(([name, value]) => [name, withoutSent(value)]);
  return { ...answer, headers: Object.fromEntries(headers), body: Buffer.from(masked) };
}

/** The forms in which a response may echo the client secret: as sent, plain, in JSON with and without escapes, in a URL, in a form. */
function formsOfSecret(endpoint: Endpoint): readonly string[] {
  const secret = endpoint.oauthClientSecret?.reveal() ?? '';
  if (secret === '') return [];
  const inJson = JSON.stringify(secret).slice(1, -1);
  const escaped = inJson.replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const inForm = new URLSearchParams({ '': secret }).toString().slice(1);
  return [basicCredentials(endpoint), secret, inJson, escaped, encodeURIComponent(secret), inForm];
}
