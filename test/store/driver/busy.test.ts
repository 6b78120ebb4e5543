import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Statement } from '../../../src/store/port/database.ts';
import { DatabaseUnavailable } from '../../../src/store/port/errors.ts';
import { BYTES_WAITING_MAX, LISTS_WAITING_MAX } from '../../../src/store/port/limits.ts';
import { BUSY_GIVE_UP_MS, BUSY_PAUSE_MS } from '../../../src/store/sqlite/driver/limits.ts';
import { holdLock } from '../../support/lock-holder.ts';
import { openTestDatabase } from '../../support/store.ts';

const write = (name: string): Statement => ({
  sql: 'INSERT INTO setting (name, value) VALUES (@name, @value)',
  params: { name, value: Buffer.from(name) },
});
const OTHER = "INSERT INTO setting VALUES ('other', x'00')";
const NAMES = 'SELECT name FROM setting ORDER BY name';

describe('while another process holds the database', () => {
  it('writes wait, reads continue, and the event loop is not blocked', async (t) => {
    const { path, database } = openTestDatabase(t);
    const holder = await holdLock(t, path, OTHER);
    let done = 0;
    const commits = ['a', 'b', 'c'].map((name) => database.commit([write(name)]).then(() => (done += 1)));
    // The other process releases the lock only after this loop, so the event loop must not wait for it.
    for (let turns = 0; turns < 50; turns++) {
      await turn();
      assert.deepEqual(database.all(NAMES, {}), []);
    }
    commits.push(database.commit([write('d')]).then(() => (done += 1)));
    assert.equal(done, 0);
    await holder.release();
    await Promise.all(commits);
    assert.deepEqual(
      (database.all(NAMES, {}) as { name: string }[]).map(({ name }) => name),
      ['a', 'b', 'c', 'd', 'other'],
    );
  });

  it('each attempt blocks the event loop for a few milliseconds, and the pause between attempts does not', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { path, database } = openTestDatabase(t);
    const holder = await holdLock(t, path);
    // SQLite blocks the event loop for this long at each attempt. The longer pauses use timers.
    assert.ok(Number(database.connection.pragma('busy_timeout', { simple: true })) <= 10);
    let isDone = false;
    const commit = database.commit([write('a')]).then(() => {
      isDone = true;
    });
    const turns = async (): Promise<void> => {
      for (let n = 0; n < 20; n += 1) await turn();
      assert.equal(isDone, false);
    };
    for (let tries = 0; tries < 5; tries += 1) {
      await turns();
      t.mock.timers.tick(BUSY_PAUSE_MS);
    }
    await holder.release();
    // Not every turn of the loop is an attempt.
    await turns();
    t.mock.timers.tick(BUSY_PAUSE_MS);
    await commit;
    assert.deepEqual(database.all(NAMES, {}), [{ name: 'a' }]);
  });

  it('writes are refused after four seconds and not kept, and later writes succeed', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    // Setting back the clock must not extend the wait.
    t.mock.method(Date, 'now', () => 0);
    let elapsedMs = 0;
    t.mock.method(performance, 'now', () => elapsedMs);
    const tick = (ms: number): void => {
      elapsedMs += ms;
      t.mock.timers.tick(ms);
    };
    const { path, database } = openTestDatabase(t);
    const holder = await holdLock(t, path, OTHER);
    const refused = assert.rejects(
      database.commit([write('a')]),
      (error) => error instanceof DatabaseUnavailable && error.reason === 'locked' && error.status === 503,
    );
    await turn();
    await turn();
    tick(BUSY_GIVE_UP_MS - 10);
    tick(30);
    await refused;
    t.mock.reset();
    t.mock.timers.reset();
    const later = database.commit([write('b')]);
    await holder.release();
    await later;
    assert.deepEqual(database.all(NAMES, {}), [{ name: 'b' }, { name: 'other' }]);
  });

  it('closing does not wait for it: waiting writes are refused', async (t) => {
    const { path, database } = openTestDatabase(t);
    const holder = await holdLock(t, path, OTHER);
    const refused = assert.rejects(database.commit([write('a')]), /the database was closed/);
    await database.close();
    await refused;
    await holder.release();
  });

  it('nothing more happens after closing, not even a commit that was to be tried again', async (t) => {
    const { path, database } = openTestDatabase(t);
    const holder = await holdLock(t, path);
    let commits = 0;
    database.onCommit(() => {
      commits += 1;
    });
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const refused = assert.rejects(database.commit([write('a')]), /the database was closed/);
    await database.close();
    await refused;
    const before = commits;
    t.mock.timers.tick(60_000);
    assert.equal(commits, before);
    t.mock.timers.reset();
    await holder.release();
  });

  it('the queue of waiting writes is bounded: further ones are refused immediately, and the waiting ones are written', async (t) => {
    const { path, database } = openTestDatabase(t);
    const holder = await holdLock(t, path);
    const large = { ...write('large'), params: { name: 'large', value: Buffer.alloc(BYTES_WAITING_MAX) } };
    const alone = assert.rejects(database.commit([large]), /the database was closed|string or blob too big|locked/);
    const tooMuch = await database.commit([write('more')]).catch((error: unknown) => error);
    assert.ok(tooMuch instanceof DatabaseUnavailable);
    assert.deepEqual([tooMuch.reason, tooMuch.status], ['overloaded', 503]);
    await database.close();
    await alone;
    await holder.release();
  });

  it('the number of waiting lists is bounded too', async (t) => {
    const { path, database } = openTestDatabase(t);
    const holder = await holdLock(t, path);
    const commits = Array.from({ length: LISTS_WAITING_MAX }, (_, n) => database.commit([write(`list ${n}`)]));
    const refused = await database.commit([write('one more')]).catch((error: unknown) => error);
    assert.ok(refused instanceof DatabaseUnavailable && refused.reason === 'overloaded');
    const closed = Promise.allSettled(commits);
    await database.close();
    assert.ok((await closed).every(({ status }) => status === 'rejected'));
    await holder.release();
    await assert.rejects(database.commit([write('later')]), /not open/);
  });
});
