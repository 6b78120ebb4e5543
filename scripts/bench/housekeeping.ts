/**
 * How long housekeeping and erasure hold the database: every step's own statements and the commit that it takes part in, of a log of
 * 1 KiB events, on a file at `synchronous=FULL`; and how long another writer, which commits a small event again and again, waits for
 * its turn with and without them, and the event loop for its own. As in a server, threads write and copy the log into the file.
 * Absolute figures belong to one machine and its disk.
 *
 *     node scripts/run.mjs scripts/bench/housekeeping.ts [records]
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { createErasures } from '../../src/events/erase.ts';
import { createHousekeeping } from '../../src/housekeeping/housekeeping.ts';
import { createIds, randomBytes } from '../../src/kernel/ids.ts';
import { createVault, MASTER_KEY_BYTES } from '../../src/kernel/vault.ts';
import { createLog } from '../../src/observe/log.ts';
import type { Database, WriteTime } from '../../src/store/database.ts';
import { createStore } from '../../src/store/sql/store.ts';
import { createSchema } from '../../src/store/sqlite/driver/schema.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';

const RECORDS = Number(process.argv[2] ?? 60_000);
const DAY_MS = 86_400_000;
const START = Date.parse('2026-11-21T05:00:00Z');

const folder = mkdtempSync(join(tmpdir(), 'bench-'));
const path = join(folder, 'sallyport.db');
const fail = (error: Error): never => {
  throw error;
};
const database = openSqlite(path, { writerThread: { onEnd: fail, onCheckpointFailure: fail } });
createSchema(database, readFileSync(new URL('../../schema.sql', import.meta.url), 'utf8'));
let at = START;
const clock = (): number => at;
const ids = createIds(clock, randomBytes);
const steps = new Map<string, WriteTime[]>();
// What each commit of an erasure holds, as the steps of housekeeping tell of theirs.
const told: Database = {
  ...database,
  commit: (list, onWritten) => database.commit(list, (took) => tell('erasure', took, onWritten)),
};
const store = createStore(database, createVault(randomBytes(MASTER_KEY_BYTES), randomBytes), ids);
const erasures = createStore(told, createVault(randomBytes(MASTER_KEY_BYTES), randomBytes), ids);
const housekeeping = createHousekeeping({
  checkClock: async () => undefined,
  ...{ store, clock, ids, log: createLog('error'), wake: () => {} },
  retention: { deliveredDays: 30, deadDays: 90, attemptsDays: 30 },
  observe: (task, { rows, took }) => void (rows > 0 && tell(task, took)),
});

try {
  database.connection.pragma('synchronous = OFF');
  const [log, deleted] = [addWebhook(), addWebhook()];
  fill(log);
  fill(deleted);
  fillTokens();
  database.connection.pragma('wal_checkpoint(TRUNCATE)');
  database.connection.pragma('synchronous = FULL');
  // Earlier writes must not burden the first measured commit.
  execFileSync('sync');
  console.log(`${RECORDS} records in each of two logs, ${RECORDS} tokens; ${megabytes()} MB, ${pages()} pages`);

  await waits('a writer alone', () => sleep(3000));
  const { erase } = createErasures({ store: erasures, clock, ids, log: createLog('warn'), replyMs: 600_000 });
  await waits('beside an erasure', async () => report('erasure', await erase({ subject: 'jane' }, COMMAND_LINE)));
  const beforeRemoval = performance.now();
  await store.webhooks.remove(`webhook ${deleted}`, {
    id: ids.uuid(),
    at,
    actor: 'bench',
    action: 'webhook.delete',
    target: 'z',
    customerId: null,
    changes: {},
  });
  console.log(`deleting the webhook: ${(performance.now() - beforeRemoval).toFixed(1)} ms`);
  at += 31 * DAY_MS;
  await waits('beside housekeeping', () => housekeeping.runOnce());
  for (const task of steps.keys()) report(task);
  console.log(
    `left: ${rowsOf('outbox')} records, ${rowsOf('event')} events, ${rowsOf('attempt')} attempts, ${rowsOf('access_token')} tokens`,
  );
} finally {
  await database.close();
  rmSync(folder, { recursive: true });
}

function tell(task: string, took: WriteTime, onWritten?: (took: WriteTime) => void): void {
  onWritten?.(took);
  const all = steps.get(task) ?? [];
  all.push(took);
  steps.set(task, all);
}

function addWebhook(): number {
  const { connection } = database;
  connection.exec(
    `INSERT OR IGNORE INTO endpoint
       (id, name, url, api_key, secret, secret_created_at, token_challenge, verified, enabled, enable_when_verified, created_at, updated_at)
     VALUES ('e', 'e', 'https://receiver.example/', x'00', x'00', 1, 0, 0, 1, 1, 1, 1)`,
  );
  const { lastInsertRowid } = connection
    .prepare(
      `INSERT INTO webhook (id, name, endpoint_id, event_types, custom_headers, ordered, max_batch_records, retry_policy, max_attempts,
         standard_webhooks, heartbeat_seconds, timeout_seconds, created_at, updated_at)
       VALUES ('webhook ' || (SELECT count(*) + 1 FROM webhook), 'w', 'e', '["*"]', '[]', 0, 100, 'linear', 20, 0, 0, 15, 1, 1)`,
    )
    .run();
  connection
    .prepare(
      `INSERT INTO webhook_progress (webhook_number, state, state_at, next_offset, cursor_offset, failure_streak, dead_streak)
       VALUES (?, 'running', 1, ?, ?, 0, 0)`,
    )
    .run(lastInsertRowid, RECORDS, RECORDS);
  return Number(lastInsertRowid);
}

/** A log of batches of ten records, one in twenty of them dead, each with an attempt; every hundredth event is about one person. */
function fill(webhook: number): void {
  const { connection } = database;
  const text = 'x'.repeat(1000);
  const event = connection.prepare(
    `INSERT INTO event (key, id, type, data, subject, correlation_id, created_at) VALUES (?, ?, 'order.placed', ?, ?, ?, ?)`,
  );
  const record = connection.prepare(
    'INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes) VALUES (?, ?, ?, 1000)',
  );
  const batch = connection.prepare(
    `INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, settled_at)
     VALUES (?, ?, ?, ?, ?, 1, 0, ?)`,
  );
  const attempt = connection.prepare(
    `INSERT INTO attempt (key, id, webhook_number, kind, first_offset, last_offset, attempt_number, started_at, request_headers,
       response_status, response_headers, response_body, timings) VALUES (?, ?, ?, 'delivery', ?, ?, 1, ?, ?, 200, '{}', x'6f6b', '{}')`,
  );
  connection.exec('BEGIN');
  for (let n = 0; n < RECORDS; n += 1) {
    const [id, key] = [ids.uuid(), ids.rowKey()];
    event.run(key, id, `{"n":${n},"text":"${text}"}`, n % 100 === 0 ? 'jane' : `person ${n}`, id, at);
    record.run(webhook, n, key);
    if (n % 10 !== 9) continue;
    batch.run(webhook, n - 9, n, id, n % 200 === 199 ? 'dead' : 'delivered', at);
    attempt.run(ids.rowKey(), id, webhook, n - 9, n, at, JSON.stringify({ authorization: 'x'.repeat(150) }));
  }
  connection.exec('COMMIT');
}

function fillTokens(): void {
  const token = database.connection.prepare(
    `INSERT INTO access_token (key, hash, application_id, scope, expires_at) VALUES (?, ?, 'application', 'employees:view', ?)`,
  );
  database.connection.exec('BEGIN');
  for (let n = 0; n < RECORDS; n += 1)
    token.run(ids.rowKey(), randomBytes(32), at + (n % 2 === 0 ? DAY_MS : 40 * DAY_MS));
  database.connection.exec('COMMIT');
}

/** How long a small commit takes from being asked for to being durable, again and again while the work goes on. */
async function waits(what: string, work: () => Promise<unknown>): Promise<void> {
  const took: number[] = [];
  let over = false;
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const startedAt = performance.now();
  const working = work().finally(() => {
    over = true;
  });
  while (!over) {
    const askedAt = performance.now();
    await store.settings.proveWritable(at);
    took.push(performance.now() - askedAt);
    await sleep(1);
  }
  await working;
  delay.disable();
  const loop = [50, 99, 100].map((share) => (delay.percentile(share) / 1e6).toFixed(2));
  console.log(
    `${what}: ${quantiles(took)}, ${took.length} commits in ${((performance.now() - startedAt) / 1000).toFixed(1)} s; event loop's delay p50 ${loop[0]}, p99 ${loop[1]}, most ${loop[2]} ms`,
  );
}

function report(task: string, result?: unknown): void {
  const took = steps.get(task) ?? [];
  const both = took.map(({ statementsMs, commitMs }) => statementsMs + commitMs);
  if (result !== undefined) console.log(JSON.stringify(result));
  console.log(
    `  ${task}: ${took.length} steps; statements ${quantiles(took.map(({ statementsMs }) => statementsMs))}; with their commit ${quantiles(both)}`,
  );
}

function quantiles(all: readonly number[]): string {
  const sorted = all.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)} ms`;
}

function rowsOf(table: string): number {
  return Number(database.connection.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
}

function pages(): number {
  return Number(database.connection.pragma('page_count', { simple: true }));
}

function megabytes(): number {
  return Math.round(statSync(path).size / 1_000_000);
}
