/**
 * The parts that all OAuth endpoints share. They accept JSON and forms: a request in JSON is answered with the error body, a form as
 * RFC 6749 §5.2 requires.
 */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { TOKEN_REQUEST_BYTES } from '../../domain/limits.ts';
import { Refusal, type RefusalCode } from '../../kernel/refusal.ts';
import { errorBodySchema } from '../error-body.ts';
import type { BodyRule, Reply, Route } from '../route.ts';
import { BASIC_CHALLENGE } from './client-authentication.ts';
import { isForm } from './oauth-parameters.ts';

/** The client credentials in a form. */
export const formCredentials = {
  client_id: z.string().optional().meta({ description: 'In the body, or by HTTP Basic' }),
  client_secret: z.string().optional().meta({ description: 'In the body, or by HTTP Basic' }),
};

export const oauthErrorSchema = z
  .object({ error: z.string(), error_description: z.string() })
  .meta({ id: 'OAuthError', description: 'A refusal as RFC 6749 §5.2 words it, to a request that came as a form.' });

/** The body of a refusal: the first for JSON, the second for a form. */
const oauthRefusal: z.ZodType = z.union([errorBodySchema, oauthErrorSchema]);

type OauthRoute = Pick<
  Route,
  'for' | 'path' | 'operationId' | 'authentication' | 'summary' | 'body' | 'replies' | 'respond'
> &
  Partial<Pick<Route, 'refuse' | 'promisesNothing' | 'metered'>>;

/**
 * By OpenAPI, tools ignore this parameter, because the security scheme says the same. openapi-python-client 0.28 and 0.29 need it:
 * where an operation has several media types and no optional parameter, they forget an import
 * (https://github.com/openapi-generators/openapi-python-client/issues/1451).
 */
const BASIC_HEADER: NonNullable<Route['headers']> = {
  Authorization: {
    schema: z.string(),
    description: 'HTTP Basic with the client id and the client secret, if they are not in the body.',
  },
};

/** A route of an OAuth endpoint, with the replies that all of them share. */
export function oauthRoute({ replies, ...route }: OauthRoute): Route {
  return {
    method: 'POST',
    access: 'open',
    metered: 'call',
    tag: 'oauth',
    headers: BASIC_HEADER,
    replies: {
      400: { description: 'Refused; a form is answered as RFC 6749 §5.2 says' },
      429: { description: 'Too many failed authentications; see `Retry-After`' },
      ...replies,
    },
    refusal: oauthRefusal,
    refuse: refuseInDialect,
    ...route,
  };
}

export function oauthBody(schema: z.ZodType, formSchema: z.ZodType): BodyRule {
  const types = ['application/json', 'application/x-www-form-urlencoded'] as const;
  return { maxBytes: TOKEN_REQUEST_BYTES, types, schema, formSchema };
}

/** Words a refusal for the media type of the request. For `Route.refuse`. */
export function refuseInDialect(refusal: Refusal, { headers }: IncomingMessage): Reply | Refusal | null {
  if (!isForm(headers['content-type'])) {
    return refusal.code === 'malformed_json' ? new Refusal('invalid_request', refusal.message) : null;
  }
  const isClientRefused = refusal.code === 'invalid_client';
  // RFC 6749 §5.2 requires the scheme for a client that used the header. A client without credentials gets it from `credentialsOf`.
  const challenge =
    isClientRefused && headers.authorization !== undefined ? { 'WWW-Authenticate': BASIC_CHALLENGE } : {};
  return {
    status: isClientRefused ? 401 : refusal.status,
    headers: { Pragma: 'no-cache', ...challenge, ...refusal.headers },
    body: { error: ERRORS[refusal.code] ?? refusal.code, error_description: describable(refusal.message) },
  };
}

/** Codes for which RFC 6749 has a name. Other codes are sent unchanged. */
const ERRORS: Partial<Record<RefusalCode, string>> = {
  content_too_large: 'invalid_request',
  unsupported_media_type: 'invalid_request',
  request_timeout: 'invalid_request',
  unavailable: 'temporarily_unavailable',
};

/** Replaces characters that `error_description` may not contain. */
function describable(description: string): string {
  return description.replaceAll('"', "'").replace(/[^\x20-\x7e]|\\/g, '?');
}
