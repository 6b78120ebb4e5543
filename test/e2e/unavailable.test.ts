/** Tests what each kind of route answers while the database cannot be written, and that it recovers (contract §6.4). */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import type { AcceptedView } from '../../src/events/publish.ts';
import { LOG_SAVED } from '../../src/housekeeping/storage-watch.ts';
import type { ErrorBody } from '../support/client.ts';
import { until } from '../support/dispatching.ts';
import { makeEventType } from '../support/journey.ts';
import { holdLock } from '../support/lock-holder.ts';
import { type KindAnswer, routeKinds } from '../support/route-kinds.ts';
import { startService } from '../support/service.ts';

const FILES = ['sallyport.db', 'sallyport.db-wal', 'sallyport.db-shm'];
/** A request may wait 5 s for a lock. The rest is for a busy machine. */
const LONGEST_MS = 9000;

type Fault = {
  readonly what: string;
  /** The reason that `/readyz` gives. */
  readonly told: RegExp;
  /** Resolves with a function that ends it. */
  begin(t: TestContext, dataDir: string): Promise<() => void | Promise<void>>;
};

const FAULTS: readonly Fault[] = [
  {
    what: 'another process has locked the database',
    told: /another process has locked it/,
    begin: async (t, dataDir) => (await holdLock(t, join(dataDir, 'sallyport.db'))).release,
  },
  {
    what: 'the data folder was moved away',
    told: /its files were moved or deleted/,
    begin: async (_, dataDir) => {
      renameSync(dataDir, `${dataDir}.moved`);
      return () => renameSync(`${dataDir}.moved`, dataDir);
    },
  },
  {
    what: 'the database was moved out of its folder',
    told: /its files were moved or deleted/,
    begin: async (_, dataDir) => {
      const elsewhere = `${dataDir}.moved`;
      mkdirSync(elsewhere);
      for (const file of FILES) renameSync(join(dataDir, file), join(elsewhere, file));
      return () => {
        for (const file of FILES) renameSync(join(elsewhere, file), join(dataDir, file));
      };
    },
  },
  {
    what: 'another database stands in its place',
    told: /other files are in their place: restart Sallyport/,
    begin: async (_, dataDir) => {
      renameSync(dataDir, `${dataDir}.moved`);
      mkdirSync(dataDir);
      const other = new BetterSqlite3(join(dataDir, 'sallyport.db'));
      other.exec('CREATE TABLE other (a)');
      other.close();
      return () => {
        rmSync(dataDir, { recursive: true });
        renameSync(`${dataDir}.moved`, dataDir);
      };
    },
  },
];

const STATUS_UNAVAILABLE = 503;

describe('while the database cannot be written', () => {
  for (const { what, told, begin } of FAULTS) {
    it(`because ${what}, writes are answered 503 with Retry-After, reads continue, and everything recovers`, async (t) => {
      const service = await startService(t, { writerThread: true });
      const kinds = await routeKinds(service);
      const before = await Promise.all(kinds.map((kind) => kind.ask()));
      assert.deepEqual(
        before.map(({ status }, at) => [kinds[at]?.what, status]),
        kinds.map((kind) => [kind.what, kind.status]),
      );
      const end = await begin(t, service.dataDir);
      const startedAt = performance.now();
      const asked = Promise.all(kinds.map((kind) => kind.ask()));
      const [answers, ready] = await Promise.all([asked, fetch(`${service.url}/readyz`)]);
      assert.ok(performance.now() - startedAt < LONGEST_MS, `${performance.now() - startedAt} ms`);
      assert.deepEqual(
        answers.map((answer, at) => [kinds[at]?.what, answer]),
        kinds.map(({ what: kind, write, status }) => [kind, expected(write, status)]),
      );
      assert.equal(ready.status, STATUS_UNAVAILABLE);
      assert.ok(Number(ready.headers.get('retry-after')) > 0);
      assert.match(((await ready.json()) as ErrorBody).error.description, told);

      await end();
      await until('ready again', async () => (await fetch(`${service.url}/readyz`)).status === 200);
      const after = await Promise.all(kinds.map((kind) => kind.ask()));
      assert.deepEqual(
        after.map(({ status }, at) => [kinds[at]?.what, status]),
        kinds.map((kind) => [kind.what, kind.status]),
      );
    });
  }

  it('because the write-ahead log was deleted, no acknowledged data is lost, and nothing more is acknowledged', async (t) => {
    const service = await startService(t, { writerThread: true });
    await makeEventType(service.admin, 'order.placed');
    const publish = async (n: number): Promise<string | null> => {
      const reply = await service.admin.post<AcceptedView>('events', { type: 'order.placed', data: { n } });
      if (reply.status === STATUS_UNAVAILABLE) return null;
      assert.equal(reply.status, 202);
      return reply.body.events[0]?.id ?? assert.fail();
    };
    const accepted = await Promise.all(Array.from({ length: 20 }, (_, n) => publish(n)));
    assert.ok(accepted.every((id) => id !== null));
    const path = join(service.dataDir, 'sallyport.db');
    rmSync(`${path}-wal`);
    assert.deepEqual(await Promise.all(Array.from({ length: 20 }, (_, n) => publish(n))), Array(20).fill(null));
    assert.equal((await fetch(`${service.url}/readyz`)).status, STATUS_UNAVAILABLE);
    // The content of the log is copied into the database's file, where it survives any end of the process.
    await service.log.line(({ msg }) => msg === LOG_SAVED);
    const saved = eventsIn(path);
    assert.deepEqual(
      accepted.filter((id) => !saved.includes(id)),
      [],
    );

    await service.stop();
    const again = await startService(t, { after: service, writerThread: true });
    assert.equal((await fetch(`${again.url}/readyz`)).status, 200);
    assert.deepEqual(eventsIn(path), saved);
  });
});

/** The ids of the events in the database's file without its log, as another process finds them after a crash. */
function eventsIn(path: string): unknown[] {
  const copy = `${path}.copy`;
  // In another process: closing the file in this one would release SQLite's locks on it.
  execFileSync('cp', [path, copy]);
  const connection = new BetterSqlite3(copy, { readonly: true });
  try {
    return connection.prepare("SELECT id FROM event WHERE type = 'order.placed' ORDER BY id").pluck().all();
  } finally {
    connection.close();
    rmSync(copy);
  }
}

function expected(write: string | false, status: number): KindAnswer {
  if (write === false) return { status, retryAfter: null, code: null };
  return { status: STATUS_UNAVAILABLE, retryAfter: '5', code: write === 'page' ? null : write };
}
