import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import type { Caller } from '../src/access/callers.ts';
import { callerOf, createEmbedding, type Embedding } from '../src/embedding.ts';
import type { Route } from '../src/http/route.ts';
import { createRequestHandler } from '../src/http/server.ts';
import { createLifetime } from '../src/kernel/lifetime.ts';
import { createLog } from '../src/observe/log.ts';
import { cleanUp } from './support/cleanup.ts';
import { createLogReader, type LogReader } from './support/log-reader.ts';
import { sendRaw } from './support/raw-request.ts';
import { makeApplication, makeUser, openTestServices, type TestServices, tokenOf } from './support/services.ts';
import { onSqlite } from './support/store.ts';

const ROUTE: Route = {
  for: 'anyone',
  method: 'GET',
  path: '/ours/{id}',
  access: 'open',
  tag: 'test',
  summary: 'A path of Sallyport',
  replies: { 200: { description: 'Its id' } },
  respond: async ({ params }) => ({ status: 200, body: params }),
};

type Host = { readonly services: TestServices; readonly embedding: Embedding; readonly log: LogReader };

async function openHost(t: TestContext): Promise<Host> {
  const services = await openTestServices(t);
  const { gate, clock } = services;
  const log = createLogReader();
  const remoteAddress = (): string => '192.0.2.1';
  const shared = { routes: [ROUTE], gate, clock, log: createLog('info', { write: log.take }), remoteAddress };
  return {
    services,
    log,
    embedding: createEmbedding({ ...shared, handler: createRequestHandler(shared), during: createLifetime().during }),
  };
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(t: TestContext, listener: Listener): Promise<string> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp(t, () => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A token of an application that holds `employees:view`, for a user with these permissions. */
async function makeToken({ services }: Host, permissions: readonly string[]): Promise<string> {
  const { id } = await makeUser(services, { permissions });
  const { application, clientSecret } = await makeApplication(services, { userId: id, scopes: ['employees:view'] });
  return tokenOf(services, application.clientId, clientSecret);
}

describe('the middleware', () => {
  it('answers every method on a path of Sallyport, without calling next', async (t) => {
    const { embedding } = await openHost(t);
    let called = 0;
    const url = await serve(t, (request, response) =>
      embedding.middleware(request, response, () => {
        called += 1;
        response.end('the program');
      }),
    );
    assert.equal(await (await fetch(`${url}/ours/1?`)).text(), '{"id":"1"}');
    assert.equal((await fetch(`${url}/ours/1`, { method: 'DELETE' })).status, 405);
    assert.equal(called, 0);
    for (const path of [
      '/',
      '/ours',
      '/ours/',
      '/ours/1/2',
      '/ours/1/',
      '/ours//1',
      '/Ours/1',
      '/ours/%2e',
      '/ours/1;x',
    ]) {
      assert.equal(await (await fetch(url + path)).text(), 'the program', path);
    }
    assert.equal(called, 9);
  });

  it('recognizes a path of Sallyport in absolute form, and leaves other requests unchanged', async (t) => {
    const { embedding } = await openHost(t);
    const url = await serve(t, (request, response) =>
      embedding.middleware(request, response, () => response.end(`the program at ${request.url}`)),
    );
    const { port } = new URL(url);
    assert.equal((await sendRaw(Number(port), 'http://host.example/ours/1')).text, '{"id":"1"}');
    const { text } = await sendRaw(Number(port), 'http://host.example/theirs');
    assert.match(text, /the program at http:\/\/host\.example\/theirs/);
  });

  it('reports that a body was read before', async (t) => {
    const { embedding } = await openHost(t);
    const url = await serve(t, (request, response) => {
      request.on('data', () => {});
      request.on('end', () => {
        embedding.middleware(request, response, (error) => response.writeHead(500).end(error?.message));
      });
    });
    for (const body of ['{}', '']) {
      const reply = await fetch(`${url}/ours/1`, { method: 'POST', body });
      assert.equal(reply.status, 500);
      assert.match(await reply.text(), /before anything that reads bodies/);
    }
  });
});

describe('a guard', () => {
  it('allows by scope and permission, and identifies the caller', async (t) => {
    const host = await openHost(t);
    const guard = host.embedding.guard('employees:view');
    const seen: Caller[] = [];
    const url = await serve(t, (request, response) =>
      guard(request, response, () => {
        seen.push(callerOf(request));
        response.end('in');
      }),
    );
    const token = await makeToken(host, ['employees:view']);
    assert.equal(await (await fetch(url, { headers: { Authorization: `Bearer ${token}` } })).text(), 'in');
    assert.equal(seen.length, 1);
    assert.deepEqual(seen[0]?.scope, ['employees:view']);
    assert.deepEqual(seen[0]?.permissions, ['employees:view']);
    assert.equal(host.log.text(), '');
  });

  it('accepts a permission with another name than the scope', async (t) => {
    const host = await openHost(t);
    const guard = host.embedding.guard('employees:view', 'personnel');
    const url = await serve(t, (request, response) => guard(request, response, () => response.end('in')));
    const status = async (permission: string): Promise<number> => {
      const token = await makeToken(host, [permission]);
      return (await fetch(url, { headers: { Authorization: `Bearer ${token}` } })).status;
    };
    assert.equal(await status('personnel'), 200);
    assert.equal(await status('employees:view'), 401);
  });

  it('checks the token for every request: one that has expired is refused', async (t) => {
    const host = await openHost(t);
    const guard = host.embedding.guard('employees:view');
    const url = await serve(t, (request, response) => guard(request, response, () => response.end('in')));
    const headers = { Authorization: `Bearer ${await makeToken(host, ['employees:view'])}` };
    assert.equal((await fetch(url, { headers })).status, 200);
    host.services.advance(3_600_000);
    assert.equal((await fetch(url, { headers })).status, 401);
  });

  it('refuses with the error body, and logs the same error id without the token', async (t) => {
    const host = await openHost(t);
    const guard = host.embedding.guard('employees:edit');
    let called = 0;
    const url = await serve(t, (request, response) =>
      guard(request, response, () => {
        called += 1;
        response.end('in');
      }),
    );
    const token = await makeToken(host, ['employees:edit']);
    const reply = await fetch(`${url}/a?b=c`, { headers: { Authorization: `Bearer ${token}` } });
    const body = (await reply.json()) as { error: { errorId: string; code: string } };
    assert.equal(reply.status, 401);
    assert.equal(body.error.code, 'insufficient_scope');
    assert.equal(called, 0);
    const line = await host.log.line(({ msg }) => msg === 'refused by a guard');
    assert.equal(line.errorId, body.error.errorId);
    assert.equal(line.path, '/a');
    assert.equal(line.remoteAddress, '192.0.2.1');
    assert.ok(!host.log.text().includes(token));
  });

  onSqlite('refuses everything if the store fails, without giving the reason', async (t) => {
    const host = await openHost(t);
    const guard = host.embedding.guard('employees:view');
    let called = 0;
    const url = await serve(t, (request, response) =>
      guard(request, response, () => {
        called += 1;
        response.end('in');
      }),
    );
    const token = await makeToken(host, ['employees:view']);
    await host.services.database.commit([{ sql: 'ALTER TABLE access_token RENAME TO mislaid', params: {} }]);
    const reply = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
    const text = await reply.text();
    assert.equal(reply.status, 500);
    assert.doesNotMatch(text, /access_token|SQL/i);
    assert.equal(called, 0);
    assert.ok(host.log.lines().some(({ msg, err }) => msg === 'request failed' && err !== undefined));
  });

  it('refuses an invalid name of a scope', async (t) => {
    const { embedding } = await openHost(t);
    for (const name of ['', 'orders', 'orders:', 'orders view', 'a:b c:d', 'all']) {
      assert.throws(() => embedding.guard(name), TypeError, name);
    }
  });

  it('is required for callerOf', async (t) => {
    const url = await serve(t, (request, response) => {
      assert.throws(() => callerOf(request), /no guard has passed this request on/);
      assert.throws(() => callerOf({ raw: request }), /no guard has passed this request on/);
      response.end('asked');
    });
    assert.equal(await (await fetch(url)).text(), 'asked');
  });
});
