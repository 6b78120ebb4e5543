/** Instances on one PostgreSQL database and the webhooks that they hold. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createMembership, shareOf } from '../../../src/delivery/membership.ts';
import { createLog } from '../../../src/observe/log.ts';
import { DatabaseUnavailable } from '../../../src/store/port/errors.ts';
import { createLeases, guardStatement, type Leases } from '../../../src/store/postgres/instances.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { until } from '../../support/dispatching.ts';
import { openEmptied } from '../../support/emptied-databases.ts';
import { openClient } from '../../support/postgres.ts';
import { NOW } from '../../support/store.ts';

const HOUR_MS = 3_600_000;
const instance = (name: string) => ({ name, version: '0', address: null });

/** A database with this many running webhooks, and two instances on it that have joined. */
async function start(t: TestContext, webhooks: number) {
  const { database, url } = await openEmptied(t, NOW);
  await database.run(`
    INSERT INTO endpoint (id, name, url, api_key, secret, secret_created_at, token_challenge, verified, enabled, enable_when_verified,
      created_at, updated_at) VALUES ('e', 'e', 'https://a.example', '', '', 0, false, false, true, false, 0, 0);
    INSERT INTO webhook (number, id, name, endpoint_id, event_types, custom_headers, ordered, max_batch_records, retry_policy,
      max_attempts, standard_webhooks, heartbeat_seconds, timeout_seconds, created_at, updated_at)
    SELECT n, n, n, 'e', '[]', '[]', 'none', 1, 'linear', 5, false, 0, 10, 0, 0 FROM generate_series(1, ${webhooks}) AS n;
    INSERT INTO webhook_progress (webhook_number, state, state_at, failure_streak, dead_streak)
    SELECT n, 'running', 0, 0, 0 FROM generate_series(1, ${webhooks}) AS n;
    INSERT INTO webhook_position (webhook_number) SELECT webhook_number FROM webhook_progress`);
  const [one, other] = [createLeases(database, stopwatch), createLeases(database, stopwatch)];
  for (const [at, leases] of [one, other].entries()) await leases.instances.join(instance(`i${at}`), HOUR_MS);
  const expireNow = (number: number): Promise<void> =>
    database.run(`UPDATE instance SET expires_at = 0 WHERE number = ${number}`);
  return { database, url, one, other, expireNow };
}

/** A third instance. The answer to its first commit with a statement that contains `lost` is lost. */
async function startLosing(t: TestContext, webhooks: number, lost: string) {
  const started = await start(t, webhooks);
  const { database } = started;
  let isLost = false;
  const losing: typeof database = {
    ...database,
    commit: async (statements, ...rest) => {
      const results = await database.commit(statements, ...rest);
      if (isLost || !statements.some(({ sql }) => sql.includes(lost))) return results;
      isLost = true;
      throw new DatabaseUnavailable('unknown');
    },
  };
  const third = createLeases(losing, stopwatch);
  await third.instances.join(instance('third'), HOUR_MS);
  return { ...started, lost: third };
}

/** Half a second passes between two looks. */
let elapsedMs = 0;
const stopwatch = (): number => elapsedMs;
const taken = async (leases: Leases): Promise<number[]> => {
  elapsedMs += 500;
  return [...(await leases.changed())].sort((a, b) => a - b);
};

describe('the leases of webhooks', () => {
  it('are taken by the first instance that looks, and by no other', async (t) => {
    const { one, other } = await start(t, 3);
    assert.deepEqual(await taken(one), [1, 2, 3]);
    assert.deepEqual(await taken(other), []);
    assert.deepEqual([...(await other.holdsOf([1])).keys()], []);
    assert.deepEqual([...(await one.holdsOf([1, 7])).keys()], [1]);
    assert.deepEqual(await taken(one), [], 'nothing is new');
  });

  it('are not taken for a webhook that is stopped or pulled', async (t) => {
    const { database, one } = await start(t, 3);
    await database.run(`
      UPDATE webhook_progress SET state = 'stopped' WHERE webhook_number = 1;
      UPDATE webhook_progress SET pulled = true WHERE webhook_number = 2`);
    assert.deepEqual(await taken(one), [3]);
  });

  it('tell their holder of a change once, and nobody else', async (t) => {
    const { database, one, other } = await start(t, 2);
    await taken(one);
    await database.run('INSERT INTO webhook_change (webhook_number) VALUES (2), (2)');
    assert.deepEqual(await taken(other), []);
    assert.deepEqual(await taken(one), [2]);
    assert.deepEqual(await taken(one), []);
    assert.deepEqual(await database.all('SELECT * FROM webhook_change', {}), []);
  });

  it('are over once another instance took the webhook, also if this one has it again, and it looks again then', async (t) => {
    const { one, other } = await start(t, 1);
    await taken(one);
    const hold = (await one.holdsOf([1])).get(1);
    assert.ok(hold);
    assert.equal(await one.isOver(hold), false);
    assert.deepEqual(await taken(one), []);
    await one.instances.giveBack([1]);
    assert.deepEqual(await taken(other), [1]);
    assert.equal(await one.isOver(hold), true);
    assert.deepEqual(await taken(one), [1], 'it looks whether it holds it');
    await other.instances.giveBack([1]);
    assert.deepEqual(await taken(one), [1]);
    assert.equal(await one.isOver(hold), true);
    assert.deepEqual(await taken(one), [1]);
  });

  it('are over on another timeline of the database, where it has one', async (t) => {
    const { database, one } = await start(t, 1);
    await taken(one);
    const hold = (await one.holdsOf([1])).get(1);
    assert.ok(hold);
    assert.match(hold.timeline, /^[0-9A-F]{8}$/);
    const another = { ...hold, timeline: '00000000' };
    assert.equal(await one.isOver(another), true);
    await assert.rejects(database.commit([guardStatement(another)]), { name: 'StaleWrite' });
    await database.run(`CREATE FUNCTION aurora_version() RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$`);
    assert.equal((await one.holdsOf([1])).get(1)?.timeline, '');
    await database.commit([guardStatement({ ...hold, timeline: '' })]);
  });

  it('that were given back by a commit without an answer are read again', async (t) => {
    const { one, other, lost } = await startLosing(t, 2, 'SET holder = NULL');
    assert.deepEqual(await taken(lost), [1, 2]);
    await assert.rejects(lost.instances.giveBack([1]), DatabaseUnavailable);
    assert.deepEqual(await taken(one), [1]);
    assert.deepEqual(await taken(lost), [1]);
    assert.deepEqual([...(await lost.holdsOf([1, 2])).keys()], [2]);
    assert.deepEqual(await taken(other), []);
  });

  it('take a changed webhook that nobody holds, and forget the change of one that sends nothing', async (t) => {
    const { database, one } = await start(t, 1);
    await database.run(`
      UPDATE webhook_progress SET state = 'stopped';
      INSERT INTO webhook_change (webhook_number) VALUES (1), (77)`);
    assert.deepEqual(await taken(one), []);
    assert.deepEqual(await database.all('SELECT * FROM webhook_change', {}), []);
    await database.run(
      `UPDATE webhook_progress SET state = 'started'; INSERT INTO webhook_change (webhook_number) VALUES (1)`,
    );
    assert.deepEqual([...(await one.changed())], [1], 'without waiting for the next look at free webhooks');
  });

  it('that were taken by a commit without an answer are found', async (t) => {
    const { lost } = await startLosing(t, 2, 'INSERT INTO webhook_hold');
    await assert.rejects(taken(lost), DatabaseUnavailable);
    assert.deepEqual(await taken(lost), [1, 2]);
  });

  it('are each taken once by instances that look at the same moment', async (t) => {
    const { one, other } = await start(t, 50);
    const [mine, theirs] = await Promise.all([taken(one), taken(other)]);
    assert.deepEqual(
      [...mine, ...theirs].sort((a, b) => a - b),
      Array.from({ length: 50 }, (_, at) => at + 1),
    );
  });

  it('refuse a write of an instance that has expired, and of the one before in an earlier epoch', async (t) => {
    const { database, one, other, expireNow } = await start(t, 1);
    await taken(one);
    const hold = (await one.holdsOf([1])).get(1);
    assert.ok(hold);
    await database.commit([guardStatement(hold)]);
    assert.equal(await other.instances.expire(1), false);
    await expireNow(1);
    assert.equal(await other.instances.expire(1), true);
    assert.deepEqual(await taken(other), [1]);
    await assert.rejects(database.commit([guardStatement(hold)]), { name: 'StaleWrite' });
    assert.equal(await one.isOver(hold), true);
    assert.equal(await one.instances.renew(HOUR_MS), null);
    await one.instances.join(instance('again'), HOUR_MS);
    await other.instances.giveBack([1]);
    assert.deepEqual(await taken(one), [1]);
    await assert.rejects(database.commit([guardStatement(hold)]), { name: 'StaleWrite' });
  });

  it('cannot be taken under a number that was expired', async (t) => {
    const { one, other, expireNow } = await start(t, 1);
    await expireNow(1);
    await other.instances.expire(1);
    assert.deepEqual(await taken(one), []);
    assert.deepEqual(await taken(other), [1]);
  });

  it('stay with an instance that renews late, while nobody has expired it', async (t) => {
    const { one, other, expireNow } = await start(t, 1);
    await taken(one);
    await expireNow(1);
    assert.notEqual(await one.instances.renew(HOUR_MS), null);
    assert.equal(await other.instances.expire(1), false);
    assert.deepEqual([...(await one.holdsOf([1])).keys()], [1]);
  });

  it('give the batches of an expired instance back too', async (t) => {
    const { database, one, other, expireNow } = await start(t, 1);
    await taken(one);
    await database.run(`INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals,
      next_attempt_at, lease_owner) VALUES (1, 0, 0, 'b', 'pending', 1, 0, 9000000000000, 'one')`);
    await expireNow(1);
    await other.instances.expire(1);
    const batch = await database.get('SELECT lease_owner, next_attempt_at < 9000000000000 AS due FROM batch', {});
    assert.deepEqual(batch, { lease_owner: null, due: 1 });
  });

  it('give back the batch of a settlement too that is in progress when the instance is expired', async (t) => {
    const { database, url, one, other, expireNow } = await start(t, 1);
    await taken(one);
    await expireNow(1);
    const settling = await openClient(t, url);
    await settling.query('BEGIN');
    await settling.query('SELECT 1 FROM webhook_hold WHERE holder = 1 FOR SHARE');
    await settling.query(`INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals,
      next_attempt_at, lease_owner) VALUES (1, 0, 0, 'b', 'pending', 1, 0, 9000000000000, 'one')`);
    const expiring = other.instances.expire(1);
    const blocked = `
      SELECT 1 AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND state = 'active'`;
    await until('the expiry waits', async () => (await database.all(blocked, {})).length > 0);
    await settling.query('COMMIT');
    assert.equal(await expiring, true);
    const batch = await database.get('SELECT lease_owner, next_attempt_at < 9000000000000 AS due FROM batch', {});
    assert.deepEqual(batch, { lease_owner: null, due: 1 });
  });

  it('are given back with the batches of slow attempts, which are due then', async (t) => {
    const { database, one, other } = await start(t, 2);
    await taken(one);
    await database.run(`
      INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals,
        next_attempt_at, lease_owner)
      VALUES (1, 0, 0, 'b', 'pending', 1, 0, 9000000000000, 'one')`);
    await one.instances.giveBack([1, 2]);
    const batch = await database.get('SELECT lease_owner, next_attempt_at < 9000000000000 AS due FROM batch', {});
    assert.deepEqual(batch, { lease_owner: null, due: 1 });
    assert.deepEqual(await taken(other), [1, 2]);
  });

  it('leave work beyond an instance’s share to others for a moment, and no longer', async (t) => {
    const { one } = await start(t, 3);
    one.instances.limitTo(1);
    assert.equal((await taken(one)).length, 1);
    assert.equal((await taken(one)).length, 0);
    assert.equal((await taken(one)).length, 0);
    assert.equal((await taken(one)).length, 2);
  });
});

describe('a duty', () => {
  it('belongs to one instance, and passes on when that has expired', async (t) => {
    const { one, other, expireNow } = await start(t, 0);
    assert.deepEqual([await one.instances.takeDuty('x'), await other.instances.takeDuty('x')], [true, false]);
    assert.deepEqual([await one.instances.takeDuty('x'), await other.instances.takeDuty('x')], [true, false]);
    await expireNow(1);
    assert.equal(await other.instances.takeDuty('x'), true);
  });
});

describe('the share of an instance', () => {
  for (const [what, renewal, held, expected] of [
    ['alone it takes all', { alive: 1, webhooks: 9 }, 9, { most: Number.POSITIVE_INFINITY, excess: 0 }],
    ['one that joins takes up to its share', { alive: 2, webhooks: 10 }, 0, { most: 6, excess: 0 }],
    ['one that holds all gives the rest back', { alive: 2, webhooks: 10 }, 10, { most: 6, excess: 5 }],
    ['a little more than its share is fine', { alive: 2, webhooks: 100 }, 55, { most: 55, excess: 0 }],
  ] as const) {
    it(`${what}`, () => assert.deepEqual(shareOf(renewal, held), expected));
  }
});

describe('the membership', () => {
  it('hands webhooks over to an instance that joins, and takes all back when that has left', async (t) => {
    const { database } = await start(t, 10);
    await database.run('DELETE FROM instance');
    const join = async (name: string) => {
      const leases = createLeases(database, stopwatch);
      const membership = createMembership({
        instances: leases.instances,
        instance: () => instance(name),
        log: createLog('silent'),
        leaseMs: 1500,
      });
      const handOver = (numbers: readonly number[]): void => {
        for (const number of numbers) void membership.handedOver(number);
      };
      await membership.start({ lost: () => {}, wake: () => {}, handOver });
      let isLeft = false;
      const stop = async (): Promise<void> => {
        if (!isLeft) await membership.stop();
        isLeft = true;
      };
      cleanUp(t, stop);
      return { leases, membership, stop };
    };
    const first = await join('first');
    assert.equal((await taken(first.leases)).length, 10);
    assert.equal(first.membership.hasDuty(), true);
    const second = await join('second');
    await until('the second has its share', async () => {
      await taken(second.leases);
      return second.leases.instances.held() >= 5;
    });
    assert.equal(second.membership.hasDuty(), false);
    await first.stop();
    await until('the second has all', async () => {
      await taken(second.leases);
      return second.leases.instances.held() === 10;
    });
    await until('the second has the duty', () => second.membership.hasDuty());
  });
});
