/** Acknowledgements of webhooks in mode `pull` (`webhook_position`, `batch`), and the ends of logs for readers that wait for records. */
import { BATCH_RECORDS_MAX } from '../../../domain/limits.ts';
import type { Database, Statement } from '../../port/database.ts';
import type { Acknowledgement, LogEnd, PullStore } from '../../port/pull.ts';
import { readRow } from '../table.ts';
import { stateStatements } from '../webhooks/webhooks.ts';

const MOVE_CURSOR = `
  UPDATE webhook_position SET covered_offset = @through + 1, sent_at = @at
  WHERE webhook_number = @webhookNumber AND covered_offset = @from AND EXISTS (
    SELECT 1 FROM webhook_status AS p
    WHERE p.webhook_number = @webhookNumber AND p.next_offset > @through AND p.pulled AND p.state IN ('started', 'running'))`;
const BEGIN_SESSION = `
  UPDATE webhook_progress SET session_id = @sessionId, session_at = @sessionAt WHERE webhook_number = @webhookNumber`;
// The records belong to no batch yet, and batches of a log do not overlap. Other statements rely on their length (BATCH_RECORDS_MAX). If
// another acknowledgement came first, nothing is inserted and `MOVE_CURSOR` reports the race. Otherwise its batch would violate the primary
// key.
const ADD_BATCHES = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, settled_at)
  SELECT @webhookNumber, CAST(b.value ->> 0 AS BIGINT), CAST(b.value ->> 1 AS BIGINT), b.value ->> 2, 'delivered', 0, 0, @at
  FROM tuples(@batches) AS b
  WHERE NOT EXISTS (SELECT 1 FROM batch WHERE webhook_number = @webhookNumber AND first_offset = @from)`;
const ENDS = `
  SELECT p.webhook_number, p.next_offset FROM numbers(@webhookNumbers) AS wanted CROSS JOIN webhook_status AS p
  WHERE p.webhook_number = wanted.value`;

export function pullStore(db: Database): PullStore {
  return {
    acknowledge: async (acknowledgement) => {
      const { change } = acknowledgement;
      const changed = await stateStatements(db, change === null ? [] : [change]);
      await db.commit([...changed, ...acknowledgeStatements(acknowledgement)]);
    },
    ends: async (webhookNumbers) =>
      (await db.all(ENDS, { webhookNumbers: JSON.stringify(webhookNumbers) })).map((row) => readRow<LogEnd>(row)),
  };
}

function acknowledgeStatements({ webhookNumber, from, through, at, session, newId }: Acknowledgement): Statement[] {
  const batches: [number, number, string][] = [];
  for (let first = from; first <= through; first += BATCH_RECORDS_MAX)
    batches.push([first, Math.min(through, first + BATCH_RECORDS_MAX - 1), newId()]);
  return [
    { sql: MOVE_CURSOR, params: { webhookNumber, from, through, at }, expectChanges: 1 },
    ...(session === null
      ? []
      : [{ sql: BEGIN_SESSION, params: { webhookNumber, sessionId: session.id, sessionAt: session.at } }]),
    { sql: ADD_BATCHES, params: { webhookNumber, from, at, batches: JSON.stringify(batches) } },
  ];
}
