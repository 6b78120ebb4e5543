import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { userView } from '../../src/access/users.ts';
import { exampleOf, openApiDocument } from '../../src/http/openapi.ts';
import type { Route } from '../../src/http/route.ts';
import { createResponseChecker, type ResponseChecker } from '../support/openapi-check.ts';
import type { ApiDocument } from '../support/openapi-document.ts';
import { type DescribedService, startDescribedService } from '../support/openapi-service.ts';

const EDGE = '/services/api/x/edge/v1';
const EMPLOYEES = '/services/api/x/users/v1/employees';
const TOKEN = '/services/api/oauth2/token';
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const JSON_BODY = { 'Content-Type': 'application/json' };

const example = (component: string): object => exampleOf(component) as object;

type Answer = { readonly status: number; readonly headers: Headers; readonly text: string };
type Request = { readonly headers?: Readonly<Record<string, string>>; readonly body?: string };
type Checked = DescribedService & {
  readonly check: ResponseChecker;
  readonly token: string;
  /** Sends with the token and checks the reply against the document. */
  send(method: string, path: string, body?: unknown): Promise<Answer>;
  /** The same for any request. */
  raw(method: string, path: string, request?: Request): Promise<Answer>;
};

async function startChecked(t: Parameters<typeof startDescribedService>[0]): Promise<Checked> {
  const service = await startDescribedService(t);
  const check = createResponseChecker(service.document);
  const raw: Checked['raw'] = async (method, path, request = {}) => {
    const response = await fetch(service.url + path, { method, redirect: 'error', ...request });
    const text = await response.text();
    check(method, path, response.status, response.headers, text);
    return { status: response.status, headers: response.headers, text };
  };
  const credentials = { ...service.credentials, grantType: 'client_credentials' };
  const issued = await raw('POST', TOKEN, { headers: JSON_BODY, body: JSON.stringify(credentials) });
  const { access_token: token } = JSON.parse(issued.text) as { access_token: string };
  const authorization = { Authorization: `Bearer ${token}` };
  const send: Checked['send'] = (method, path, body) =>
    raw(method, path, {
      headers: { ...authorization, ...(body === undefined ? {} : JSON_BODY) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return { ...service, check, token, raw, send };
}

describe('the response checker accepts the replies of the service', () => {
  it('to the examples of its document', async (t) => {
    const { send } = await startChecked(t);
    const idOf = ({ text }: Answer): string => (JSON.parse(text) as { id: string }).id;
    const create = async (path: string, name: string, more: object = {}): Promise<string> => {
      const answer = await send('POST', `${EDGE}/${path}`, { ...example(`${name}Input`), ...more });
      assert.equal(answer.status, 201, answer.text);
      return `${EDGE}/${path}/${idOf(answer)}`;
    };
    const user = await create('users', 'User');
    const application = await create('applications', 'Application', { userId: user.split('/').at(-1) });
    const product = await create('products', 'Product');
    const eventType = await create('event-types', 'EventType');
    const endpoint = await create('endpoints', 'Endpoint', { url: 'https://127.0.0.1:1/hook' });
    const webhook = await create('webhooks', 'Webhook', {
      endpointId: endpoint.split('/').at(-1),
      eventTypes: ['things.*'],
      encryptionKeyName: null,
    });
    for (const [path, name] of [
      [user, 'User'],
      [application, 'Application'],
      [product, 'Product'],
      [eventType, 'EventType'],
      [webhook, 'Webhook'],
    ] as const) {
      const patched = await send('PATCH', path, example(`${name}Patch`));
      assert.equal(patched.status, 200, patched.text);
      assert.equal((await send('GET', path)).status, 200);
      assert.equal((await send('GET', `${path.slice(0, path.lastIndexOf('/'))}?limit=1`)).status, 200);
    }
    const events = await send('POST', `${EDGE}/events`, example('EventInput'));
    assert.equal(events.status, 202, events.text);
    assert.equal((await send('POST', `${application}/regenerate-secret`, {})).status, 200);
    assert.equal((await send('POST', `${endpoint}/rotate-secret`, {})).status, 200);
    assert.equal((await send('POST', `${webhook}/start`)).status, 409);
    assert.equal((await send('GET', `${EDGE}/audit`)).status, 200);
    assert.equal((await send('DELETE', webhook)).status, 204);
  });

  it('about employees', async (t) => {
    const { send } = await startChecked(t);
    const answer = await send('POST', EMPLOYEES, example('EmployeeInput'));
    assert.equal(answer.status, 201, answer.text);
    const path = answer.headers.get('location') ?? '';
    assert.equal((await send('PUT', path, example('EmployeeInput'))).status, 200);
    assert.equal((await send('PATCH', path, example('EmployeePatch'))).status, 200);
    assert.equal((await send('POST', EMPLOYEES, example('EmployeeInput'))).status, 409);
    assert.equal((await send('GET', `${EMPLOYEES}?division=marketing`)).status, 200);
  });

  it('in both formats of the OAuth endpoints', async (t) => {
    const { raw, credentials, token } = await startChecked(t);
    const form = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
      raw('POST', path, { headers: { ...FORM, ...headers }, body: new URLSearchParams(fields).toString() });
    const { clientId: client_id, clientSecret: client_secret } = credentials;
    const grant = { grant_type: 'client_credentials', client_id, client_secret };
    assert.equal((await form(TOKEN, grant)).status, 200);
    assert.equal((await form(TOKEN, { ...grant, client_secret: 'wrong' })).status, 401);
    assert.equal((await form(TOKEN, grant, { Authorization: 'Basic wrong' })).status, 400);
    assert.equal((await raw('POST', TOKEN, { headers: JSON_BODY, body: '{}' })).status, 400);
    assert.equal((await raw('POST', TOKEN, { headers: { 'Content-Type': 'text/plain' }, body: 'x' })).status, 415);
    assert.equal((await form(TOKEN, { ...grant, scope: 'x'.repeat(17_000) })).status, 413);
    const asked = { client_id, client_secret, token };
    assert.equal((await form('/services/api/oauth2/introspect', asked)).status, 200);
    assert.equal((await form('/services/api/oauth2/introspect', { token }, { Authorization: 'Bearer x' })).status, 401);
    assert.equal((await form('/services/api/oauth2/revoke', asked)).status, 200);
    assert.equal((await raw('GET', '/.well-known/oauth-authorization-server')).status, 200);
    for (let attempt = 0; attempt < 10; attempt += 1) await form(TOKEN, { ...grant, client_secret: 'wrong' });
    assert.equal((await form(TOKEN, grant)).status, 429);
  });

  it('to a proxy, for any method', async (t) => {
    const { raw, token } = await startChecked(t);
    const forwarded = { 'X-Forwarded-Method': 'GET', 'X-Forwarded-Uri': EMPLOYEES };
    const allowed = { ...forwarded, Authorization: `Bearer ${token}` };
    for (const method of ['GET', 'POST', 'OPTIONS', 'HEAD']) {
      assert.equal((await raw(method, '/services/api/oauth2/forward-auth', { headers: allowed })).status, 200);
      assert.equal((await raw(method, '/services/api/oauth2/forward-auth', { headers: forwarded })).status, 401);
    }
  });

  it('for unknown paths, and before routing', async (t) => {
    const { raw, send } = await startChecked(t);
    assert.equal((await raw('GET', '/nowhere')).status, 404);
    assert.equal((await raw('GET', '/nowhere/%2e%2e/at/all%2f')).status, 400);
    assert.equal((await raw('PUT', `${EDGE}/users`)).status, 405);
    assert.equal((await raw('GET', `${EDGE}/users`)).status, 401);
    assert.equal((await send('GET', `${EDGE}/users/0`)).status, 404);
    assert.equal((await send('GET', `${EDGE}/users?size=1`)).status, 400);
    assert.equal((await raw('GET', '/livez')).status, 200);
    assert.equal((await raw('HEAD', '/readyz')).status, 200);
    assert.equal((await raw('GET', '/services/api/openapi.json', { headers: { 'If-None-Match': '*' } })).status, 304);
  });
});

/** The parts of a reply. The body is an object unless `text` replaces it. */
type Reply = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string | null;
};

describe('the response checker refuses', () => {
  const route: Route = {
    for: 'anyone',
    method: 'GET',
    path: '/users/{id}',
    access: 'open',
    operationId: 'getUser',
    tag: 'users',
    summary: 'Read a user',
    replies: { 200: { description: 'The user', schema: userView, headers: { ETag: 'Of this version.' } } },
    respond: async () => ({ status: 200 }),
  };
  const document = openApiDocument({ routes: [route], publicUrl: '', products: [] });
  const check = createResponseChecker(document as unknown as ApiDocument);
  const run = ({ method, path, status, headers, body, text }: Reply): void =>
    check(method, path, status, new Headers(headers), text ?? JSON.stringify(body));

  const body = exampleOf('User') as Reply['body'];
  const { email, ...withoutEmail } = body;
  const [errorId, timeStamp] = ['7f9c24e8-3b12-4fef-91e0-1b7c5d2a6f43', '2026-11-21T05:00:00+0000'];
  const error = { errorId, message: null, code: 'method_not_allowed', description: 'only GET', details: null };
  const refusal = { status: '405', timeStamp, error };
  const headers = { 'Content-Type': 'application/json;charset=UTF-8', ETag: '"1"' };
  const fine: Reply = { method: 'GET', path: '/users/1?fields=all', status: 200, headers, body, text: null };

  const CASES: Readonly<Record<string, readonly [wrong: Partial<Reply>, says: RegExp]>> = {
    'a member that is missing': [{ body: withoutEmail }, /required property 'email'/],
    'a member that is not described': [{ body: { ...body, password: 'x' } }, /"password"/],
    'a member of a member that is not described': [{ body: { ...body, constraints: { cities: [] } } }, /"cities"/],
    'a member of another type': [{ body: { ...body, active: 'yes' } }, /body\/active must be boolean/],
    'an instant that is none': [{ body: { ...body, createdAt: 'today' } }, /body\/createdAt must match format/],
    'a value that is none of those': [{ body: { ...body, role: 'king' } }, /body\/role must be equal to one of/],
    'a status that is not described': [{ status: 418 }, /the status is not described/],
    'a status that has another body': [{ status: 404 }, /required property 'error'/],
    'a path that is not described': [{ path: '/people/1' }, /the path is not described/],
    'a path that is longer': [{ path: '/users/1/2' }, /the path is not described/],
    'a method that is not described': [{ method: 'PUT' }, /the method is not described/],
    'a method that is refused without the methods of the path': [
      { method: 'PUT', status: 405, body: refusal },
      /the header Allow is missing/,
    ],
    'the status of an unknown path at a known one': [{ method: 'PUT', status: 404 }, /the method is not described/],
    'a body that must not be there': [{ method: 'HEAD' }, /a body that is not described/],
    'no body where there is one': [{ text: '' }, /the body is not JSON/],
    'a body that is not JSON': [{ text: '{"id":' }, /the body is not JSON/],
    'another media type': [{ headers: { ...headers, 'Content-Type': 'text/html' } }, /the media type text\/html/],
    'no media type': [{ headers: { ETag: '"1"' } }, /the media type none/],
    'a header that is missing': [{ headers: { 'Content-Type': 'application/json' } }, /the header ETag is missing/],
  };
  for (const [what, [wrong, says]] of Object.entries(CASES)) {
    it(what, () => {
      run(fine);
      assert.throws(
        () => run({ ...fine, ...wrong }),
        (error) => error instanceof assert.AssertionError && says.test(error.message),
      );
    });
  }
});
