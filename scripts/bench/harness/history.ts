/**
 * A data folder that has been in use for long: a webhook whose log has so many delivered records, ten to a batch, each batch with its
 * attempt; tokens; and a tenth as many records of another webhook that are stuck, since its endpoint is not reached. Made by SQL,
 * without waiting for the disk, into a folder that has had its first start.
 */
import { randomBytes } from 'node:crypto';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { DATABASE_FILE } from '../../../src/data/data-folder.ts';
import { hashCredential, mintToken } from '../../../src/domain/credential.ts';

/** Of the webhooks and the application in the folder. */
export type HistoryParts = {
  readonly historyWebhook: number;
  readonly stuckWebhook: number;
  readonly applicationId: string;
  readonly scope: string;
};

const TOKENS_MAX = 1_000_000;
/** Tokens that can be used: more than the service keeps in memory, so that each is looked up. */
const USABLE_TOKENS = 20_000;
const BATCH = 10;
/** Between two events: five million of them fit into a day, which is less than anything is kept. */
export const SPACING_MS = 15;
const COUNTERS_PER_MS = 2048;
const HOUR_MS = 3_600_000;

/** One batch in a hundred is dead: enough for a whole page of them at the smallest size too. */
const STATE = `CASE WHEN n % 100 = 99 THEN 'dead' ELSE 'delivered' END`;
const UUID = (ms: string, n: string): string =>
  `substr(printf('%012x', ${ms}), 1, 8) || '-' || substr(printf('%012x', ${ms}), 9) || '-7000-8' || ` +
  `printf('%03x', ${n} % 4096) || '-' || printf('%012x', ${n})`;
const COUNT = 'WITH RECURSIVE c (n) AS (SELECT @from UNION ALL SELECT n + 1 FROM c WHERE n + 1 < @to)';
const AT = `@start + n * ${SPACING_MS}`;

const EVENTS = `${COUNT}
  INSERT INTO event (key, id, type, data, correlation_id, created_at)
  SELECT (${AT}) * ${COUNTERS_PER_MS}, ${UUID(AT, 'n')}, 'bench.event0', '{"n":' || n ||
    ',"text":"what a record of history holds"}', 'bench', ${AT} FROM c`;
const OUTBOX = `${COUNT}
  INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes) SELECT @webhook, n, (${AT}) * ${COUNTERS_PER_MS}, 48 FROM c`;
const BATCHES = `${COUNT}
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, settled_at)
  SELECT @webhook, n * ${BATCH}, n * ${BATCH} + ${BATCH - 1}, ${UUID(`(${AT})`, 'n')}, ${STATE}, 1, 0, @start + (n + 1) *
    ${BATCH * SPACING_MS} FROM c`;
const ATTEMPTS = `${COUNT}
  INSERT INTO attempt (key, id, webhook_number, kind, batch_id, first_offset, last_offset, attempt_number, started_at, request_headers,
    response_status, response_headers, response_body, timings)
  SELECT (@start + n * ${BATCH * SPACING_MS}) * ${COUNTERS_PER_MS} + 1, ${UUID(`(${AT})`, 'n')}, @webhook, 'delivery',
    ${UUID(`(${AT})`, 'n')},
    n * ${BATCH}, n * ${BATCH} + ${BATCH - 1}, 1, @start + n * ${BATCH * SPACING_MS},
      '{"content-type":"application/json","authorization":"HMAC-SHA256 SignedHeaders=x-content-sha256;date"}',
    200, '{"content-length":"0"}', x'', '{"totalMs":4}' FROM c`;
const STUCK = `${COUNT}
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at)
  SELECT @webhook, n, n, ${UUID('@start', 'n')}, 'pending', 1, 0, @start FROM c`;
const STUCK_OUTBOX = `${COUNT}
  INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes) SELECT @webhook, n, @start * ${COUNTERS_PER_MS}, 48 FROM c`;
const TOKENS = `${COUNT}
  INSERT INTO access_token (key, hash, application_id, scope, expires_at)
  SELECT (@start + n) * ${COUNTERS_PER_MS}, randomblob(32), @application, @scope, @expiresAt FROM c`;

/** Brings a folder from `from` rows to `to`; answers the tokens that can be used, which are made at the first time. */
export function addHistory(dataDir: string, parts: HistoryParts, from: number, to: number, now: number): string[] {
  const database = new BetterSqlite3(join(dataDir, DATABASE_FILE));
  try {
    database.pragma('synchronous = OFF');
    database.pragma('cache_size = -200000');
    const start = now - 24 * HOUR_MS;
    const run = (sql: string, params: Record<string, number | string>): void => void database.prepare(sql).run(params);
    const tokens = (rows: number): number => Math.min(TOKENS_MAX, Math.max(rows, USABLE_TOKENS));
    database.exec('BEGIN');
    const webhook = parts.historyWebhook;
    run(EVENTS, { from, to, start });
    run(OUTBOX, { from, to, start, webhook });
    run(BATCHES, { from: from / BATCH, to: to / BATCH, start, webhook });
    run(ATTEMPTS, { from: from / BATCH, to: to / BATCH, start, webhook });
    const stuck = { from: Math.floor(from / BATCH), to: to / BATCH, start, webhook: parts.stuckWebhook };
    run(STUCK_OUTBOX, stuck);
    run(STUCK, stuck);
    if (from === 0 || tokens(to) > tokens(from)) {
      const [first, last] = [from === 0 ? 0 : tokens(from), tokens(to)];
      const { applicationId: application, scope } = parts;
      run(TOKENS, {
        from: first,
        to: last,
        start: start - TOKENS_MAX,
        application,
        scope,
        expiresAt: now + 24 * HOUR_MS,
      });
    }
    database.prepare('UPDATE webhook_position SET covered_offset = ? WHERE webhook_number = ?').run(to, webhook);
    // It was looked at just now and did not answer: the next look is an hour away.
    database
      .prepare(
        `UPDATE webhook_progress SET state = 'failing', failing_since_at = @now, failure_streak = 20, probe_at = @later
         WHERE webhook_number = @webhook`,
      )
      .run({ now, later: now + HOUR_MS, webhook: parts.stuckWebhook });
    database
      .prepare(
        'UPDATE webhook_position SET covered_offset = @stuck, pending_records = @stuck WHERE webhook_number = @webhook',
      )
      .run({ stuck: to / BATCH, webhook: parts.stuckWebhook });
    const usable = from === 0 ? useTokens(database, start - TOKENS_MAX) : [];
    database.exec('COMMIT');
    database.pragma('wal_checkpoint(TRUNCATE)');
    return usable;
  } finally {
    database.close();
  }
}

/** The same folder once more, for another size. */
export function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true });
}

/** Makes the first tokens ones whose text is known. */
function useTokens(database: BetterSqlite3.Database, start: number): string[] {
  const update = database.prepare('UPDATE access_token SET hash = ? WHERE key = ?');
  return Array.from({ length: USABLE_TOKENS }, (_, n) => {
    const key = (start + n) * COUNTERS_PER_MS;
    const token = mintToken(key, randomBytes);
    update.run(hashCredential(token), key);
    return token;
  });
}
