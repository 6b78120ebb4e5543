/** Erasure of one person's data (`event`, `attempt`): overwritten in place, in steps, with nothing of it left in the file. */

import type { AuditEntry } from '../audit.ts';
import { ERASURE_UNDER_WAY_MS } from '../housekeeping-limits.ts';
import { auditStatement } from './audit.ts';
import type { Database, Statement } from './database.ts';
import { overwriteLeftovers, type RowLayout } from './leftovers.ts';
import { measured, type StepResult } from './steps.ts';

const EVENT: RowLayout = {
  table: 'event',
  columns: ['id', 'type', 'data', 'subject', 'correlation_id', 'actor_id', 'created_at', 'erased_at', 'content_hash'],
};
const ATTEMPT: RowLayout = {
  table: 'attempt',
  columns: [
    ...['id', 'webhook_number', 'kind', 'batch_id', 'first_offset', 'last_offset', 'attempt_number', 'started_at'],
    ...[
      'request_headers',
      'response_status',
      'response_headers',
      'response_body',
      'error_class',
      'error_message',
      'timings',
    ],
  ],
};

// Served by event_subject. Those erased before are gone over again, for the sake of attempts that were under way then.
const EVENTS = `
  SELECT key, erased_at FROM event WHERE subject = @subject AND key > @after AND key <= @through ORDER BY key LIMIT @limit`;
const THROUGH = 'SELECT max(key) AS key FROM event WHERE subject = @subject';
// A record without a batch waits; one whose batch is pending does too, or is on its way.
const COUNT_DISCARDED = `
  SELECT count(*) AS records
  FROM event AS e CROSS JOIN outbox AS o ON o.event_key = e.key
  LEFT JOIN batch AS b ON b.webhook_number = o.webhook_number AND b.last_offset >= o.record_offset AND b.first_offset =
    (SELECT max(first_offset) FROM batch WHERE webhook_number = o.webhook_number AND first_offset <= o.record_offset)
  WHERE e.key IN (SELECT value FROM json_each(@keys)) AND e.erased_at IS NULL AND coalesce(b.state, 'pending') = 'pending'`;
const ERASE = `
  UPDATE event SET data = NULL, content_hash = NULL, erased_at = @at
  WHERE key IN (SELECT value FROM json_each(@keys)) AND erased_at IS NULL`;
// Served by attempt_record: a batch has at most 1000 records, so one that covers the offset begins at most 999 before it.
const ANSWERED = `
  SELECT a.key
  FROM json_each(@keys) AS erased CROSS JOIN outbox AS o ON o.event_key = erased.value
  CROSS JOIN attempt AS a ON a.webhook_number = o.webhook_number
    AND a.first_offset BETWEEN o.record_offset - 999 AND o.record_offset AND a.last_offset >= o.record_offset
  WHERE a.response_body IS NOT NULL OR a.response_headers IS NOT NULL`;
const ERASE_ANSWERS = `
  UPDATE attempt SET response_body = NULL, response_headers = NULL WHERE key IN (${ANSWERED})`;

/**
 * Whether an attempt that is being written carried an event that was erased after its records had been read: its answer, which may
 * repeat them, is not kept then. Named parameters as in the insertion of an attempt. Served by event_erased.
 */
export const CARRIED_ERASED = `
  EXISTS (SELECT 1 FROM event AS e CROSS JOIN outbox AS o ON o.event_key = e.key
    WHERE e.erased_at >= @startedAt - ${ERASURE_UNDER_WAY_MS}
      AND o.webhook_number = @webhookNumber AND o.record_offset BETWEEN @firstOffset AND @lastOffset)`;

export type ErasureStep = StepResult & {
  /** The last event that was taken care of. */
  readonly through: number;
  /** What was erased by this step and not before: events, records of them that will not be sent, attempts with an answer. */
  readonly events: number;
  readonly deliveriesDiscarded: number;
  readonly attempts: number;
};

export type ErasureStore = {
  /** The last event about the subject so far, by its key; null when there is none. */
  lastEvent(subject: string): Promise<number | null>;
  /** Erases up to `limit` events of the subject with keys after `after`, not beyond `through`. */
  step(
    erasure: { readonly subject: string; readonly after: number; readonly through: number; readonly at: number },
    limit: number,
  ): Promise<ErasureStep>;
  /** Writes an entry to the audit log. */
  record(entry: AuditEntry): Promise<void>;
  /** Lets go of every copy that the database keeps beside its tables. False: another process is reading it, and it is to be tried again. */
  forgetCopies(): Promise<boolean>;
};

export function erasureStore(database: Database): ErasureStore {
  return {
    lastEvent: async (subject) => {
      const row = await database.get(THROUGH, { subject });
      return row?.key == null ? null : Number(row.key);
    },
    step: ({ at, ...range }, limit) =>
      measured(database, async (db) => {
        const found = await db.all(EVENTS, { ...range, limit });
        const keys = found.map(({ key }) => Number(key));
        const through = keys.at(-1) ?? range.through;
        const params = { keys: JSON.stringify(keys) };
        const answered = (await db.all(ANSWERED, params)).map(({ key }) => Number(key));
        const erased = found.filter(({ erased_at }) => erased_at === null).map(({ key }) => Number(key));
        const statements: Statement[] = [
          { sql: COUNT_DISCARDED, params },
          { sql: ERASE, params: { ...params, at } },
          { sql: ERASE_ANSWERS, params },
          ...(await overwriteLeftovers(db, EVENT, erased, { data: null, content_hash: null, erased_at: at })),
          ...(await overwriteLeftovers(db, ATTEMPT, answered, { response_headers: null, response_body: null })),
        ];
        const [discarded, events, attempts] = keys.length === 0 ? [] : await db.commit(statements);
        return {
          done: keys.length < limit,
          rows: keys.length,
          through,
          events: events?.changes ?? 0,
          deliveriesDiscarded: Number(discarded?.rows[0]?.records ?? 0),
          attempts: attempts?.changes ?? 0,
        };
      }),
    record: async (entry) => void (await database.commit([auditStatement(entry)])),
    forgetCopies: async () => database.forgetOverwritten(),
  };
}
