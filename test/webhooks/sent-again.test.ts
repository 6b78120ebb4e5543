/** When a delivery was sent again, and how its attempts are numbered on. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AttemptRecord } from '../../src/domain/batch.ts';
import type { AuditRecord } from '../../src/store/port/audit.ts';
import { numbered, resendsOf } from '../../src/webhooks/sent-again.ts';

/** Attempts begin 1000 apart. A minus stands for a failure: `-1` is a failed attempt that was the first since it was sent again. */
function tried(...numbers: readonly number[]): AttemptRecord[] {
  return numbers.map((number, at) => ({
    attemptNumber: Math.abs(number),
    startedAt: 1000 * (at + 1),
    errorClass: number < 0 ? 'http_status' : null,
    responseStatus: number < 0 ? 503 : 200,
  })) as AttemptRecord[];
}

const iso = (at: number): string => new Date(at).toISOString();
const own = (at: number): Partial<AuditRecord> => ({
  at,
  action: 'delivery.replay',
  changes: { state: { from: 'dead', to: 'pending' } },
});
const now = (at: number): Partial<AuditRecord> => ({
  at,
  action: 'delivery.replay',
  changes: { nextAttemptAt: { from: iso(at + 9), to: iso(at) } },
});
const many = (at: number, to: unknown): Partial<AuditRecord> => ({
  at,
  action: 'webhook.replay',
  changes: { records: { from: null, to } },
});
const range = (more: object = {}): object => ({ since: null, until: null, states: ['dead'], ...more });

describe('a delivery', () => {
  const cases: readonly [
    what: string,
    attempts: readonly AttemptRecord[],
    entries: readonly Partial<AuditRecord>[],
    resends: readonly string[],
    numbers: readonly number[],
    base?: number,
  ][] = [
    ['that was tried once', tried(1), [], [], [1]],
    ['that was retried', tried(-1, -2, 3), [], [], [1, 2, 3]],
    ['with an attempt that did not count', tried(-1, -1, 2), [], [], [1, 1, 2]],
    ['that was sent again', tried(-1, -2, 1), [own(2500)], ['again 2500 anna'], [1, 2, 3], 2],
    ['that was sent again and waits', tried(-1, -2), [own(2500)], ['again 2500 anna'], [1, 2], 2],
    [
      'that was sent again twice',
      tried(1, 1, 1),
      [own(1500), own(2500)],
      ['again 1500 anna', 'again 2500 anna'],
      [1, 2, 3],
      2,
    ],
    ['that was tried before its time', tried(-1, 2), [now(1500)], ['now 1500 anna'], [1, 2]],
    ['that was sent again without an entry', tried(-1, -2, 1), [], ['again 3000 null'], [1, 2, 3], 2],
    ['of a group', tried(-1, 1), [many(1500, range())], ['again 1500 anna'], [1, 2], 1],
    [
      'that was queued before others were sent again',
      tried(-1, 1),
      [own(1200), many(1500, range())],
      ['again 1200 anna'],
      [1, 2],
      1,
    ],
    ['of a selection', tried(-1, 1), [many(1500, { firstOffset: 3, lastOffset: 7 })], ['again 1500 anna'], [1, 2], 1],
    ['beside a selection', tried(-1, 2), [many(1500, { firstOffset: 8, lastOffset: 9 })], [], [1, 2]],
    ['of another time', tried(-1, -2), [many(2500, range({ since: iso(501) }))], [], [1, 2]],
    ['of an earlier time', tried(-1, -2), [many(2500, range({ until: iso(500) }))], [], [1, 2]],
    ['of another state', tried(1), [many(2500, range())], [], [1]],
    ['of another cause', tried(-1), [many(2500, range({ cause: 'timeout' }))], [], [1]],
    ['of the cause', tried(-1, 1), [many(1500, range({ cause: '503' }))], ['again 1500 anna'], [1, 2], 1],
    ['that was still retried when others were sent again', tried(-1, 2), [many(1500, range())], [], [1, 2]],
    ['that was never tried', [], [many(1500, range())], [], []],
  ];
  for (const [what, attempts, entries, resends, numbers, base = 0] of cases) {
    it(`is told truly: one ${what}`, () => {
      const attemptCount = entries.length > 0 && attempts.length < 3 ? 0 : 1;
      const delivery = { id: 'd', offset: 5, createdAt: 500, attemptCount };
      const records = entries.map((entry) => ({ actor: 'anna', ...entry }) as AuditRecord);
      const found = resendsOf(delivery, attempts, records);
      assert.deepEqual(
        found.map(({ kind, at, actor }) => `${kind} ${at} ${actor}`),
        resends,
      );
      const told = numbered(attempts, found);
      assert.deepEqual(
        told.attempts.map(({ number }) => number),
        numbers,
      );
      assert.equal(told.base, base);
    });
  }
});
