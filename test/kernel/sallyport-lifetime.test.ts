/** Start, stop and late calls of an embedded service. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import BetterSqlite3 from 'better-sqlite3';
import { type Caller, createSallyport, Refusal, type Sallyport, StoppedError } from '../../src/sallyport.ts';
import { cleanUp } from '../support/cleanup.ts';
import { unusedFolder } from '../support/command.ts';

const MODULE = pathToFileURL(join(import.meta.dirname, '../../src/sallyport.ts')).href;

async function open(t: TestContext, more: object = {}): Promise<{ sallyport: Sallyport; dataDir: string }> {
  const dataDir = unusedFolder(t);
  const sallyport = await createSallyport({ dataDir, port: 0, logLevel: 'silent', ...more });
  cleanUp(t, () => sallyport.stop());
  return { sallyport, dataDir };
}

async function listening(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp(t, () => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function eventsIn(dataDir: string): number {
  const db = new BetterSqlite3(join(dataDir, 'sallyport.db'), { readonly: true });
  try {
    return (db.prepare('SELECT count(*) AS events FROM event').get() as { events: number }).events;
  } finally {
    db.close();
  }
}

// In one process, one after the other on the same folder: a handle that any of them leaves open keeps the process alive.
it('a program ends without process.exit after stop, however often and in whatever order it started', async (t) => {
  const uses = {
    'startDelivery twice': 'await service.startDelivery(); await service.startDelivery();',
    'startDelivery twice at once': 'await Promise.all([service.startDelivery(), service.startDelivery()]);',
    'startDelivery beside start': 'await Promise.all([service.startDelivery(), service.start()]);',
    'start twice, then startDelivery': 'await service.start(); await service.start(); await service.startDelivery();',
    'a start that the stop overtakes': 'void service.start(); service.stop();',
    'no start at all': '',
  };
  const dataDir = unusedFolder(t);
  const program = join(dirname(dataDir), 'program.mjs');
  const lines = [
    `import { createSallyport } from ${JSON.stringify(MODULE)};`,
    `const open = () => createSallyport({ dataDir: ${JSON.stringify(dataDir)}, port: 0, logLevel: 'silent' });`,
    ...Object.entries(uses).flatMap(([how, calls]) => [
      `{ const service = await open(); ${calls} await service.stop(); await service.stop(); }`,
      `console.log(${JSON.stringify(how)});`,
    ]),
  ];
  writeFileSync(program, lines.join('\n'));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program]);
  cleanUp(t, () => void child.kill('SIGKILL'));
  const ended = once(child, 'close');
  const [said] = (await Promise.all([child.stdout.setEncoding('utf8').toArray(), child.stderr.resume()])) as [
    string[],
    unknown,
  ];
  assert.deepEqual([said.join('').trim().split('\n'), await ended], [Object.keys(uses), [0, null]]);
});

describe('a start', () => {
  it('that is requested again is the same', async (t) => {
    const { sallyport } = await open(t);
    const [first, second] = await Promise.all([sallyport.start(), sallyport.start()]);
    assert.equal(second, first);
    assert.equal(await sallyport.start(), first);
    assert.equal((await fetch(`${first.url}/readyz`)).status, 200);
  });

  it('that failed may be tried again', async (t) => {
    const other = createServer();
    const port = Number(new URL(await listening(t, other)).port);
    const { sallyport } = await open(t, { port });
    await assert.rejects(sallyport.start(), { code: 'EADDRINUSE' });
    await new Promise((resolve) => other.close(resolve));
    const { url } = await sallyport.start();
    assert.equal((await fetch(`${url}/livez`)).status, 200);
  });
});

describe('after stop', () => {
  it('every call rejects with StoppedError, a Refusal, and nothing is published', async (t) => {
    const { sallyport, dataDir } = await open(t);
    await sallyport.eventTypes.create({ name: 'order.created' });
    const event = { type: 'order.created', data: {} };
    await sallyport.publish(event);
    await sallyport.startDelivery();
    await sallyport.stop();
    const calls: readonly (() => Promise<unknown>)[] = [
      () => sallyport.publish(event),
      () => sallyport.start(),
      () => sallyport.startDelivery(),
      () => sallyport.credentialsShown(),
      () => sallyport.firstInvitation(),
      () => sallyport.users.list(),
      () => sallyport.as({ customerId: null } as Caller).webhooks.list(),
      () => sallyport.authenticate(undefined, 'orders:create'),
    ];
    for (const call of calls) {
      const error: unknown = await call().then(
        () => assert.fail(`it was done: ${call}`),
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof StoppedError && error instanceof Refusal, `${call}: ${error}`);
      assert.deepEqual([error.name, error.code, error.status], ['StoppedError', 'unavailable', 503]);
    }
    await sallyport.stop();
    assert.equal(eventsIn(dataDir), 1);
  });

  it('the middleware and guards answer 503 immediately, also for /livez, and other paths go to the program', async (t) => {
    const { sallyport } = await open(t);
    const guard = sallyport.guard('orders:create');
    const server = createServer((request, response) =>
      sallyport.middleware(request, response, () => {
        if (request.url !== '/orders') return void response.end('the program');
        guard(request, response, () => response.end('in'));
      }),
    );
    const url = await listening(t, server);
    await sallyport.startDelivery();
    assert.equal((await fetch(`${url}/livez`)).status, 200);
    await sallyport.stop();
    for (const path of ['/livez', '/readyz', '/services/api/oauth2/token', '/orders']) {
      const reply = await fetch(url + path);
      const { error } = (await reply.json()) as { error: { code: string; description: string } };
      assert.deepEqual([reply.status, error.code], [503, 'unavailable'], path);
      assert.match(error.description, /has been stopped/);
    }
    assert.equal(await (await fetch(`${url}/other`)).text(), 'the program');
  });
});

it('a stop waits for events published before it', async (t) => {
  const { sallyport, dataDir } = await open(t);
  await sallyport.eventTypes.create({ name: 'order.created' });
  const published = Array.from({ length: 20 }, (_, number) =>
    sallyport.publish({ type: 'order.created', data: { number } }),
  );
  const stopped = sallyport.stop();
  assert.equal(sallyport.stop(), stopped);
  await stopped;
  assert.equal((await Promise.all(published)).length, 20);
  assert.equal(eventsIn(dataDir), 20);
});

it('a value that JSON cannot hold is refused by name, and nothing of its request is stored', async (t) => {
  const { sallyport, dataDir } = await open(t);
  await sallyport.eventTypes.create({ name: 'order.created' });
  const events = [
    { type: 'order.created', data: {} },
    { type: 'order.created', data: { total: 10n } },
  ] as never;
  await assert.rejects(sallyport.publish({ events }), (error: unknown) => {
    assert.ok(error instanceof Refusal);
    assert.deepEqual([error.code, error.status], ['validation_failed', 400]);
    assert.deepEqual(
      error.details?.map(({ field }) => field),
      ['events[1].data.total'],
    );
    return true;
  });
  assert.equal(eventsIn(dataDir), 0);
  await sallyport.publish({ type: 'order.created', data: { at: new Date(0) } });
  assert.equal(eventsIn(dataDir), 1);
});
