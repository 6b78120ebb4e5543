/** Refusals in the OpenAPI document: a shared response per status, and the statuses of each route. */
import { REFUSAL_STATUS } from '../kernel/refusal.ts';
import type { Route } from './route.ts';

type SharedRefusal = {
  /** Under `components/responses`. */
  readonly name: string;
  readonly description: string;
  /** The header of every such reply. */
  readonly header?: readonly [name: string, description: string];
  readonly example: Example;
};

/** The content of an error body. The description begins with `field`. */
type Example = { readonly code: string; readonly description: string; readonly field?: string };

/** Throws `TypeError` for an undocumented status. */
export function sharedRefusal(status: number): SharedRefusal {
  const shared = SHARED_REFUSALS[status];
  if (shared === undefined) throw new TypeError(`no refusal with status ${status} is described`);
  return shared;
}

export const SHARED_REFUSALS: Readonly<Record<number, SharedRefusal>> = {
  400: {
    name: 'BadRequest',
    description: 'The request is not valid; `details` names the fields.',
    example: { code: 'validation_failed', description: 'name is required', field: 'name' },
  },
  401: {
    name: 'Unauthorized',
    description: 'No access token, one that is not valid, or one that is not enough.',
    header: ['WWW-Authenticate', 'RFC 6750 §3, such as `Bearer error="insufficient_scope", scope="employees:view"`.'],
    example: { code: 'invalid_token', description: 'the access token is unknown, expired or revoked' },
  },
  404: {
    name: 'NotFound',
    description: 'There is no such thing.',
    example: { code: 'not_found', description: 'there is no webhook 01a1fc79-c080-7000-8000-00000000dead' },
  },
  405: {
    name: 'MethodNotAllowed',
    description: 'The path takes other methods.',
    header: ['Allow', 'The methods that it takes.'],
    example: { code: 'method_not_allowed', description: 'this path takes GET, POST' },
  },
  408: {
    name: 'RequestTimeout',
    description: 'The body did not arrive in time.',
    example: { code: 'request_timeout', description: 'the body did not arrive in time' },
  },
  409: {
    name: 'Conflict',
    description:
      'What is stored stands against it: a name that is taken, something that refers to it, the state that it is in.',
    example: { code: 'conflict', description: 'name is taken: another key has "payroll"', field: 'name' },
  },
  412: {
    name: 'PreconditionFailed',
    description: 'The resource has another `ETag` by now than `If-Match` names; nothing was changed.',
    header: ['ETag', 'The present one.'],
    example: { code: 'precondition_failed', description: 'the user has changed since: read it again' },
  },
  413: {
    name: 'ContentTooLarge',
    description: 'The body is too large.',
    example: { code: 'content_too_large', description: 'the body has more than 1048576 bytes' },
  },
  415: {
    name: 'UnsupportedMediaType',
    description: 'The media type, the charset or the content coding of the body is not taken here.',
    example: { code: 'unsupported_media_type', description: 'the Content-Type must be application/json' },
  },
  429: {
    name: 'TooManyRequests',
    description: 'Too many failed authentications came from this address.',
    header: ['Retry-After', 'Seconds until the next try.'],
    example: { code: 'too_many_requests', description: 'too many failed authentications came from this address' },
  },
  431: {
    name: 'HeadersTooLarge',
    description: 'The headers of the request are too large, wherever it goes.',
    example: { code: 'headers_too_large', description: 'the headers have more than 16384 bytes' },
  },
  500: {
    name: 'ServerError',
    description: 'A fault of the service; `errorId` finds it in the log.',
    example: { code: 'server_error', description: 'the request failed for a reason of ours' },
  },
  503: {
    name: 'Unavailable',
    description: 'The service cannot work at the moment.',
    example: { code: 'unavailable', description: 'the database cannot be written' },
  },
};

/** Every possible status of 400 and above. */
export function refusalStatuses({ access, method, path, body, headers, replies, anyMethod }: Route): number[] {
  const named = Object.keys(replies).map(Number);
  const onOneThing = path.includes('{');
  const changes = access === 'guarded' && method !== 'GET' && (onOneThing || named.includes(201));
  const statuses = [
    ...named.filter((status) => status >= 400),
    ...(anyMethod === true ? [] : [400]),
    ...(access === 'guarded' ? [401] : []),
    ...(onOneThing ? [404] : []),
    ...(changes ? [409] : []),
    ...(headers?.['If-Match'] === undefined ? [] : [412]),
    ...(body === undefined ? [] : [408, 413, 415]),
    500,
    503,
  ];
  return [...new Set(statuses)].sort((a, b) => a - b);
}

/** The codes of a status, in CommonMark. */
export function codesOf(status: number): string {
  const codes = Object.entries(REFUSAL_STATUS).filter(([, of]) => of === status);
  return codes.map(([code]) => `\`${code}\``).join(', ');
}

/** An error body for a status. */
export function errorExample(status: number, { code, description, field }: Example): unknown {
  return {
    status: String(status),
    timeStamp: '2026-11-21T05:00:00+0000',
    error: {
      errorId: '7f9c24e8-3b12-4fef-91e0-1b7c5d2a6f43',
      message: null,
      code,
      description,
      details: field === undefined ? null : [{ field, problem: description.slice(field.length + 1) }],
    },
  };
}

/** The examples of the OAuth endpoints, by component: the error body, and the body of RFC 6749 §5.2. */
export function oauthErrorExamples(status: number, usual: Example): Readonly<Record<string, unknown>> {
  const { json = usual, form = { ...json, code: status < 429 ? 'invalid_request' : json.code } } =
    OAUTH_EXAMPLES[status] ?? {};
  return {
    Error: { value: errorExample(status, json) },
    OAuthError: { value: { error: form.code, error_description: form.description } },
  };
}

/** Examples that differ from the shared ones, or from each other. */
const OAUTH_EXAMPLES: Readonly<Record<number, { readonly json?: Example; readonly form?: Example }>> = {
  400: {
    json: { code: 'invalid_client', description: 'the client credentials are not valid' },
    form: { code: 'invalid_request', description: 'the parameter client_id was sent more than once' },
  },
  401: { form: { code: 'invalid_client', description: 'the client credentials are not valid' } },
  413: { json: { code: 'content_too_large', description: 'the body has more than 16384 bytes' } },
};
