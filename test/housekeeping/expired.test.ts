import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { idempotency, newEvent } from '../support/events.ts';
import { count, housekeepingFor } from '../support/housekeeping.ts';
import { repeats } from '../support/repeats.ts';
import { leavingNothing, onSqlite, openTestStore, type TestStore } from '../support/store.ts';

repeats('postgres');

async function issue({ database, ids, clock }: TestStore, lifetimesMs: readonly number[]): Promise<void> {
  const sql = `
    INSERT INTO access_token (key, hash, application_id, scope, expires_at)
    VALUES (@key, @hash, 'application', '', @expiresAt)`;
  const hash = Buffer.alloc(1);
  await database.commit(
    lifetimesMs.map((lifetimeMs) => ({ sql, params: { key: ids.rowKey(), hash, expiresAt: clock() + lifetimeMs } })),
  );
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

describe('expired access tokens', () => {
  onSqlite('are deleted, and valid ones are kept, also if long-lived ones come before short-lived ones', async (t) => {
    const s = await openTestStore(t);
    await issue(s, Array(500).fill(DAY_MS));
    await issue(s, Array(500).fill(5 * MINUTE_MS));
    const house = housekeepingFor(s);
    s.advance(5 * MINUTE_MS - 1);
    await leavingNothing(s, () => house.runOnce());
    s.advance(1);
    await house.runOnce();
    assert.equal(await count(s, 'access_token'), 500);
    assert.equal(await count(s, 'access_token', `expires_at <= ${s.clock()}`), 0);
    s.advance(DAY_MS);
    await house.runOnce();
    assert.equal(await count(s, 'access_token'), 0);
  });

  onSqlite('do not accumulate: the size of the table follows the valid ones', async (t) => {
    const s = await openTestStore(t);
    const house = housekeepingFor(s);
    const sizes: number[] = [];
    for (let minute = 0; minute < 20; minute++) {
      await issue(s, [...Array(40).fill(5 * MINUTE_MS), DAY_MS]);
      s.advance(MINUTE_MS);
      await house.runOnce();
      sizes.push(await count(s, 'access_token', `expires_at < ${s.clock() + DAY_MS / 2}`));
    }
    assert.ok(Math.max(...sizes) <= 5 * 40, sizes.join(', '));
    assert.equal(await count(s, 'access_token'), (sizes.at(-1) ?? 0) + 20);
  });
});

describe('kept replies', () => {
  it('are deleted once they have expired, and not before', async (t) => {
    const s = await openTestStore(t);
    const reply = { requestHash: '', status: 201, headers: {}, body: '{"clientSecret":"sps_secret"}' };
    const keep = (key: string) => {
      const now = s.clock();
      return s.database.commit(
        s.store.keptReplies.keep({ applicationId: 'a', key }, reply, { now, expiresAt: now + DAY_MS }),
      );
    };
    await keep('k');
    s.advance(1000);
    await keep('l');
    const [kept] = await s.rows("SELECT CAST(reply AS TEXT) AS reply FROM kept_reply WHERE key = 'l'");
    assert.ok(!String(kept?.reply).includes('sps_secret'));
    const house = housekeepingFor(s);
    s.advance(DAY_MS - 1001);
    await leavingNothing(s, () => house.runOnce());
    s.advance(1);
    await house.runOnce();
    assert.deepEqual(await s.rows('SELECT key FROM kept_reply'), [{ key: 'l' }]);
    assert.deepEqual(await s.store.keptReplies.find({ applicationId: 'a', key: 'l' }, s.clock()), reply);
    assert.equal(await s.store.keptReplies.find({ applicationId: 'b', key: 'l' }, s.clock()), null);
  });
});

describe('idempotency keys', () => {
  it('are deleted once they have expired, and not before', async (t) => {
    const s = await openTestStore(t);
    const keyed = (key: string, ms: number) =>
      newEvent(s, 'order.placed', { idempotency: idempotency(s, key, { expiresAt: s.clock() + ms }) });
    await s.store.events.publish(Array.from({ length: 100 }, (_, n) => keyed(`a${n}`, DAY_MS)));
    s.advance(1000);
    await s.store.events.publish([keyed('b', DAY_MS)]);
    const house = housekeepingFor(s);
    s.advance(DAY_MS - 1001);
    await leavingNothing(s, () => house.runOnce());
    s.advance(1);
    await house.runOnce();
    assert.deepEqual(await s.rows('SELECT key FROM idempotency'), [{ key: 'b' }]);
    const [again] = await s.store.events.publish([keyed('b', DAY_MS)]);
    assert.equal(again?.duplicate, true);
  });
});
