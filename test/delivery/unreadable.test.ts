/** A record that is damaged in the database is not sent, and holds up no other record. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LogRecord } from '../../src/domain/batch.ts';
import { DatabaseUnavailable } from '../../src/store/port/errors.ts';
import { type Dispatching, offsets, openDispatching, until } from '../support/dispatching.ts';
import { execute } from '../support/store.ts';

const RECORDS = 20;
const BAD = 7;
const others = Array.from({ length: RECORDS }, (_, offset) => offset).filter((offset) => offset !== BAD);

/** Nothing is to be done any more, and the offsets are without gaps. */
async function drained(d: Dispatching): Promise<void> {
  await until('the end', async () => {
    const rows = await d.rows('SELECT first_offset, last_offset, state FROM batch ORDER BY first_offset');
    let next = 0;
    for (const { first_offset, last_offset, state } of rows) {
      if (state === 'pending' || first_offset !== next) return false;
      next = Number(last_offset) + 1;
    }
    return next === RECORDS;
  });
}

/** The one record is dead, its attempt says why, the webhook is well, and every other record arrived once. */
async function onlyBadIsDead(d: Dispatching, message: RegExp): Promise<void> {
  assert.deepEqual(await d.rows("SELECT first_offset, last_offset FROM batch WHERE state <> 'delivered'"), [
    { first_offset: BAD, last_offset: BAD },
  ]);
  const told = await d.rows(
    `SELECT error_class, error_message, response_status FROM attempt WHERE first_offset = ${BAD} AND last_offset = ${BAD}`,
  );
  assert.deepEqual(
    told.map(({ error_class, response_status }) => [error_class, response_status]),
    [['internal', null]],
  );
  assert.match(String(told[0]?.error_message), message);
  const [progress] = await d.rows(
    'SELECT state, failing_since_at, failure_streak, dead_streak, pending_records FROM webhook_status',
  );
  assert.deepEqual(progress, {
    state: 'running',
    failing_since_at: null,
    failure_streak: 0,
    dead_streak: 0,
    pending_records: 0,
  });
}

const damaged = async (d: Dispatching, sql: string): Promise<void> => {
  d.sqlite.connection.pragma('foreign_keys = OFF');
  d.sqlite.connection.pragma('ignore_check_constraints = ON');
  await execute(d, sql.replace('#', `(SELECT event_key FROM outbox WHERE record_offset = ${BAD})`));
};

const CASES: readonly [what: string, sql: string, message: RegExp][] = [
  ['data that ends too early', `UPDATE event SET data = '{"n":' WHERE key = #`, /record 7 .*data is not JSON/],
  ['no event', 'DELETE FROM event WHERE key = #', /record 7 .*event is missing/],
  ['an impossible time', 'UPDATE event SET created_at = 9e15 WHERE key = #', /record 7 .*time is not one/],
];

describe('a record that cannot be read', () => {
  for (const ordered of [false, true]) {
    for (const [what, sql, message] of CASES) {
      it(`for ${what} is dead, and all others go out, ${ordered ? 'in order' : 'unordered'}`, async (t) => {
        const d = await openDispatching(t);
        const { at } = await d.connect({ webhook: { ordered } });
        await d.publishMany(RECORDS);
        await damaged(d, sql);
        await d.start();
        await drained(d);
        await onlyBadIsDead(d, message);
        assert.deepEqual(ordered ? offsets(at) : [...offsets(at)].sort((a, b) => a - b), others);
        assert.match(d.log.text(), /a record cannot be read/);
      });
    }
  }

  it('for data that is wrong within is found once its batch was refused, and not sent again', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect();
    let refusals = 0;
    d.receiver.route(at.path, ({ body }) => {
      try {
        JSON.parse(body.toString());
        return { status: 204 };
      } catch {
        refusals += 1;
        return { status: 400 };
      }
    });
    await d.publishMany(RECORDS);
    await damaged(d, `UPDATE event SET data = '{"n":,}' WHERE key = #`);
    await d.start();
    await until(
      'the refusal',
      async () => (await d.rows('SELECT 1 FROM batch WHERE lease_owner IS NULL AND attempt_count = 1')).length === 1,
    );
    d.advance(10_000);
    await drained(d);
    await onlyBadIsDead(d, /record 7 .*data is not JSON/);
    assert.equal(refusals, 1);
  });

  it('for pages of the file that are damaged is dead; any other fault of the database says nothing of it', async (t) => {
    for (const reason of ['damaged', 'failed'] as const) {
      const d = await openDispatching(t);
      await d.connect();
      await d.publishMany(RECORDS);
      const { dispatch } = d.store;
      let faults = 0;
      const records = async (webhook: number, first: number, last: number): Promise<LogRecord[]> => {
        if (first > BAD || last < BAD || (reason === 'failed' && faults > 0))
          return dispatch.records(webhook, first, last);
        faults += 1;
        throw new DatabaseUnavailable(reason);
      };
      await d.start({ store: { ...d.store, dispatch: { ...dispatch, records } } });
      if (reason === 'damaged') {
        await drained(d);
        await onlyBadIsDead(d, /records 7 to 7 cannot be read: the database is damaged/);
        continue;
      }
      await until(
        'the fault',
        async () => (await d.rows('SELECT 1 FROM batch WHERE lease_owner IS NULL AND attempt_count = 1')).length === 1,
      );
      d.advance(10_000);
      await drained(d);
      assert.deepEqual(await d.rows("SELECT 1 FROM batch WHERE state <> 'delivered'"), []);
    }
  });

  it('can be replayed once it is repaired', async (t) => {
    const d = await openDispatching(t);
    const { at, number } = await d.connect();
    await d.publishMany(RECORDS);
    await damaged(d, `UPDATE event SET data = '{"n":' WHERE key = #`);
    const dispatcher = await d.start();
    await drained(d);
    await damaged(d, `UPDATE event SET data = '{"n":7}' WHERE key = #`);
    await execute(
      d,
      `UPDATE batch SET state = 'pending', settled_at = NULL, next_attempt_at = ${d.clock()} WHERE state = 'dead'`,
      `UPDATE webhook_position SET pending_records = 1 WHERE webhook_number = ${number}`,
      `INSERT INTO webhook_change (webhook_number) VALUES (${number})`,
    );
    dispatcher.wake();
    await until('the last one', () => offsets(at).includes(BAD));
  });
});
