import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Call, Reply } from '../../../src/http/route.ts';
import { healthRoutes, READY_MS } from '../../../src/http/routes/health.ts';
import { Refusal } from '../../../src/kernel/refusal.ts';
import { createLog } from '../../../src/observe/log.ts';
import { type Deferred, deferred } from '../../support/deferred.ts';
import { only } from '../../support/journey.ts';
import { repeatsInSlowTier } from '../../support/repeats.ts';
import { onSqlite, openTestStore } from '../../support/store.ts';

repeatsInSlowTier('postgres');

type Settings = Parameters<typeof healthRoutes>[0]['store']['settings'];

/** `/readyz` with its result, its log, and controls for the test. */
function openedWith(settings: Settings, writeMs?: number) {
  const logged: string[] = [];
  const state = { isAlive: true, elapsedMs: 0 };
  const route = healthRoutes({
    store: { settings },
    dispatcher: { isAlive: () => state.isAlive },
    clock: Date.now,
    log: createLog('error', { write: (line: string) => void logged.push(line) }),
    stopwatch: () => state.elapsedMs,
    ...(writeMs !== undefined && { writeMs }),
  }).find(({ path }) => path === '/readyz');
  assert.ok(route !== undefined);
  const isReady = async (): Promise<boolean> => {
    try {
      return ((await route.respond({} as Call)) as Reply).status === 200;
    } catch (error) {
      assert.ok(error instanceof Refusal && error.status === 503, String(error));
      assert.match(
        error.message,
        /^the database cannot be written|^the dispatcher is not running|^a write has waited longer/,
      );
      return false;
    }
  };
  return { isReady, logged, state };
}

/** With a database whose writes the test releases. */
function opened(writeMs?: number) {
  const writes: Deferred<'written' | 'refused'>[] = [];
  const proveWritable = async (): Promise<void> => {
    const write = deferred<'written' | 'refused'>();
    writes.push(write);
    if ((await write.promise) === 'refused') throw new Error('the disk is full');
  };
  const settings = { proveWritable, checkMasterKey: async () => {}, knowsMasterKey: async () => true };
  return { ...openedWith(settings, writeMs), writes };
}

describe('/readyz', () => {
  it('writes once for all concurrent calls, and once per second', async () => {
    const { isReady, writes, state } = opened();
    const asked = [isReady(), isReady(), isReady()];
    state.elapsedMs = 5 * READY_MS;
    asked.push(isReady());
    assert.equal(writes.length, 1);
    writes[0]?.resolve('written');
    assert.deepEqual(await Promise.all(asked), [true, true, true, true]);

    // The age of a result counts from its request.
    asked.push(isReady());
    assert.equal(writes.length, 2);
    writes[1]?.resolve('written');
    await asked.at(-1);
    state.elapsedMs += READY_MS - 1;
    assert.equal(await isReady(), true);
    assert.equal(writes.length, 2);
  });

  it('reports within a second that the database cannot be written, and that it can be again', async () => {
    const { isReady, writes, logged, state } = opened();
    const ask = async (outcome: 'written' | 'refused'): Promise<boolean> => {
      const answer = isReady();
      writes.at(-1)?.resolve(outcome);
      return answer;
    };
    assert.equal(await ask('written'), true);
    state.elapsedMs += READY_MS;
    assert.equal(await ask('refused'), false);
    assert.equal(await isReady(), false);
    assert.equal(logged.length, 1);
    state.elapsedMs += READY_MS;
    assert.equal(await ask('written'), true);
    assert.equal(writes.length, 3);
  });

  it('is not ready while a write waits too long, and makes no second one', async () => {
    const { isReady, writes, logged, state } = opened(1);
    assert.equal(await isReady(), false);
    state.elapsedMs += READY_MS;
    assert.equal(await isReady(), false);
    assert.deepEqual([writes.length, logged.length], [1, 1]);
    writes[0]?.resolve('written');
    await nextTurn();
    state.elapsedMs += READY_MS;
    const answer = isReady();
    writes[1]?.resolve('written');
    assert.equal(await answer, true);
  });

  onSqlite('is not ready while a real database is read-only', async (t) => {
    const { sqlite: database, store } = await openTestStore(t);
    const { isReady, logged, state } = openedWith(store.settings);
    assert.equal(await isReady(), true);
    // As on a volume that became read-only after an error.
    database.connection.pragma('query_only = ON');
    state.elapsedMs += READY_MS;
    assert.equal(await isReady(), false);
    assert.match(only(logged), /attempt to write a readonly database/);
    database.connection.pragma('query_only = OFF');
    state.elapsedMs += READY_MS;
    assert.equal(await isReady(), true);
  });

  it('reports immediately that the dispatcher is not running', async () => {
    const { isReady, writes, state } = opened();
    const answer = isReady();
    writes[0]?.resolve('written');
    assert.equal(await answer, true);
    state.isAlive = false;
    assert.equal(await isReady(), false);
  });
});
