/** Settlements that are written together must leave what the statements of each leave that is written by itself. */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { AuditEntry } from '../../../src/domain/audit.ts';
import type { AttemptRecord, Batch, BatchFate, Health, Position, Settlement } from '../../../src/domain/batch.ts';
import { createIds, randomBytes } from '../../../src/kernel/ids.ts';
import type { Database, Statement } from '../../../src/store/port/database.ts';
import { guardStatement, lockLog, TIMELINE } from '../../../src/store/postgres/instances.ts';
import { type HeldSettlement, isPlain, writeTurns } from '../../../src/store/postgres/settlements.ts';
import { replayStore } from '../../../src/store/shared/delivery/replays.ts';
import { settlementStatements } from '../../../src/store/shared/delivery/settlement.ts';
import { waitingKeyStore } from '../../../src/store/shared/delivery/waiting-keys.ts';
import { until } from '../../support/dispatching.ts';
import { openEmptied } from '../../support/emptied-databases.ts';
import { openClient } from '../../support/postgres.ts';
import { NOW } from '../../support/store.ts';

const OWNER = 'this process';
const ids = createIds(() => NOW, randomBytes);

/** So many running webhooks, each held by instance 1 in epoch 1. */
async function open(t: TestContext, webhooks: number) {
  const { database, url } = await openEmptied(t, NOW);
  await database.run(`
    INSERT INTO instance (name, version, address, started_at, seen_at, expires_at) VALUES ('one', '0', NULL, 0, 0, ${NOW});
    INSERT INTO endpoint (id, name, url, api_key, secret, secret_created_at, token_challenge, verified, enabled, enable_when_verified,
      created_at, updated_at) VALUES ('e', 'e', 'https://a.example', '', '', 0, false, false, true, false, 0, 0);
    INSERT INTO webhook (number, id, name, endpoint_id, event_types, custom_headers, ordered, max_batch_records, retry_policy,
      max_attempts, standard_webhooks, heartbeat_seconds, timeout_seconds, created_at, updated_at)
    SELECT n, n, n, 'e', '[]', '[]', 'none', 1, 'linear', 5, false, 0, 10, 0, 0 FROM generate_series(1, ${webhooks}) AS n`);
  const reset = (): Promise<void> =>
    database.run(`
      DELETE FROM webhook_progress; DELETE FROM batch; DELETE FROM attempt;
      INSERT INTO webhook_progress (webhook_number, state, state_at, failure_streak, dead_streak, failing_since_at)
      SELECT n, 'running', 0, 0, 0, CASE WHEN n % 3 = 0 THEN 5 END FROM generate_series(1, ${webhooks}) AS n;
      INSERT INTO webhook_position (webhook_number, covered_offset, pending_records)
      SELECT n, 20, 20 FROM generate_series(1, ${webhooks}) AS n;
      INSERT INTO webhook_hold (webhook_number, holder, epoch) SELECT n, 1, 1 FROM generate_series(1, ${webhooks}) AS n;
      INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals,
        next_attempt_at, lease_owner)
      SELECT n, 2 * at, 2 * at + 1, at, 'pending', CASE WHEN at < 5 THEN 1 + at % 3 ELSE at % 3 END, at % 2, ${NOW} - 1,
        CASE WHEN at < 5 THEN '${OWNER}' END
      FROM generate_series(1, ${webhooks}) AS n, generate_series(0, 9) AS at`);
  await reset();
  const [row] = await database.all(`SELECT ${TIMELINE} AS timeline`, {});
  const held = (settlement: Settlement): HeldSettlement => {
    const { webhookNumber } = settlement;
    return { ...settlement, hold: { webhookNumber, instance: 1, epoch: 1, timeline: String(row?.timeline) } };
  };
  /** Rows of a webhook that do not name it. */
  const rowsOf = async (webhookNumber: number) => ({
    progress: await database.all(
      'SELECT *, NULL AS webhook_number FROM webhook_progress WHERE webhook_number = @webhookNumber',
      { webhookNumber },
    ),
    position: await database.all(
      'SELECT *, NULL AS webhook_number FROM webhook_position WHERE webhook_number = @webhookNumber',
      { webhookNumber },
    ),
    batches: await database.all(
      'SELECT *, NULL AS webhook_number FROM batch WHERE webhook_number = @webhookNumber ORDER BY first_offset',
      { webhookNumber },
    ),
    attempts: await database.all(
      'SELECT *, NULL AS webhook_number, NULL AS key, NULL AS id FROM attempt WHERE webhook_number = @webhookNumber ORDER BY attempt.key',
      { webhookNumber },
    ),
  });
  return { database, url, reset, rowsOf, held, write: writeTurns(database) };
}

/** The first five have the row of a slow attempt, five more that of a retry, and the others none. */
function batchAt(webhookNumber: number, at: number): Batch {
  const stretch = { firstOffset: 2 * at, lastOffset: 2 * at + 1, bytes: 10 };
  const tried =
    at < 10 ? { attemptNumber: 1 + (at % 3), contentRefusals: at % 2 } : { attemptNumber: 1, contentRefusals: 0 };
  return { webhookNumber, id: String(at), ...stretch, ...tried, isStored: at < 10 };
}

// No text of a failure holds U+0000 (`failure` in src/domain/outcome.ts).
const text = fc.string({ unit: 'binary' }).map((any) => any.replaceAll('\0', ''));
const headers = fc.dictionary(fc.string({ minLength: 1 }), text, { maxKeys: 3 });
const orNull = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(values, { nil: null });

const attempt: fc.Arbitrary<
  Omit<AttemptRecord, 'id' | 'webhookNumber' | 'batchId' | 'firstOffset' | 'lastOffset' | 'attemptNumber'>
> = fc.record({
  kind: fc.constant('delivery' as const),
  startedAt: fc.integer({ min: 0, max: NOW }),
  requestHeaders: headers,
  responseStatus: orNull(fc.integer({ min: 200, max: 599 })),
  responseHeaders: orNull(headers),
  responseBody: orNull(fc.uint8Array({ maxLength: 30 })),
  errorClass: orNull(fc.constant('http_status')),
  errorMessage: orNull(text),
  responseProblem: orNull(text),
  timings: fc.constant({ totalMs: 1 } as unknown as AttemptRecord['timings']),
});

const fate: fc.Arbitrary<BatchFate | null> = orNull(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('delivered', 'dead', 'discarded', 'release'), at: fc.constant(NOW) }),
    fc.record({ kind: fc.constant('retry' as const), at: fc.constant(NOW + 5), contentRefusals: fc.nat(3) }),
  ) as fc.Arbitrary<BatchFate>,
);

const health: fc.Arbitrary<Health & { state: 'running' }> = fc.record({
  state: fc.constant('running' as const),
  stateReason: orNull(fc.constant('timeout')),
  stateDetail: orNull(text),
  sentAt: orNull(fc.nat(NOW)),
  failingSinceAt: orNull(fc.nat(NOW)),
  failureStreak: fc.nat(9),
  probeAt: orNull(fc.nat(NOW)),
  deadStreak: fc.nat(9),
});

/** The settlement of one webhook: outcomes of batches, and a slow attempt of another. */
const happening = fc.record({
  outcomes: fc.array(fc.record({ fate, attempt: orNull(attempt) }), { maxLength: 15 }),
  health: orNull(health),
  position: orNull(fc.record({ coveredOffset: fc.nat(40), sentAt: orNull(fc.nat(NOW)) })),
  isSlow: fc.boolean(),
});
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

function outcomesOf(webhookNumber: number, { outcomes, health: changed, position, isSlow }: Happening): Settlement {
  const batches = outcomes.map((outcome, at) => {
    const batch = batchAt(webhookNumber, at);
    const { firstOffset, lastOffset, attemptNumber } = batch;
    const of = { id: ids.uuid(), webhookNumber, batchId: batch.id, firstOffset, lastOffset, attemptNumber };
    return { batch, fate: outcome.fate, attempt: outcome.attempt === null ? null : { ...outcome.attempt, ...of } };
  });
  const slow = isSlow ? [batchAt(webhookNumber, 20)] : [];
  return settlementOf({ webhookNumber, batches, health: changed, position, slow });
}

function settlementOf(parts: Partial<Settlement> & { readonly position?: Position | null }): Settlement {
  const nothing = {
    webhookNumber: 1,
    hold: null,
    batches: [],
    slow: [],
    position: null,
    health: null,
    changes: [],
    audit: null,
  };
  return { ...nothing, owner: OWNER, now: NOW, ...parts };
}

const byItself = async (database: Database, settlement: HeldSettlement): Promise<Statement[]> => [
  guardStatement(settlement.hold),
  ...(await settlementStatements(database, settlement)),
];

const entry = (): AuditEntry => ({
  id: ids.uuid(),
  at: NOW,
  actor: 'service',
  action: 'delivery.replay',
  target: 'webhook:1',
  customerId: null,
  changes: {},
});
/** Transactions that count batches by their states. */
const COUNTING: Readonly<Record<string, (database: Database) => Promise<unknown>>> = {
  'a replay': (database) =>
    replayStore(database, lockLog).replay(
      { webhookNumber: 1, first: 0, last: 19, states: ['dead'], now: NOW, newId: ids.uuid },
      entry(),
    ),
  'giving up a key': (database) =>
    waitingKeyStore(database, lockLog).giveUp({ webhookNumber: 1, key: 'k', now: NOW }, entry()),
};

describe('settlements of a turn', () => {
  it('leave the same rows as when each is written separately', async (t) => {
    const webhooks = 6;
    const { database, reset, rowsOf, held, write } = await open(t, 2 * webhooks);
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: webhooks, maxLength: webhooks }), async (happenings) => {
        await reset();
        await Promise.all(happenings.map((one, at) => write(held(outcomesOf(at + 1, one)))));
        for (const [at, one] of happenings.entries())
          await database.commit(await byItself(database, held(outcomesOf(webhooks + at + 1, one))));
        for (let at = 1; at <= webhooks; at += 1) assert.deepEqual(await rowsOf(at), await rowsOf(webhooks + at));
      }),
      { numRuns: 25 },
    );
  });

  it('are each refused separately', async (t) => {
    const { database, rowsOf, held, write } = await open(t, 5);
    const outcome = { fate: { kind: 'delivered', at: NOW }, attempt: null } as const;
    const all: Happening = { outcomes: Array(11).fill(outcome), health: null, position: null, isSlow: false };
    await database.run(`
      UPDATE batch SET lease_owner = 'another' WHERE webhook_number = 1 AND first_offset = 0;
      UPDATE batch SET attempt_count = attempt_count + 1 WHERE webhook_number = 2 AND first_offset = 12;
      UPDATE webhook_hold SET epoch = 2 WHERE webhook_number = 3;
      INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, settled_at)
        VALUES (4, 20, 21, 'x', 'delivered', 1, 0, 0)`);
    const before = await Promise.all([1, 2, 3, 4].map(rowsOf));
    const outcomes = await Promise.allSettled(
      [1, 2, 3, 4, 5].map((webhookNumber) => write(held(outcomesOf(webhookNumber, all)))),
    );
    assert.deepEqual(
      outcomes.map((one) => (one.status === 'rejected' ? (one.reason as Error).name : 'written')),
      ['StaleWrite', 'StaleWrite', 'StaleWrite', 'ConstraintViolation', 'written'],
    );
    assert.deepEqual(await Promise.all([1, 2, 3, 4].map(rowsOf)), before);
    assert.equal((await rowsOf(5)).batches.filter(({ state }) => state === 'delivered').length, 11);
  });

  it('of one webhook are written one after another', async (t) => {
    const { rowsOf, held, write } = await open(t, 1);
    const outcomes = [0, 1, 2].map((at) => {
      const batches = [{ batch: batchAt(1, at), fate: { kind: 'delivered', at: NOW } as const, attempt: null }];
      return settlementOf({ batches });
    });
    await Promise.all(outcomes.map((settlement) => write(held(settlement))));
    const { position, batches } = await rowsOf(1);
    assert.equal(position[0]?.pending_records, 14);
    assert.equal(batches.filter(({ state }) => state === 'delivered').length, 3);
  });

  it('drop the response to a record that was erased in the meantime', async (t) => {
    const { database, rowsOf, held, write } = await open(t, 2);
    await database.run(`
      INSERT INTO event (key, id, type, data, correlation_id, created_at, erased_at) SELECT n, n, 'a.b', NULL, '', 0, ${NOW}
        FROM generate_series(1, 2) AS n;
      INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes) VALUES (1, 1, 1, 5), (2, 2, 2, 5)`);
    const answered = {
      kind: 'delivery' as const,
      startedAt: NOW - 1,
      requestHeaders: {},
      responseStatus: 200,
      responseHeaders: { a: 'b' },
      responseBody: Buffer.from('it is Ada'),
      errorClass: null,
      errorMessage: null,
      responseProblem: null,
      timings: {} as AttemptRecord['timings'],
    };
    const outcomes = [{ fate: { kind: 'delivered', at: NOW } as const, attempt: answered }];
    await Promise.all(
      [1, 2].map((n) => write(held(outcomesOf(n, { outcomes, health: null, position: null, isSlow: false })))),
    );
    const bodies = await Promise.all([1, 2].map(async (n) => (await rowsOf(n)).attempts[0]));
    assert.deepEqual(
      bodies.map((row) => [row?.response_body === null, row?.response_headers]),
      [
        [true, null],
        [false, '{"a":"b"}'],
      ],
    );
  });

  it('of first attempts that succeed insert rows and change none', async (t) => {
    const { database, held, write } = await open(t, 4);
    const versions = async () =>
      database.all(
        `SELECT 'progress' AS kind, webhook_number AS number, CAST(ctid AS text) AS place FROM webhook_progress
         UNION ALL SELECT 'position', webhook_number, CAST(ctid AS text) FROM webhook_position
         UNION ALL SELECT 'hold', webhook_number, CAST(ctid AS text) FROM webhook_hold
         UNION ALL SELECT 'batch', webhook_number, CAST(ctid AS text) FROM batch WHERE first_offset < 20
         ORDER BY kind, number, place`,
        {},
      );
    const before = await versions();
    for (let round = 10; round < 30; round += 1) {
      const settled = [1, 2, 3, 4].map((webhookNumber) => {
        const batches = [
          { batch: batchAt(webhookNumber, round), fate: { kind: 'delivered', at: NOW } as const, attempt: null },
        ];
        return write(held(settlementOf({ webhookNumber, batches })));
      });
      await Promise.all(settled);
    }
    assert.deepEqual(await versions(), before);
    const row = await database.get("SELECT count(*) AS n FROM batch WHERE state = 'delivered'", {});
    assert.equal(row?.n, 80);
  });

  for (const [what, run] of Object.entries(COUNTING)) {
    it(`are waited for by ${what}, which counts what they wrote`, async (t) => {
      const { database, url } = await open(t, 1);
      await database.run(
        "UPDATE batch SET state = 'dead', next_attempt_at = NULL, settled_at = 1 WHERE first_offset >= 10",
      );
      await database.run("UPDATE batch SET order_key = 'k', lease_owner = NULL WHERE state = 'pending'");
      await database.run('UPDATE webhook_position SET pending_records = 10');
      const settling = await openClient(t, url);
      await settling.query('BEGIN');
      await settling.query('SELECT 1 FROM webhook_hold WHERE webhook_number = 1 FOR SHARE');
      await settling.query(
        "UPDATE batch SET state = 'dead', next_attempt_at = NULL, settled_at = 1 WHERE first_offset = 2",
      );
      const running = run(database);
      const waits = `
        SELECT 1 AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND state = 'active'`;
      await until('it waits', async () => (await database.all(waits, {})).length > 0);
      await settling.query(
        'UPDATE webhook_position SET pending_records = pending_records - 2 WHERE webhook_number = 1',
      );
      await settling.query('COMMIT');
      await running;
      const counted = await database.get('SELECT pending_records AS n FROM webhook_position', {});
      const pending = await database.get(
        "SELECT coalesce(sum(last_offset - first_offset + 1), 0) AS n FROM batch WHERE state = 'pending'",
        {},
      );
      assert.equal(Number(counted?.n), Number(pending?.n));
    });
  }

  it('exclude changes of state and halved batches', () => {
    const batch = batchAt(1, 0);
    const settlement = settlementOf({});
    assert.equal(isPlain(settlement), true);
    const halved = { batch, fate: { kind: 'halve', at: NOW, halfIds: ['a', 'b'] } as const, attempt: null };
    assert.equal(isPlain({ ...settlement, batches: [halved] }), false);
    assert.equal(isPlain({ ...settlement, changes: [{} as never] }), false);
  });
});
