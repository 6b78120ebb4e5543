import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AttemptRecord } from '../../src/delivery/attempt.ts';
import { ATTEMPTS_LOOKED_THROUGH } from '../../src/kernel/limits/log.ts';
import { NO_TIMINGS } from '../../src/outbound/outcome.ts';
import { ConstraintViolation } from '../../src/store/errors.ts';
import { attemptStatement } from '../../src/store/sqlite/delivery/attempts.ts';
import { subscribe } from '../support/events.ts';
import { leavingNothing, NOW, openTestStore, type TestStore } from '../support/store.ts';

function attempt({ ids }: TestStore, webhookNumber: number, more: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    id: ids.uuid(),
    webhookNumber,
    kind: 'delivery',
    batchId: 'batch',
    firstOffset: 0,
    lastOffset: 9,
    attemptNumber: 1,
    startedAt: NOW,
    requestHeaders: { 'content-type': 'application/json', 'x-api-key': '[secret]' },
    responseStatus: 200,
    responseHeaders: { server: 'test' },
    responseBody: Buffer.from([0, 255, 128]),
    errorClass: null,
    errorMessage: null,
    timings: { ...NO_TIMINGS, totalMs: 12 },
    ...more,
  };
}

describe('the attempts', () => {
  it('are kept as they were, with an answer or without one', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    const answered = attempt(s, number);
    const failed = attempt(s, number, {
      ...{ responseStatus: null, responseHeaders: null, responseBody: null, attemptNumber: 2 },
      ...{ errorClass: 'dns', errorMessage: 'no such host', timings: NO_TIMINGS },
    });
    await s.database.commit([attemptStatement(answered), attemptStatement(failed)]);
    assert.deepEqual(await s.store.attempts.ofRecord(number, 5, 10), [answered, failed]);
    assert.deepEqual(await s.store.attempts.get(failed.id), failed);
    assert.equal(await s.store.attempts.get(s.ids.uuid()), null);
    assert.equal(await s.store.attempts.get('no id'), null);
  });

  it('of a record are those whose batch held it, oldest first, up to the limit', async (t) => {
    const s = await openTestStore(t);
    const [number, other] = [await subscribe(s, ['*']), await subscribe(s, ['*'])];
    const spans = [
      [0, 999],
      [0, 0],
      [1, 500],
      [501, 999],
      [1000, 1999],
    ] as const;
    const made = spans.map(([firstOffset, lastOffset]) => attempt(s, number, { firstOffset, lastOffset }));
    const elsewhere = attempt(s, other, { firstOffset: 0, lastOffset: 999 });
    const heartbeat = attempt(s, number, { kind: 'heartbeat', batchId: null, firstOffset: null, lastOffset: null });
    await s.database.commit([...made, elsewhere, heartbeat].map(attemptStatement));
    const spansOf = async (offset: number, limit = 10) =>
      (await s.store.attempts.ofRecord(number, offset, limit))
        .map(({ firstOffset, lastOffset }) => `${firstOffset}-${lastOffset}`)
        .join(' ');
    assert.equal(await spansOf(0), '0-999 0-0');
    assert.equal(await spansOf(1), '0-999 1-500');
    assert.equal(await spansOf(999), '0-999 501-999');
    assert.equal(await spansOf(1000), '1000-1999');
    assert.equal(await spansOf(2000), '');
    assert.equal(await spansOf(0, 1), '0-0', 'the last ones');
  });

  it('of a webhook are told newest first, heartbeats and tests among them, however many others sent meanwhile', async (t) => {
    const s = await openTestStore(t);
    s.database.connection.pragma('synchronous = OFF');
    const [quiet, busy] = [await subscribe(s, ['*']), await subscribe(s, ['*'])];
    const [some, other] = [
      { firstOffset: 0, lastOffset: 0 },
      { firstOffset: null, lastOffset: null, batchId: null },
    ];
    const made = [
      attempt(s, quiet, some),
      attempt(s, quiet, { ...other, kind: 'heartbeat' }),
      attempt(s, quiet, { firstOffset: 1, lastOffset: 3 }),
      attempt(s, quiet, { ...other, kind: 'test' }),
    ];
    await s.database.commit(made.map(attemptStatement));
    const newest = made.toReversed();
    const latestOf = (number: number, limit: number) => s.store.attempts.latestOf(number, limit);
    assert.deepEqual(await latestOf(quiet, 10), newest);
    assert.deepEqual(await latestOf(quiet, 2), newest.slice(0, 2));
    assert.deepEqual(await latestOf(busy, 10), []);
    const others = Array.from({ length: ATTEMPTS_LOOKED_THROUGH }, (_, n) =>
      attempt(s, busy, { firstOffset: n, lastOffset: n }),
    );
    await s.database.commit(others.map(attemptStatement));
    assert.deepEqual(await latestOf(quiet, 10), newest, 'found although none is among the last of all');
    assert.deepEqual(await latestOf(busy, 3), others.toReversed().slice(0, 3));
    assert.deepEqual(await s.store.attempts.latest(3), others.toReversed().slice(0, 3));
  });

  it('tell which records travelled as a batch, by the id that receivers know', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    const [batchId, other] = [s.ids.uuid(), s.ids.uuid()];
    s.advance(60_000);
    const made = [
      attempt(s, number, { batchId: other, firstOffset: 0, lastOffset: 4 }),
      attempt(s, number, { batchId, firstOffset: 5, lastOffset: 7 }),
      attempt(s, number, { batchId, kind: 'heartbeat', firstOffset: null, lastOffset: null }),
    ];
    await s.database.commit(made.map(attemptStatement));
    assert.deepEqual(await s.store.attempts.batch(batchId), { webhookNumber: number, first: 5, last: 7 });
    assert.deepEqual(await s.store.attempts.batch(other), { webhookNumber: number, first: 0, last: 4 });
    assert.equal(await s.store.attempts.batch(s.ids.uuid()), null);
    assert.equal(await s.store.attempts.batch('no id'), null);
  });

  it('of a delivery have both offsets, all others none', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    const wrong: Partial<AttemptRecord>[] = [
      { firstOffset: null },
      { lastOffset: null },
      { firstOffset: null, lastOffset: null },
      { kind: 'test' },
    ];
    for (const more of wrong) {
      const statement = attemptStatement(attempt(s, number, more));
      await leavingNothing(s, () => assert.rejects(s.database.commit([statement]), ConstraintViolation));
    }
  });
});
