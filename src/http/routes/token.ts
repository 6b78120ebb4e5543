/**
 * The token endpoint (RFC 6749 §4.4, contract §2.1, §2.3), and what the other OAuth endpoints share with it. They accept JSON and forms: a
 * request in JSON is answered with the error body, a form as RFC 6749 §5.2 requires.
 */

import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { ClientCredentials, Tokens } from '../../access/tokens.ts';
import type { Client } from '../../domain/application.ts';
import { credentialBytes } from '../../domain/credential.ts';
import { AUTHORIZATION_BYTES, TOKEN_REQUEST_BYTES } from '../../domain/limits.ts';
import type { Attempt } from '../../domain/throttle.ts';
import { refuseBlocked } from '../../domain/throttle.ts';
import type { Clock } from '../../kernel/ids.ts';
import { Refusal, type RefusalCode, refuseField } from '../../kernel/refusal.ts';
import { textProblem } from '../../kernel/validation.ts';
import type { Throttle } from '../../store/port/failures.ts';
import { decodeFormText } from '../body.ts';
import { errorBodySchema } from '../error-body.ts';
import { networkOf } from '../request.ts';
import type { BodyRule, Call, Reply, Route } from '../route.ts';

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
 * OpenAPI tells tools to ignore this parameter, because the security scheme says the same. openapi-python-client 0.28 and 0.29 need it:
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

/** The JSON names of each parameter; error messages use the first. Forms use the names of RFC 6749, 7009 and 7662. */
const JSON_NAMES = {
  grant_type: ['grantType', 'grant_type'],
  client_id: ['clientId', 'client_id'],
  client_secret: ['clientSecret', 'client_secret'],
  scope: ['scope', 'scopes'],
  token: ['token'],
} as const satisfies Record<string, readonly string[]>;

type ParameterName = keyof typeof JSON_NAMES;

export type OAuthParameters = {
  /** The value, or undefined if it is missing or empty (RFC 6749 §3.2). */
  optional(name: ParameterName): string | undefined;
  required(name: ParameterName): string;
};

/** Both functions throw 400 `invalid_request` with the name that the caller used. Unknown parameters are ignored. */
export function parametersOf({ body, mediaType }: Pick<Call, 'body' | 'mediaType'>): OAuthParameters {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Refusal('invalid_request', 'the body must be a JSON object');
  const members = body as Readonly<Record<string, unknown>>;
  const form = isForm(mediaType);
  const namesOf = (name: ParameterName): readonly string[] => (form ? [name] : JSON_NAMES[name]);

  const optional = (name: ParameterName): string | undefined => {
    if (name === 'scope') refuseMisnamedScope(members, namesOf(name));
    let value: string | undefined;
    let from = '';
    for (const alias of namesOf(name)) {
      const given = members[alias];
      if (given === undefined || (given === null && name === 'scope')) continue;
      if (typeof given !== 'string') throw refuseField(alias, 'must be a string', 'invalid_request');
      const problem = textProblem(given);
      if (problem !== null) throw refuseField(alias, problem, 'invalid_request');
      if (value !== undefined && !isSame(name, value, given)) {
        throw refuseField(alias, `differs from ${from}, another name of the same parameter`, 'invalid_request');
      }
      value = given;
      from = alias;
    }
    return value === '' ? undefined : value;
  };
  return {
    optional,
    required: (name) => {
      const value = optional(name);
      if (value === undefined) throw refuseField(namesOf(name)[0] as string, 'is required', 'invalid_request');
      return value;
    },
  };
}

/**
 * Without `scope` a token carries every registered scope. So a member that is meant as `scope`, such as `scope[]` or `scopes` in a form, is
 * refused instead of ignored.
 */
function refuseMisnamedScope(members: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  for (const member of Object.keys(members)) {
    if (!names.includes(member) && /^scopes?(\[\w*\])*$/i.test(member))
      throw refuseField(member, 'is not a parameter: name the scopes in scope, separated by spaces', 'invalid_request');
  }
}

/** Scopes are equal in any order and with repeats (RFC 6749 §3.3). */
function isSame(name: ParameterName, one: string, other: string): boolean {
  if (one === other || name !== 'scope') return one === other;
  return scopeSet(one) === scopeSet(other);
}

function scopeSet(text: string): string {
  return [...new Set(text.split(' '))]
    .filter((scope) => scope !== '')
    .sort()
    .join(' ');
}

/** Whether a media type, or a `Content-Type` header with parameters, is that of a form. */
function isForm(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === 'application/json') return false;
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/x-www-form-urlencoded';
}

export type ClientAuthentication = {
  /**
   * Authenticates the client of a call. Throws `invalid_client`, which never tells why the credentials are wrong; `invalid_request` for
   * malformed credentials or credentials in two places; 429 with `Retry-After` after too many failures.
   */
  client(call: Call, parameters: OAuthParameters): Promise<Client>;
};

type AuthenticationParts = {
  readonly tokens: Pick<Tokens, 'authenticate' | 'version'>;
  readonly throttle: Throttle;
  readonly clock: Clock;
};

/** Authentication behind the throttle (contract §2.6). All routes share one, so that guesses at one count for all. */
export function createClientAuthentication({ tokens, throttle, clock }: AuthenticationParts): ClientAuthentication {
  const authenticate = async (credentials: ClientCredentials, attempt: Attempt): Promise<Client> => {
    // Both are asked together, since on PostgreSQL each is a query.
    const [waitMs, version] = await Promise.all([throttle.blockedForMs(attempt, clock()), tokens.version()]);
    refuseBlocked(waitMs, tooMany);
    const client = await tokens.authenticate(credentials, version).catch(async (error: unknown) => {
      if (isFailedAuthentication(error)) refuseBlocked(await throttle.countFailure(attempt, clock()), tooMany);
      throw error;
    });
    refuseBlocked(await throttle.blockedHereForMs(attempt, clock()), tooMany);
    return client;
  };
  return {
    client: async (call, parameters) => {
      const credentials = credentialsOf(call, parameters);
      const { clientId } = credentials;
      try {
        const client = await authenticate(credentials, { network: networkOf(call.remoteAddress), clientId });
        call.clientId = clientId;
        return client;
      } catch (error) {
        // Log only a well-formed client id. Anything else may be a secret in the wrong field.
        if (credentialBytes('spc', clientId) !== null) call.clientId = clientId;
        throw error;
      }
    },
  };
}

/**
 * Where a call has its credentials. Never both in the `Authorization` header and in the body (RFC 6749 §2.3.1): throws 400
 * `invalid_request` then, and for a repeated header. But a form may repeat the `client_id` of Basic (contract §2.3): RFC 6749 §3.2.1 allows
 * it, and stock clients do it.
 */
export function credentialPlace({ request, mediaType }: Call, parameters: OAuthParameters): 'header' | 'body' {
  if (request.headers.authorization === undefined) return 'body';
  if ((request.headersDistinct.authorization?.length ?? 0) > 1) {
    throw new Refusal('invalid_request', 'the Authorization header was sent more than once');
  }
  if (parameters.optional('client_secret') !== undefined) throw sentTwice();
  const clientId = parameters.optional('client_id');
  if (clientId !== undefined && !(isForm(mediaType) && isBasic(request.headers.authorization))) throw sentTwice();
  return 'header';
}

function sentTwice(): Refusal {
  return new Refusal(
    'invalid_request',
    'client credentials were sent both in the Authorization header and in the body',
  );
}

function credentialsOf(call: Call, parameters: OAuthParameters): ClientCredentials {
  if (credentialPlace(call, parameters) === 'header') {
    const credentials = basicCredentials(call.request.headers.authorization ?? '');
    if ((parameters.optional('client_id') ?? credentials.clientId) === credentials.clientId) return credentials;
    throw new Refusal('invalid_request', 'client_id differs from the client id in the Authorization header');
  }
  if (isForm(call.mediaType) && parameters.optional('client_id') === undefined) {
    // RFC 6749 §5.2 includes "no client authentication included".
    throw new Refusal('invalid_client', 'client credentials are required', {
      headers: { 'WWW-Authenticate': BASIC_CHALLENGE },
    });
  }
  return { clientId: parameters.required('client_id'), clientSecret: parameters.required('client_secret') };
}

/** RFC 7617. */
const BASIC_CHALLENGE = 'Basic realm="sallyport", charset="UTF-8"';
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** RFC 6749 §2.3.1: the id and the secret are form-encoded, joined by a colon, and Base64-encoded. */
function basicCredentials(header: string): ClientCredentials {
  if (!isBasic(header)) {
    throw new Refusal('invalid_client', 'the only authentication scheme supported is Basic');
  }
  const base64 = header.length > AUTHORIZATION_BYTES ? undefined : BASIC.exec(header)?.[1];
  const text = base64 === undefined ? null : decodeUtf8(Buffer.from(base64, 'base64'));
  const colon = text?.indexOf(':') ?? -1;
  const clientId = text === null || colon === -1 ? null : decodeFormText(text.slice(0, colon));
  const clientSecret = text === null || colon === -1 ? null : decodeFormText(text.slice(colon + 1));
  if (clientId === null || clientSecret === null) {
    throw new Refusal(
      'invalid_request',
      'the Authorization header is not Basic with a form-encoded client id and secret',
    );
  }
  const problem = textProblem(clientId) ?? textProblem(clientSecret);
  if (problem !== null) throw refuseField('Authorization', problem, 'invalid_request');
  return { clientId, clientSecret };
}

function isBasic(header: string): boolean {
  return /^basic(?: |$)/i.test(header);
}

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

function isFailedAuthentication(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'invalid_client';
}

function tooMany(): string {
  return 'too many failed authentications came from this address';
}

/** Words a refusal for the media type of the request. For `Route.refuse`. */
function refuseInDialect(refusal: Refusal, { headers }: IncomingMessage): Reply | Refusal | null {
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

export const TOKEN_PATH = '/services/api/oauth2/token';
export const GRANT_TYPE = 'client_credentials';

const scope = z
  .string()
  .optional()
  .meta({
    description: 'At most 20 names separated by spaces, in any order; absent, empty or `all`: every registered one',
    examples: ['employees:view employees:edit'],
  });

const tokenForm = z
  .object({ grant_type: z.literal(GRANT_TYPE), scope, ...formCredentials })
  .catchall(z.string())
  .meta({ id: 'TokenForm', description: 'The client credentials grant (RFC 6749 §4.4.2).' });

const tokenRequest = z
  .looseObject({
    clientId: z.string().meta({ description: 'Or `client_id`' }),
    clientSecret: z.string().meta({ description: 'Or `client_secret`' }),
    grantType: z.literal(GRANT_TYPE).meta({ description: 'Or `grant_type`' }),
    scope,
  })
  .meta({
    id: 'TokenRequest',
    description: 'The client credentials grant; `scopes` is another name of `scope`. Other members are ignored.',
  });

const tokenResponse = z
  .object({
    access_token: z.string(),
    expires_in: z.int().meta({ description: 'Seconds' }),
    scope: z.string().meta({ description: 'The granted scopes, sorted' }),
    token_type: z.literal('Bearer'),
  })
  .meta({ id: 'TokenResponse', description: 'An access token (RFC 6749 §5.1).' });

type Dependencies = { readonly tokens: Pick<Tokens, 'issue'>; readonly authentication: ClientAuthentication };

export function tokenRoutes({ tokens, authentication }: Dependencies): Route[] {
  return [
    oauthRoute({
      for: 'anyone',
      path: TOKEN_PATH,
      metered: 'token',
      // It answers only what it wrote.
      promisesNothing: true,
      operationId: 'issueToken',
      authentication: { by: ['body', 'basic'] },
      summary: 'Get an access token',
      body: oauthBody(tokenRequest, tokenForm),
      replies: {
        200: { description: 'The token', schema: tokenResponse },
        401: { description: 'To a form: the client credentials are not valid', schema: oauthErrorSchema },
      },
      respond: async (call) => {
        const parameters = parametersOf(call);
        const grantType = parameters.required('grant_type');
        if (grantType !== GRANT_TYPE) {
          throw new Refusal('unsupported_grant_type', `the only grant type supported is ${GRANT_TYPE}`);
        }
        const scope = parameters.optional('scope');
        const client = await authentication.client(call, parameters);
        const token = await tokens.issue(client, scope, () => authentication.client(call, parameters));
        return {
          status: 200,
          headers: { Pragma: 'no-cache' },
          body: {
            access_token: token.accessToken,
            expires_in: token.expiresInSeconds,
            scope: token.scope,
            token_type: 'Bearer',
          },
        };
      },
      refuse: (refusal, request) => {
        const fault = refusal.code === 'server_error';
        const named = fault ? new Refusal('server_error', 'failed to generate an access token') : refusal;
        return refuseInDialect(named, request) ?? named;
      },
    }),
  ];
}
