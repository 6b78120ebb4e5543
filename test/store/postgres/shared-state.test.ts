/** Failed authentications and values of minutes, which several instances on one PostgreSQL database share (contract §2.6). */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createChallenges } from '../../../src/access/passkey-challenges.ts';
import {
  type Attempt,
  CLIENT_FAILURES_MAX,
  createThrottle,
  FAILURE_WINDOW_MS,
  NETWORK_FAILURES_MAX,
} from '../../../src/domain/throttle.ts';
import { createIds, randomBytes } from '../../../src/kernel/ids.ts';
import { createVault, MASTER_KEY_BYTES } from '../../../src/kernel/vault.ts';
import type { Throttle } from '../../../src/store/port/failures.ts';
import { openPostgres } from '../../../src/store/postgres/driver/postgres.ts';
import { createPostgresStore } from '../../../src/store/postgres/store.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { openEmptied } from '../../support/emptied-databases.ts';
import { NOW } from '../../support/store.ts';

const ada: Attempt = { network: '203.0.113.1', clientId: 'ada' };

async function openStores(t: TestContext) {
  const first = await openEmptied(t, NOW);
  const second = await openPostgres({ connection: { connectionString: first.url } });
  cleanUp(t, () => second.close());
  const vault = createVault(randomBytes(MASTER_KEY_BYTES), randomBytes);
  const ids = createIds(() => NOW, randomBytes);
  return [first.database, second].map((database) => ({ database, store: createPostgresStore(database, vault, ids) }));
}

async function openThrottles(t: TestContext): Promise<readonly [Throttle, Throttle]> {
  const [one, other] = (await openStores(t)).map(({ store }) => store.failures.throttle('client'));
  assert.ok(one && other);
  return [one, other];
}

/** How many of these failures are admitted if they are counted at once on both instances. */
async function admitted(throttles: readonly Throttle[], attempts: readonly Attempt[]): Promise<number> {
  const waits = await Promise.all(
    attempts.map((attempt, at) => throttles[at % throttles.length]?.countFailure(attempt, NOW)),
  );
  return waits.filter((wait) => wait === null).length;
}

describe('failures on several instances', () => {
  it('admit ten of one client, and block it on each of them', async (t) => {
    const throttles = await openThrottles(t);
    assert.equal(await admitted(throttles, Array<Attempt>(60).fill(ada)), CLIENT_FAILURES_MAX);
    for (const throttle of throttles) {
      assert.equal(await throttle.blockedForMs(ada, NOW), FAILURE_WINDOW_MS);
      assert.equal(await throttle.blockedForMs({ ...ada, clientId: 'ben' }, NOW), null);
      assert.equal(await throttle.blockedForMs({ ...ada, network: '203.0.113.2' }, NOW), null);
      assert.equal(await throttle.blockedForMs(ada, NOW + FAILURE_WINDOW_MS), null);
    }
  });

  it('admit a hundred of one network', async (t) => {
    const throttles = await openThrottles(t);
    const guesses = Array.from({ length: 300 }, (_, at) => ({ ...ada, clientId: `guess ${at}` }));
    assert.equal(await admitted(throttles, guesses), NETWORK_FAILURES_MAX);
    for (const throttle of throttles) assert.equal(await throttle.blockedForMs(ada, NOW), FAILURE_WINDOW_MS);
  });

  it('answer as they do in memory', async (t) => {
    const throttles = await openThrottles(t);
    const memory = createThrottle();
    for (let step = 0; step < 120; step += 1) {
      const now = NOW + step * 1500;
      const attempt = { network: `net ${step % 2}`, clientId: step % 5 === 0 ? 'other' : 'one' };
      const throttle = throttles[step % 2] as Throttle;
      assert.equal(await throttle.blockedForMs(attempt, now), memory.blockedForMs(attempt, now), `step ${step}`);
      assert.equal(await throttle.countFailure(attempt, now), memory.countFailure(attempt, now), `step ${step}`);
    }
  });

  it('do not block attempts of another purpose', async (t) => {
    const [one, other] = await openStores(t);
    assert.ok(one && other);
    const throttles = [one, other].map(({ store }) => store.failures.throttle('sign-in'));
    assert.equal(await admitted(throttles, Array<Attempt>(20).fill(ada)), CLIENT_FAILURES_MAX);
    assert.equal(await one.store.failures.throttle('client').blockedForMs(ada, NOW), null);
  });

  it('are deleted by housekeeping after a minute', async (t) => {
    const [one] = await openStores(t);
    assert.ok(one);
    const throttle = one.store.failures.throttle('client');
    for (let at = 0; at < 5; at += 1) await throttle.countFailure(ada, NOW + at);
    const removed = await one.store.retention.shortLived?.(NOW + 2 + FAILURE_WINDOW_MS, 100);
    assert.equal(removed?.rows, 3);
    assert.equal(removed?.done, true);
    const left = await one.database.all('SELECT at FROM authentication_failure ORDER BY at', {});
    assert.deepEqual(
      left.map(({ at }) => at),
      [NOW + 3, NOW + 4],
    );
  });
});

describe('a value that lives for minutes', () => {
  const span = { now: NOW, until: NOW + 1000 };

  it('is written by one instance and taken once by another', async (t) => {
    const [one, other] = (await openStores(t)).map(({ store }) => store.shortLived.values('result', 100));
    assert.ok(one && other);
    await one.put('name', 'value', span);
    assert.equal(await other.get('name', NOW), 'value');
    assert.equal(await other.get('name', NOW + 1000), null);
    const taken = await Promise.all([one.take('name', NOW), other.take('name', NOW)]);
    assert.deepEqual(taken.toSorted(), [null, 'value'].toSorted());
    assert.equal(await one.get('name', NOW), null);
  });

  it('is written by one of several that write it if absent, and again after it has expired', async (t) => {
    const values = (await openStores(t)).map(({ store }) => store.shortLived.values('result', 100));
    const puts = Array.from({ length: 20 }, (_, at) => values[at % 2]?.putIfAbsent('name', `${at}`, span));
    assert.equal((await Promise.all(puts)).filter((written) => written === true).length, 1);
    assert.equal(await values[0]?.putIfAbsent('name', 'late', { now: NOW + 1000, until: NOW + 2000 }), true);
    assert.equal(await values[1]?.get('name', NOW + 1000), 'late');
  });

  it('is a passkey challenge that another instance made, and answered once on all of them', async (t) => {
    const vault = createVault(randomBytes(MASTER_KEY_BYTES), randomBytes);
    const [one, other] = (await openStores(t)).map(({ store }) =>
      createChallenges({ random: randomBytes, vault, answered: store.shortLived.values('passkey challenge', 100) }),
    );
    assert.ok(one && other);
    const challenge = Buffer.from(one.make('visitor', NOW)).toString('base64url');
    const expected = [one, other].map((challenges) => challenges.expect('visitor', NOW));
    for (const { accepts } of expected) assert.ok(accepts(challenge));
    const first = await Promise.all(expected.map(({ isFirstAnswer }) => isFirstAnswer()));
    assert.deepEqual(first.toSorted(), [false, true]);
  });

  it('is stored sealed, and deleted by housekeeping after it has expired', async (t) => {
    const [one] = await openStores(t);
    assert.ok(one);
    await one.store.shortLived.values('result', 100).put('name', 'a secret', span);
    const [row] = await one.database.all('SELECT value FROM short_lived', {});
    assert.ok(!Buffer.from(row?.value as Uint8Array).includes('a secret'));
    assert.equal((await one.store.retention.shortLived?.(NOW + 1000, 100))?.rows, 1);
    assert.deepEqual(await one.database.all('SELECT name FROM short_lived', {}), []);
  });
});
