/** Claims and settlements that are written together must leave what the statements of each leave that is written alone. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { AttemptRecord, Batch, BatchFate, Claim, Health, Settlement } from '../../../src/domain/batch.ts';
import { createIds, randomBytes } from '../../../src/kernel/ids.ts';
import type { Database, Statement } from '../../../src/store/port/database.ts';
import { guardStatement, type Hold } from '../../../src/store/postgres/instances.ts';
import { isPlain, type TurnWork, writeTurns } from '../../../src/store/postgres/settlements.ts';
import { claimStatements } from '../../../src/store/shared/delivery/dispatch.ts';
import { settlementStatements } from '../../../src/store/shared/delivery/settlement.ts';
import { openTestPostgres } from '../../support/postgres.ts';
import { NOW } from '../../support/store.ts';

const OWNER = 'this process';
const ids = createIds(() => NOW, randomBytes);

/** So many running webhooks, each held by instance 1 in epoch 1. */
async function open(t: TestContext, webhooks: number) {
  const { database } = await openTestPostgres(t, NOW);
  await database.run(`
    INSERT INTO instance (name, version, address, started_at, seen_at, expires_at) VALUES ('one', '0', NULL, 0, 0, ${NOW});
    INSERT INTO endpoint (id, name, url, api_key, secret, secret_created_at, token_challenge, verified, enabled, enable_when_verified,
      created_at, updated_at) VALUES ('e', 'e', 'https://a.example', '', '', 0, false, false, true, false, 0, 0);
    INSERT INTO webhook (number, id, name, endpoint_id, event_types, custom_headers, ordered, max_batch_records, retry_policy,
      max_attempts, standard_webhooks, heartbeat_seconds, timeout_seconds, created_at, updated_at)
    SELECT n, n, n, 'e', '[]', '[]', false, 1, 'linear', 5, false, 0, 10, 0, 0 FROM generate_series(1, ${webhooks}) AS n`);
  const reset = (): Promise<void> =>
    database.run(`
      DELETE FROM webhook_progress; DELETE FROM batch; DELETE FROM attempt;
      INSERT INTO webhook_progress (webhook_number, state, state_at, next_offset, cursor_offset, pending_records,
        failure_streak, dead_streak,
        holder, epoch, failing_since_at)
      SELECT n, 'running', 0, 50, 20, 20, 0, 0, 1, 1, CASE WHEN n % 3 = 0 THEN 5 END FROM generate_series(1, ${webhooks}) AS n;
      UPDATE webhook_progress SET wake_at = ${NOW};
      INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals,
        next_attempt_at, lease_owner)
      SELECT n, 2 * at, 2 * at + 1, at, 'pending', 1 + at % 3, at % 2, CASE WHEN at < 5 THEN 9000000 + at ELSE ${NOW} - 1 END,
        CASE WHEN at < 5 THEN '${OWNER}' END
      FROM generate_series(1, ${webhooks}) AS n, generate_series(0, 9) AS at`);
  await reset();
  /** Rows of a webhook that do not name it. */
  const rowsOf = async (webhookNumber: number) => ({
    progress: await database.all(
      `SELECT p.*, NULL AS webhook_number, w.wake_at AS copied FROM webhook_progress AS p
       LEFT JOIN webhook_wake AS w ON w.webhook_number = p.webhook_number WHERE p.webhook_number = @webhookNumber`,
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
  return { database, reset, rowsOf, write: writeTurns(database) };
}

const hold = (webhookNumber: number, epoch = 1): Hold => ({ webhookNumber, instance: 1, epoch });

function batchAt(webhookNumber: number, at: number): Batch {
  const stretch = { firstOffset: 2 * at, lastOffset: 2 * at + 1, bytes: 10 };
  return { webhookNumber, id: String(at), ...stretch, attemptNumber: 1 + (at % 3), contentRefusals: at % 2 };
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

/** What happens to one webhook: outcomes of its first five batches, and a claim of others and of new records. */
const happening = fc.record({
  outcomes: fc.array(fc.record({ fate, attempt: orNull(attempt) }), { maxLength: 5 }),
  health: orNull(health),
  wakeAt: orNull(fc.integer({ min: NOW - 5, max: NOW + 5 })),
  claim: orNull(
    fc.record({
      retries: fc.nat(5),
      fresh: fc.nat(5),
      notBefore: fc.constantFrom(0, NOW + 3),
      idleAt: fc.constantFrom(NOW + 9, 9_000_000_000_000),
      isOutdated: fc.boolean(),
    }),
  ),
});
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

function workOf(webhookNumber: number, { outcomes, health: changed, wakeAt, claim }: Happening): TurnWork {
  const next: Claim | null =
    claim === null
      ? null
      : {
          webhookNumber,
          owner: OWNER,
          now: NOW,
          leaseExpiresAt: NOW + 1000,
          session: { id: 's', at: NOW },
          settingsVersion: claim.isOutdated ? -1 : 0,
          retries: Array.from({ length: claim.retries }, (_, n) => {
            const batch = batchAt(webhookNumber, 5 + n);
            return { ...batch, attemptNumber: batch.attemptNumber + 1 };
          }),
          fresh: Array.from({ length: claim.fresh }, (_, n) => ({
            ...batchAt(webhookNumber, 10 + n),
            id: `fresh ${n}`,
            attemptNumber: 1,
            contentRefusals: 0,
          })),
          cursorBefore: 20,
          cursorAfter: 20 + 2 * claim.fresh,
          notBefore: claim.notBefore,
          idleAt: claim.idleAt,
        };
  const batches = outcomes.map((outcome, at) => {
    const batch = batchAt(webhookNumber, at);
    const { firstOffset, lastOffset, attemptNumber } = batch;
    const of = { id: ids.uuid(), webhookNumber, batchId: batch.id, firstOffset, lastOffset, attemptNumber };
    return { batch, fate: outcome.fate, attempt: outcome.attempt === null ? null : { ...outcome.attempt, ...of } };
  });
  const settlement: Settlement = {
    webhookNumber,
    owner: OWNER,
    batches,
    now: NOW,
    health: changed,
    changes: [],
    audit: null,
    wakeAt,
    next,
  };
  return { hold: hold(webhookNumber), settlement, claim: next };
}

const alone = async (database: Database, work: TurnWork): Promise<Statement[]> => [
  guardStatement(work.hold),
  ...(work.settlement === null
    ? claimStatements(work.claim as Claim)
    : await settlementStatements(database, work.settlement)),
];

describe('claims and settlements of a turn', () => {
  it('leave the same rows as when each is written separately', async (t) => {
    const webhooks = 6;
    const { database, reset, rowsOf, write } = await open(t, 2 * webhooks);
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: webhooks, maxLength: webhooks }), async (happenings) => {
        await reset();
        await Promise.all(happenings.map((one, at) => write(workOf(at + 1, one))));
        for (const [at, one] of happenings.entries())
          await database.commit(await alone(database, workOf(webhooks + at + 1, one)));
        for (let at = 1; at <= webhooks; at += 1) assert.deepEqual(await rowsOf(at), await rowsOf(webhooks + at));
      }),
      { numRuns: 25 },
    );
  });

  it('are each refused separately', async (t) => {
    const { database, rowsOf, write } = await open(t, 4);
    const all: Happening = {
      outcomes: [{ fate: { kind: 'delivered', at: NOW }, attempt: null }],
      health: null,
      wakeAt: null,
      claim: { retries: 1, fresh: 1, notBefore: 0, idleAt: NOW + 9, isOutdated: false },
    };
    await database.run(`
      UPDATE batch SET lease_owner = 'another' WHERE webhook_number = 1 AND first_offset = 0;
      UPDATE webhook_progress SET cursor_offset = 22 WHERE webhook_number = 2;
      UPDATE webhook_progress SET epoch = 2 WHERE webhook_number = 3`);
    const before = await Promise.all([1, 2, 3].map(rowsOf));
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map((webhookNumber) => write(workOf(webhookNumber, all))));
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as Error).name : 'written')),
      ['StaleWrite', 'StaleWrite', 'StaleWrite', 'written'],
    );
    assert.deepEqual(await Promise.all([1, 2, 3].map(rowsOf)), before);
    assert.equal((await rowsOf(4)).progress[0]?.cursor_offset, 22);
  });

  it('of one webhook are written one after another', async (t) => {
    const { rowsOf, write } = await open(t, 1);
    const outcomes = [0, 1, 2].map((at) => {
      const batch = batchAt(1, at);
      const batches = [{ batch, fate: { kind: 'delivered', at: NOW } as const, attempt: null }];
      return {
        webhookNumber: 1,
        owner: OWNER,
        batches,
        now: NOW,
        health: null,
        changes: [],
        audit: null,
        wakeAt: null,
        next: null,
      };
    });
    await Promise.all(outcomes.map((settlement) => write({ hold: hold(1), settlement, claim: null })));
    const { progress, batches } = await rowsOf(1);
    assert.equal(progress[0]?.pending_records, 14);
    assert.equal(batches.filter(({ state }) => state === 'delivered').length, 3);
  });

  it('drop the response to a record that was erased in the meantime', async (t) => {
    const { database, rowsOf, write } = await open(t, 2);
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
    await Promise.all([1, 2].map((n) => write(workOf(n, { outcomes, health: null, wakeAt: null, claim: null }))));
    const bodies = await Promise.all([1, 2].map(async (n) => (await rowsOf(n)).attempts[0]));
    assert.deepEqual(
      bodies.map((row) => [row?.response_body === null, row?.response_headers]),
      [
        [true, null],
        [false, '{"a":"b"}'],
      ],
    );
  });

  it('update the progress of webhooks on their page, so that indexes and tables do not grow', async (t) => {
    const { database, write } = await open(t, 8);
    const hot = async (): Promise<{ updates: number; onPage: number }> => {
      const row = await database.get(
        `SELECT n_tup_upd AS updates, n_tup_hot_upd AS on_page FROM pg_stat_user_tables WHERE relname = 'webhook_progress'`,
        {},
      );
      return { updates: Number(row?.updates), onPage: Number(row?.on_page) };
    };
    const flush = { sql: 'SELECT pg_stat_force_next_flush()', params: {} };
    const before = await hot();
    const nothing: Happening = { outcomes: [], health: null, wakeAt: null, claim: null };
    for (let round = 0; round < 200; round += 1) {
      const wakeAt = NOW - round;
      await Promise.all(
        Array.from({ length: 8 }, (_, at) => write(workOf(at + 1, { ...nothing, wakeAt, outcomes: [] }))),
      );
    }
    let after = await hot();
    // Each connection reports its own figures.
    while (after.updates - before.updates < 1600) {
      await Promise.all(Array.from({ length: 8 }, () => database.commit([flush])));
      after = await hot();
    }
    const share = (after.onPage - before.onPage) / (after.updates - before.updates);
    assert.ok(share > 0.9, `only ${share} of the updates are HOT`);
  });

  it('exclude changes of state and halved batches', () => {
    const batch = batchAt(1, 0);
    const settlement = {
      webhookNumber: 1,
      owner: OWNER,
      batches: [],
      now: NOW,
      health: null,
      changes: [],
      audit: null,
      wakeAt: null,
      next: null,
    };
    assert.equal(isPlain(settlement), true);
    const halved = { batch, fate: { kind: 'halve', at: NOW, halfIds: ['a', 'b'] } as const, attempt: null };
    assert.equal(isPlain({ ...settlement, batches: [halved] }), false);
    assert.equal(isPlain({ ...settlement, changes: [{} as never] }), false);
  });
});
