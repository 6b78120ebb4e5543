/** Attempts (`attempt`): every request that was sent for a webhook, and what came of it. */

import { rowKeyOf } from '../ids.ts';
import type { Timings } from '../outbound/outcome.ts';
import type { Database, Row, Statement } from './database.ts';
import { CARRIED_ERASED } from './erasure.ts';

export type AttemptKind = 'delivery' | 'heartbeat' | 'test';

export type AttemptRecord = {
  readonly id: string;
  readonly webhookNumber: number;
  readonly kind: AttemptKind;
  readonly batchId: string | null;
  readonly firstOffset: number | null;
  readonly lastOffset: number | null;
  readonly attemptNumber: number;
  readonly startedAt: number;
  /** As sent, secrets masked. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly responseStatus: number | null;
  readonly responseHeaders: Readonly<Record<string, string>> | null;
  readonly responseBody: Uint8Array | null;
  /** Null: delivered. */
  readonly errorClass: string | null;
  readonly errorMessage: string | null;
  readonly timings: Timings;
};

const INSERT = `
  INSERT INTO attempt (key, id, webhook_number, kind, batch_id, first_offset, last_offset, attempt_number, started_at,
    request_headers, response_status, response_headers, response_body, error_class, error_message, timings)
  SELECT @key, @id, @webhookNumber, @kind, @batchId, @firstOffset, @lastOffset, @attemptNumber, @startedAt, @requestHeaders,
    @responseStatus, iif(erased, NULL, @responseHeaders), iif(erased, NULL, @responseBody), @errorClass, @errorMessage, @timings
  FROM (SELECT ${CARRIED_ERASED} AS erased)`;
// Served by attempt_record: a batch has at most 1000 records, so one that covers the offset begins at most 999 before it.
const OF_RECORD = `
  SELECT * FROM attempt
  WHERE webhook_number = @webhookNumber AND first_offset BETWEEN @offset - 999 AND @offset AND last_offset >= @offset
  ORDER BY key LIMIT @limit`;

export function attemptStatement(attempt: AttemptRecord): Statement {
  const { responseHeaders, requestHeaders, timings, ...plain } = attempt;
  return {
    sql: INSERT,
    params: {
      ...plain,
      key: rowKeyOf(attempt.id),
      requestHeaders: JSON.stringify(requestHeaders),
      responseHeaders: responseHeaders === null ? null : JSON.stringify(responseHeaders),
      timings: JSON.stringify(timings),
    },
  };
}

export type AttemptStore = {
  insert(attempt: AttemptRecord): Promise<void>;
  /** The attempts that carried a record, oldest first. */
  ofRecord(webhookNumber: number, offset: number, limit: number): Promise<AttemptRecord[]>;
};

export function attemptStore(db: Database): AttemptStore {
  return {
    insert: async (attempt) => void (await db.commit([attemptStatement(attempt)])),
    ofRecord: async (webhookNumber, offset, limit) =>
      (await db.all(OF_RECORD, { webhookNumber, offset, limit })).map(read),
  };
}

function read(row: Row): AttemptRecord {
  return {
    id: String(row.id),
    webhookNumber: Number(row.webhook_number),
    kind: row.kind as AttemptKind,
    batchId: row.batch_id as string | null,
    firstOffset: row.first_offset as number | null,
    lastOffset: row.last_offset as number | null,
    attemptNumber: Number(row.attempt_number),
    startedAt: Number(row.started_at),
    requestHeaders: JSON.parse(String(row.request_headers)) as Record<string, string>,
    responseStatus: row.response_status as number | null,
    responseHeaders:
      row.response_headers === null ? null : (JSON.parse(String(row.response_headers)) as Record<string, string>),
    responseBody: row.response_body as Uint8Array | null,
    errorClass: row.error_class as string | null,
    errorMessage: row.error_message as string | null,
    timings: JSON.parse(String(row.timings)) as Timings,
  };
}
