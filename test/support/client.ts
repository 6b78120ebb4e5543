/** A small JSON client of the API. It checks every response against the service's own OpenAPI document. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { cleanUp } from './cleanup.ts';
import { createResponseChecker, type ResponseChecker } from './openapi-check.ts';
import type { ApiDocument } from './openapi-document.ts';

export type ApiReply<T> = {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON, the text if it is not JSON, or undefined if the body is empty. */
  readonly body: T;
};

/** The error body of contract §1.4. */
export type ErrorBody = {
  readonly status: string;
  readonly timeStamp: string;
  readonly error: {
    readonly errorId: string;
    readonly message: string | null;
    readonly code: string;
    readonly description: string;
    readonly details: readonly { readonly field: string; readonly problem: string }[] | null;
  };
};

export type Page<T> = { readonly items: readonly T[]; readonly nextCursor: string | null };

type Send = <T = unknown>(path: string, body?: unknown, headers?: Record<string, string>) => Promise<ApiReply<T>>;

/** Paths that begin with `/` are absolute; others are relative to the administration API. */
export type ApiClient = {
  readonly url: string;
  readonly get: <T = unknown>(path: string, headers?: Record<string, string>) => Promise<ApiReply<T>>;
  readonly post: Send;
  readonly put: Send;
  readonly patch: Send;
  readonly delete: <T = unknown>(path: string, headers?: Record<string, string>) => Promise<ApiReply<T>>;
  /** Any method. A body of text or bytes is sent unchanged. */
  readonly send: <T = unknown>(method: string, path: string, init?: ApiRequest) => Promise<ApiReply<T>>;
  /** A client of the same service with another token, or without one. */
  readonly as: (token: string | null) => ApiClient;
};

type ApiRequest = { readonly body?: unknown; readonly headers?: Record<string, string> };

export const EDGE = '/services/api/x/edge/v1';
export const EMPLOYEES = '/services/api/x/users/v1/employees';
export const TOKEN = '/services/api/oauth2/token';

export function createClient(url: string, token: string | null, checker = documentChecker(url)): ApiClient {
  const send: ApiClient['send'] = async <T>(method: string, path: string, { body, headers = {} }: ApiRequest = {}) => {
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    const target = path.startsWith('/') ? path : `${EDGE}/${path}`;
    const response = await fetch(url + target, {
      method,
      redirect: 'error',
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
    });
    const text = await response.text();
    const check = await checker();
    check(method, target, response.status, response.headers, text);
    return { status: response.status, headers: response.headers, body: parse(text, response.headers) as T };
  };
  return {
    url,
    send,
    get: (path, headers) => send('GET', path, { ...(headers && { headers }) }),
    post: (path, body, headers) => send('POST', path, { body, ...(headers && { headers }) }),
    put: (path, body, headers) => send('PUT', path, { body, ...(headers && { headers }) }),
    patch: (path, body, headers) => send('PATCH', path, { body, ...(headers && { headers }) }),
    delete: (path, headers) => send('DELETE', path, { ...(headers && { headers }) }),
    as: (other) => createClient(url, other, checker),
  };
}

const checkersByDocument = new Map<string, ResponseChecker>();

/** Of services with all routes, whose documents differ only in the port. */
const wholeServices = new Set<string>();
let wholeChecker: Promise<ResponseChecker> | null = null;

/**
 * Says that the service at `url` has all routes until the test ends. Its document is fetched only if it is the first one of this process,
 * because making the document takes most of a start.
 */
export function isWholeService(t: TestContext, url: string): void {
  wholeServices.add(url);
  cleanUp(t, () => wholeServices.delete(url));
}

/** Fetches the service's document once. Documents that differ only in the port of the service are compiled once per process. */
function documentChecker(url: string): () => Promise<ResponseChecker> {
  let checker: Promise<ResponseChecker> | null = null;
  const find = (): Promise<ResponseChecker> => {
    if (!wholeServices.has(url)) return fetchChecker(url);
    wholeChecker ??= fetchChecker(url).catch((error: unknown) => {
      wholeChecker = null;
      throw error;
    });
    return wholeChecker;
  };
  return () => {
    checker ??= find();
    return checker;
  };
}

async function fetchChecker(url: string): Promise<ResponseChecker> {
  const response = await fetch(`${url}/services/api/openapi.json`);
  return checkerOf((await response.text()).replaceAll(url, ''));
}

function checkerOf(document: string): ResponseChecker {
  let found = checkersByDocument.get(document);
  if (found === undefined) {
    found = createResponseChecker(JSON.parse(document) as ApiDocument);
    checkersByDocument.set(document, found);
  }
  return found;
}

function parse(text: string, headers: Headers): unknown {
  if (text === '') return undefined;
  return headers.get('content-type')?.startsWith('application/json') ? (JSON.parse(text) as unknown) : text;
}

export type Credentials = { readonly clientId: string; readonly clientSecret: string };

/** Requests an access token from the token endpoint. Default: with every registered scope. */
export async function tokenFor(url: string, { clientId, clientSecret }: Credentials, scope?: string): Promise<string> {
  const body = { clientId, clientSecret, grantType: 'client_credentials', ...(scope !== undefined && { scope }) };
  const { access_token: token } = await succeeded<{ access_token: string }>(createClient(url, null).post(TOKEN, body));
  return token;
}

/** Returns the body of a reply. Fails with the body unless the status is a success. */
export async function succeeded<T>(sent: Promise<ApiReply<unknown>>): Promise<T> {
  const { status, body } = await sent;
  assert.ok(status >= 200 && status < 300, `${status} ${JSON.stringify(body)}`);
  return body as T;
}

/** Returns the error of a reply. Fails unless it has this status and exactly the error body of contract §1.4. */
export async function refusalOf(sent: Promise<ApiReply<unknown>>, status: number): Promise<ErrorBody['error']> {
  const reply = await sent;
  assert.equal(reply.status, status, JSON.stringify(reply.body));
  return errorOf(reply);
}

export function errorOf({ status, headers, body }: ApiReply<unknown>): ErrorBody['error'] {
  const shown = JSON.stringify(body);
  assert.equal(headers.get('content-type'), 'application/json;charset=UTF-8', shown);
  const { error, ...outside } = body as ErrorBody;
  assert.deepEqual(Object.keys(body as ErrorBody), ['status', 'timeStamp', 'error'], shown);
  assert.equal(outside.status, String(status), shown);
  assert.match(outside.timeStamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0000$/);
  assert.deepEqual(Object.keys(error), ['errorId', 'message', 'code', 'description', 'details'], shown);
  assert.match(error.errorId, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, shown);
  assert.ok(error.message === null || typeof error.message === 'string', shown);
  assert.match(error.code, /^[a-z]+(?:_[a-z0-9]+)*$/, shown);
  assert.ok(error.description.length > 0, shown);
  if (error.details !== null) {
    assert.ok(Array.isArray(error.details) && error.details.length > 0, shown);
    for (const detail of error.details) assert.deepEqual(Object.keys(detail), ['field', 'problem'], shown);
  }
  return error;
}
