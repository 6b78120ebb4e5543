/** Who may call what: every documented operation, called with and without the right scope and permission. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { BUILT_IN_SCOPES } from '../../src/access/built-in.ts';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import { mintToken } from '../../src/domain/credential.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { NO_RECEIVER, PERSON, SEEDED_TYPE, type Seeded, seedApi } from '../support/api-seed.ts';
import { cleanUp } from '../support/cleanup.ts';
import { EDGE, EMPLOYEES, succeeded } from '../support/client.ts';
import { type ApiDocument, operationsOf } from '../support/openapi-document.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';
import { makeApplication, makeUser, tokenOf } from '../support/services.ts';
import { contentsByOthers, writtenByRequests } from '../support/store.ts';
import { pgpVector } from '../support/vectors.ts';

/** Paths without a leading `/` are relative to the administration API. */
type Operation = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`;

/** The request has an effect, so that a call that is accepted by mistake leaves a trace. */
type Line = readonly [
  operation: Operation,
  scope: string,
  /** The reply with the scope and the permission of the same name. */
  answers: number,
  body?: object | undefined,
  headers?: Readonly<Record<string, string>>,
];

/** Placeholder for the id of an existing resource. */
const ID_OF = (kind: string): string => `id of ${kind}`;
/** The loopback address may read the metrics without a token, unless it is a proxy. */
const FROM_ELSEWHERE = { 'x-forwarded-for': '203.0.113.1' };

const GUARDED: readonly Line[] = [
  ['GET customers', 'customers:view', 200],
  ['GET customers/{id}', 'customers:view', 200],
  ['GET customers/{id}/usage', 'customers:view', 200],
  ['GET customers/{id}/usage.csv', 'customers:view', 200],
  ['POST customers', 'customers:manage', 201, { name: 'another' }],
  ['PATCH customers/{id}', 'customers:manage', 200, { name: 'renamed' }],
  ['POST customers/{id}/portal-links', 'customers:manage', 201, { role: 'viewer' }],
  ['POST customers/{id}/portal-tokens', 'customers:manage', 201, { role: 'viewer' }],
  ['DELETE customers/{id}', 'customers:manage', 204],

  ['GET users', 'users:view', 200],
  ['GET users/{id}', 'users:view', 200],
  ['POST users', 'users:manage', 201, { userName: 'another' }],
  ['PATCH users/{id}', 'users:manage', 200, { displayName: 'Another' }],
  ['POST users/{id}/invite', 'users:manage', 201],
  ['DELETE users/{id}', 'users:manage', 204],

  ['GET products', 'catalogue:view', 200],
  ['GET products/{id}', 'catalogue:view', 200],
  ['POST products', 'catalogue:manage', 201, { name: 'Another', scopes: [], rules: [] }],
  ['PATCH products/{id}', 'catalogue:manage', 200, { name: 'Renamed' }],
  ['DELETE products/{id}', 'catalogue:manage', 204],

  ['GET applications', 'applications:view', 200],
  ['GET applications/{id}', 'applications:view', 200],
  ['POST applications', 'applications:manage', 201, { name: 'another', userId: ID_OF('users') }],
  ['PATCH applications/{id}', 'applications:manage', 200, { name: 'renamed' }],
  ['POST applications/{id}/regenerate-secret', 'applications:manage', 200],
  ['POST applications/{id}/revoke-tokens', 'applications:manage', 200],
  ['DELETE applications/{id}', 'applications:manage', 204],

  ['GET endpoints', 'endpoints:view', 200],
  ['GET endpoints/{id}', 'endpoints:view', 200],
  ['POST endpoints', 'endpoints:manage', 201, { name: 'another', url: NO_RECEIVER }],
  ['PATCH endpoints/{id}', 'endpoints:manage', 200, { name: 'renamed' }],
  ['POST endpoints/{id}/verify', 'endpoints:manage', 200],
  ['POST endpoints/{id}/rotate-secret', 'endpoints:manage', 200],
  ['POST endpoints/{id}/rotate-api-key', 'endpoints:manage', 200],
  // The endpoint has no authentication.
  [
    'POST endpoints/{id}/rotate-authentication',
    'endpoints:manage',
    409,
    { authentication: { method: 'bearer', token: 'new' } },
  ],
  ['DELETE endpoints/{id}', 'endpoints:manage', 204],

  ['GET keys', 'keys:view', 200],
  ['GET keys/{id}', 'keys:view', 200],
  ['POST keys', 'keys:manage', 201, { name: 'another', publicKey: pgpVector('curve25519') }],
  ['PATCH keys/{id}', 'keys:manage', 200, { name: 'renamed' }],
  ['DELETE keys/{id}', 'keys:manage', 204],

  ['GET deliveries', 'deliveries:view', 200],
  ['GET deliveries/{id}', 'deliveries:view', 200],
  ['POST deliveries/{id}/replay', 'deliveries:replay', 200],

  ['GET events/{id}', 'records:read', 200],
  ['POST events', 'events:publish', 202, { type: SEEDED_TYPE, data: {} }],
  ['POST events/erase', 'events:erase', 200, { subject: 'somebody' }],
  ['GET erasures/{id}', 'events:erase', 200],

  // The last of these: a started webhook begins to deliver.
  ['GET webhooks', 'webhooks:view', 200],
  ['GET webhooks/{id}', 'webhooks:view', 200],
  ['POST webhooks', 'webhooks:manage', 201, { name: 'new', endpointId: ID_OF('endpoints'), eventTypes: [SEEDED_TYPE] }],
  ['PATCH webhooks/{id}', 'webhooks:manage', 200, { name: 'renamed' }],
  ['POST webhooks/{id}/test', 'webhooks:manage', 200],
  ['POST webhooks/{id}/filter-preview', 'webhooks:manage', 200, { filter: { type: 'order.placed' } }],
  ['POST webhooks/{id}/signature-preview', 'webhooks:manage', 200, { signature: { preset: 'github' } }],
  ['GET webhooks/{id}/records', 'records:read', 200],
  // It is not in mode `pull`.
  ['POST webhooks/{id}/acknowledge', 'records:read', 409, { throughOffset: 0 }],
  ['POST webhooks/{id}/replay', 'deliveries:replay', 200],
  // It keeps no order by key.
  ['GET webhooks/{id}/waiting-keys', 'deliveries:view', 409],
  ['POST webhooks/{id}/give-up', 'deliveries:replay', 409, { orderingKey: 'order-17' }],
  ['POST webhooks/{id}/start', 'webhooks:manage', 200],
  ['POST webhooks/{id}/stop', 'webhooks:manage', 200],
  ['DELETE webhooks/{id}', 'webhooks:manage', 204],

  ['GET event-types', 'webhooks:view', 200],
  ['GET event-types/{id}', 'webhooks:view', 200],
  ['POST event-types', 'webhooks:manage', 201, { name: 'order.paid' }],
  ['PATCH event-types/{id}', 'webhooks:manage', 200, { description: 'Paid.' }],
  ['DELETE event-types/{id}', 'webhooks:manage', 204],

  ['GET audit', 'audit:view', 200],
  ['GET audit/{id}', 'audit:view', 200],
  ['GET usage', 'usage:view', 200],
  ['GET usage.csv', 'usage:view', 200],

  [`GET ${EMPLOYEES}`, 'employees:view', 200],
  [`GET ${EMPLOYEES}/{userId}`, 'employees:view', 200],
  [`POST ${EMPLOYEES}`, 'employees:create', 201, { userName: 'another', ...PERSON }],
  [`PUT ${EMPLOYEES}/{userId}`, 'employees:edit', 200, { userName: 'replaced', ...PERSON }],
  [`PATCH ${EMPLOYEES}/{userId}`, 'employees:edit', 200, { firstName: 'Augusta' }],

  ['POST /services/api/oauth2/introspect', 'tokens:introspect', 200, { token: 'anything' }],
  ['GET /metrics', 'edge:metrics', 200, undefined, FROM_ELSEWHERE],
];

/** Open operations, and their replies to anonymous callers. */
const OPEN: readonly (readonly [operation: Operation, answers: number, scope?: string])[] = [
  // More with a token that holds the scope.
  ['GET /services/api/event-catalogue', 200, 'webhooks:view'],
  ['GET /services/api/asyncapi.json', 200, 'webhooks:view'],
  ['GET /services/api/event-catalogue.d.ts', 200, 'webhooks:view'],
  ['GET /services/api/openapi.json', 200],
  ['GET /services/api/egress-addresses', 200],
  ['GET /.well-known/oauth-authorization-server', 200],
  ['GET /.well-known/webhook-keys', 200],
  ['GET /livez', 200],
  ['GET /readyz', 200],
  // These authenticate their callers themselves.
  ['POST /services/api/oauth2/token', 400],
  ['POST /services/api/oauth2/revoke', 400],
  ['GET /services/api/oauth2/forward-auth', 401],
];

/** Accepts client credentials as well as a token. The refusal does not say which are missing. */
const CREDENTIALS_MISSING: Readonly<Record<string, number>> = { 'POST /services/api/oauth2/introspect': 400 };

const SCOPES = [...new Set(GUARDED.map(([, scope]) => scope))].sort();

test('the operations of the API', async (t) => {
  const service = await startService(t);
  const document = await succeeded<ApiDocument>(service.admin.get('/services/api/openapi.json'));

  await t.test('are all told here, each once, as guarded by a scope or as open', () => {
    const told = [...GUARDED, ...OPEN].map(([operation]) => inFull(operation));
    assert.deepEqual(
      operationsOf(document)
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
      told.sort(),
    );
  });

  await t.test('are described with the scope of this table', () => {
    const described = operationsOf(document).map(({ method, path, operation }) => {
      const scopes = new Set(operation.security.flatMap((way) => Object.values(way).flat()));
      return [`${method} ${path}`, ...scopes];
    });
    const told = [
      ...GUARDED.map(([operation, scope]) => [inFull(operation), scope]),
      ...OPEN.map(([operation, , ...scope]) => [inFull(operation), ...scope]),
    ];
    assert.deepEqual(described.sort(), told.sort());
  });

  await t.test('leave no scope that opens nothing', () => {
    assert.deepEqual(SCOPES, [...BUILT_IN_SCOPES].sort());
  });

  await t.test('are all that their paths take', async () => {
    for (const [path, operations] of Object.entries(document.paths)) {
      if (Object.values(operations).some((operation) => operation['x-any-method'])) continue;
      const { status, headers } = await fetch(service.url + path.replace(/\{\w+\}/g, 'x'), { method: 'PROPFIND' });
      const described = Object.keys(operations).map((method) => method.toUpperCase());
      const methods = described.includes('GET') ? [...described, 'HEAD'] : described;
      assert.deepEqual([status, headers.get('allow')], [405, methods.sort().join(', ')], path);
    }
  });

  await t.test('are answered to anyone where they are open', async () => {
    for (const [operation, answers] of OPEN) {
      const [method = '', path = ''] = inFull(operation).split(' ');
      const json = method === 'POST' && { headers: { 'content-type': 'application/json' }, body: '{}' };
      const reply = await fetch(service.url + path, { method, ...json });
      assert.equal(reply.status, answers, operation);
    }
  });
});

test('the guarded operations of the API', async (t) => {
  const service = await startService(t);
  const callers = await makeCallers(service);
  const seeded = await seedApi(service);
  const ask = async (line: Line, token: string | null, { head = false } = {}): Promise<Answer> => {
    const { method, path, body } = targetOf(seeded, line);
    const [, , , , headers = {}] = line;
    const reply = await fetch(service.url + path, {
      method: head ? 'HEAD' : method,
      redirect: 'error',
      headers: {
        ...headers,
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
    });
    const challenge = reply.headers.get('www-authenticate') ?? '';
    const shown = `${head ? 'HEAD' : method} ${path}: ${reply.status} ${await reply.text()}`;
    return { status: reply.status, challenge, shown };
  };
  const database = openSqlite(join(service.dataDir, DATABASE_FILE));
  cleanUp(t, () => database.close());
  /** All tables except the figures, which are written every half minute. */
  const found = contentsByOthers(database);
  const written = (): unknown => writtenByRequests(found());
  /** Each operation, and `HEAD` for each `GET`. */
  const refuse = async (tokenFor: (scope: string) => string | null, challengeFor: (scope: string) => RegExp) => {
    for (const line of GUARDED) {
      const [operation, scope] = line;
      const token = tokenFor(scope);
      const before = written();
      for (const head of operation.startsWith('GET ') ? [false, true] : [false]) {
        const { status, challenge, shown } = await ask(line, token, { head });
        if (token === null && operation in CREDENTIALS_MISSING) {
          assert.equal(status, CREDENTIALS_MISSING[operation], shown);
          continue;
        }
        assert.equal(status, 401, shown);
        assert.match(challenge, challengeFor(scope), shown);
      }
      assert.deepEqual(written(), before, `${operation} wrote something`);
    }
  };

  await t.test('refuse a call without a token, and do nothing', () =>
    refuse(
      () => null,
      () => /^Bearer$/,
    ),
  );

  await t.test('refuse an unknown token, and do nothing', () => {
    const unknown = mintToken(1, randomBytes);
    return refuse(
      () => unknown,
      () => /^Bearer error="invalid_token"/,
    );
  });

  await t.test('refuse a token of every scope but theirs, and do nothing', () =>
    refuse(
      (scope) => callers.of(scope).withoutScope,
      (scope) => new RegExp(`^Bearer error="insufficient_scope", scope="${scope}"`),
    ),
  );

  await t.test('refuse a user with every permission but theirs, and do nothing', () =>
    refuse(
      (scope) => callers.of(scope).withoutPermission,
      (scope) => new RegExp(`^Bearer error="insufficient_permission".* lacks the permission ${scope}"`),
    ),
  );

  await t.test('accept only a token of their scope, of a user with its permission', async () => {
    for (const line of GUARDED) {
      const [operation, scope, answers] = line;
      const { alone } = callers.of(scope);
      const { status, shown } = await ask(line, alone);
      assert.equal(status, answers, shown);
      if (operation.startsWith('GET ')) assert.equal((await ask(line, alone, { head: true })).status, answers, shown);
    }
  });
});

function inFull(operation: Operation): string {
  const [method = '', path = ''] = operation.split(' ');
  return `${method} ${path.startsWith('/') ? path : `${EDGE}/${path}`}`;
}

type Answer = { readonly status: number; readonly challenge: string; readonly shown: string };

/** Tokens for the tests of one scope. */
type Callers = { readonly withoutScope: string; readonly withoutPermission: string; readonly alone: string };

async function makeCallers({ services }: ServiceInProcess): Promise<{ of(scope: string): Callers }> {
  const token = async (scopes: readonly string[], permissions: readonly string[]): Promise<string> => {
    const { id: userId } = await makeUser(services, { permissions, role: 'viewer' });
    const { application, clientSecret } = await makeApplication(services, { userId, scopes });
    return tokenOf(services, application.clientId, clientSecret);
  };
  const all = new Map<string, Callers>();
  for (const scope of SCOPES) {
    const others = SCOPES.filter((other) => other !== scope);
    const withoutScope = await token(others, SCOPES);
    const withoutPermission = await token(SCOPES, others);
    all.set(scope, { withoutScope, withoutPermission, alone: await token([scope], [scope]) });
  }
  return { of: (scope) => all.get(scope) ?? assert.fail(scope) };
}

type Target = { readonly method: string; readonly path: string; readonly body: string | undefined };

/** The request of a row, with the ids of existing resources. */
function targetOf(seeded: Seeded, [operation, , , body]: Line): Target {
  const [method = '', pattern = ''] = inFull(operation).split(' ');
  const idOf = (kind: string): string => {
    const { id, spare } = seeded.get(kind) ?? assert.fail(`there are no ${kind}`);
    return method === 'DELETE' ? spare : id;
  };
  return {
    method,
    path: pattern.replace(/([\w-]+)\/\{\w+\}/, (_, kind: string) => `${kind}/${idOf(kind)}`),
    body: body && JSON.stringify(body).replace(/id of ([\w-]+)/g, (_, kind: string) => idOf(kind)),
  };
}
