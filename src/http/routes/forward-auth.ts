/**
 * Forward auth (contract §3.5): a proxy asks whether a request may pass, and gets the caller's identity in headers to hand on to the
 * API behind it.
 */

import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { type Caller, type Gate, insufficientScope } from '../../access/gate.ts';
import { REQUEST_TARGET_BYTES } from '../../domain/limits.ts';
import { canonicalPath } from '../../domain/path.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { Parameter, Route } from '../route.ts';

const FORWARD_AUTH_PATH = '/services/api/oauth2/forward-auth';

/** Every reply has all of them, so that the proxy overwrites headers that the client sent under these names. */
const IDENTITY: Readonly<Record<string, (caller: Caller) => string>> = {
  'X-Auth-Client-Id': (caller) => caller.clientId ?? '',
  'X-Auth-Customer-Id': (caller) => caller.customerId ?? '',
  'X-Auth-User-Id': (caller) => caller.userId ?? '',
  'X-Auth-User-Name': (caller) => headerSafe(caller.userName),
  'X-Auth-Scope': (caller) => caller.scope.join(' '),
  'X-Auth-Permissions': (caller) => caller.permissions.join(' '),
};

/** The names of the identity headers. Every example of a proxy must set or remove each of them. */
export const IDENTITY_HEADERS: readonly string[] = Object.keys(IDENTITY);

/** The same headers for OpenAPI. */
const DESCRIBED: Readonly<Record<string, string>> = Object.fromEntries(
  IDENTITY_HEADERS.map((name) => [name, 'Empty without such a value.']),
);

function text(description: string): Parameter {
  return { schema: z.string(), description };
}

type Dialect = { readonly method: string; readonly uri: string };
const TRAEFIK_AND_CADDY: Dialect = { method: 'x-forwarded-method', uri: 'x-forwarded-uri' };
const NGINX: Dialect = { method: 'x-original-method', uri: 'x-original-uri' };

export function forwardAuthRoutes({ gate }: { readonly gate: Gate }): Route[] {
  return [
    {
      for: 'anyone',
      method: 'GET',
      anyMethod: true,
      path: FORWARD_AUTH_PATH,
      metered: 'call',
      access: 'open',
      tag: 'oauth',
      operationId: 'forwardAuth',
      authentication: { by: ['bearer'] },
      summary: 'Check a request that a proxy describes in X-Forwarded-* or X-Original-* headers',
      description:
        'Accepts any method. One pair of headers is required. With both, they must describe the same request.',
      headers: {
        'X-Forwarded-Method': text('The method of the request in question, from Traefik or Caddy.'),
        'X-Forwarded-Uri': text('Its path and query.'),
        'X-Original-Method': text('The method of the request in question, from nginx.'),
        'X-Original-URI': text('Its path and query.'),
      },
      replies: {
        200: { description: 'Allowed; the caller is in the X-Auth-* headers', headers: DESCRIBED },
        401: { description: 'Refused; the X-Auth-* headers are empty', headers: DESCRIBED },
      },
      respond: async (call) => {
        const { request } = call;
        const caller = await gate.authenticate(request.headersDistinct.authorization ?? []);
        call.clientId = caller.clientId;
        const { method, uri } = forwardedRequest(request);
        if (uri.length > REQUEST_TARGET_BYTES) throw targetTooLong();
        const path = canonicalPath(uri);
        if (!path.ok) throw insufficientScope(path.description);
        gate.authorize(caller, method, path.segments);
        return { status: 200, headers: identityHeaders(caller) };
      },
      refuse: (refusal, request) => {
        const headers = { ...refusal.headers, ...identityHeaders(null) };
        // nginx turns everything except 2xx, 401 and 403 into a 500, and logs an unexpected status.
        const answerable = refusal.status === 401 || !speaks(request, NGINX);
        return answerable
          ? new Refusal(refusal.code, refusal.message, { headers })
          : new Refusal('unauthorized', refusal.message, { headers: { ...headers, 'WWW-Authenticate': 'Bearer' } });
      },
    },
  ];
}

/**
 * The request that the proxy describes. A proxy that sets one family of headers forwards those of the other family from the client. So
 * incomplete, repeated or contradicting headers may be forged and are refused.
 */
function forwardedRequest(request: IncomingMessage): Dialect {
  refuseAliases(request);
  const spoken = [TRAEFIK_AND_CADDY, NGINX].filter((dialect) => speaks(request, dialect));
  const [first, second] = spoken.map(({ method, uri }) => ({ method: only(request, method), uri: only(request, uri) }));
  if (first === undefined)
    throw insufficientScope(
      'the proxy sent neither X-Forwarded-Method and X-Forwarded-Uri nor X-Original-Method and X-Original-URI',
    );
  if (second !== undefined && (second.method !== first.method || second.uri !== first.uri)) {
    throw insufficientScope('the X-Forwarded-* and X-Original-* headers describe different requests');
  }
  return first;
}

function speaks({ headers }: IncomingMessage, { method, uri }: Dialect): boolean {
  return headers[method] !== undefined || headers[uri] !== undefined;
}

function only({ headersDistinct }: IncomingMessage, name: string): string {
  const [value, ...more] = headersDistinct[name] ?? [];
  if (value === undefined) throw insufficientScope(`the header ${name} is missing`);
  if (more.length > 0) throw insufficientScope(`the header ${name} was sent more than once`);
  return value;
}

/**
 * A target of this length gets an answer of its own, because no scope would help. The status is 401, which every proxy passes on to the
 * client (contract §3.5).
 */
function targetTooLong(): Refusal {
  const description = `the path and query of the request are longer than ${REQUEST_TARGET_BYTES} bytes`;
  const challenge = `Bearer error="invalid_request", error_description="${description}"`;
  return new Refusal('unauthorized', description, { headers: { 'WWW-Authenticate': challenge } });
}

/**
 * Refuses other spellings of the headers above. A server that turns header names into variables (CGI, WSGI, PHP) reads `X_Auth_User_Id`
 * and `X.Auth.User.Id` as `X-Auth-User-Id`, and no proxy overwrites them.
 */
function refuseAliases({ headers }: IncomingMessage): void {
  for (const name of Object.keys(headers)) {
    if (ALIAS_CHARACTER.test(name) && RESERVED.has(name.replace(/[^a-z0-9]/g, '-'))) {
      throw insufficientScope(
        'the name of a header reads like one of the X-Auth-*, X-Forwarded-* or X-Original-* headers',
      );
    }
  }
}

/** Any character of a header name except letters, digits and hyphens (RFC 9110 §5.6.2). Node gives the names in lower case. */
const ALIAS_CHARACTER = /[^a-z0-9-]/;

const RESERVED: ReadonlySet<string> = new Set(
  [...IDENTITY_HEADERS, ...Object.values(TRAEFIK_AND_CADDY), ...Object.values(NGINX)].map((name) => name.toLowerCase()),
);

function identityHeaders(caller: Caller | null): Record<string, string> {
  return Object.fromEntries(
    Object.entries(IDENTITY).map(([name, read]) => [name, caller === null ? '' : read(caller)]),
  );
}

/** Percent-encodes everything but visible ASCII, and `%` and `,`: a user name may contain any letters. */
function headerSafe(text: string): string {
  return text.replace(/[^\x21-\x7e]+|[%,]/gu, (unsafe) =>
    Buffer.from(unsafe).toString('hex').toUpperCase().replace(/../g, '%$&'),
  );
}
