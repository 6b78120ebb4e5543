/** The steps from earlier versions of schema.sql. A test keeps those files, and compares a migrated database with a new one. */
import { readAsset } from '../../kernel/assets.ts';
import { statementOf, tablesOf } from '../shared/schema-parts.ts';

/** A step to `version` from the version before. Programs with a schema version from `oldestProgram` on still work after it. */
export type Migration = { readonly version: number; readonly oldestProgram: number; readonly sql: string };

const FUNCTIONS = ['wait_for_standby', 'publish_event', 'publish_events'];
const TABLES = ['webhook_progress', 'webhook_position', 'webhook_hold', 'webhook_change', 'webhook_status'];

/** The same as on SQLite. Nobody holds a webhook. */
const APPEND_ONLY = (schema: string): string => `
  CREATE TABLE webhook_progress_1 AS SELECT * FROM webhook_progress;
  DROP TABLE webhook_wake;
  DROP TABLE webhook_progress;
  DROP FUNCTION keep_webhook_wake();
  DROP FUNCTION run_again(text);
  ${tablesOf(schema, TABLES)}
  ${FUNCTIONS.map((name) => statementOf(schema, `CREATE FUNCTION ${name}`)).join('\n')}
  INSERT INTO webhook_progress (webhook_number, pulled, state, state_reason, state_detail, state_at, session_id, session_at, base_offset,
    failing_since_at, failure_streak, probe_at, dead_streak, resume_at)
  SELECT webhook_number, pulled, state, state_reason, state_detail, state_at, session_id, session_at, next_offset, failing_since_at,
    failure_streak, probe_at, dead_streak, resume_at
  FROM webhook_progress_1;
  INSERT INTO webhook_position (webhook_number, covered_offset, pending_records, sent_at)
  SELECT webhook_number, cursor_offset, pending_records, sent_at FROM webhook_progress_1;
  DROP TABLE webhook_progress_1;
  ALTER TABLE batch RESET (fillfactor, autovacuum_vacuum_scale_factor);
  UPDATE batch
  SET lease_owner = NULL, next_attempt_at = least(next_attempt_at, CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint))
  WHERE lease_owner IS NOT NULL;`;

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 2,
    // Programs of version 1 rewrite columns that are gone.
    oldestProgram: 2,
    get sql() {
      return APPEND_ONLY(readAsset('postgres/schema.sql'));
    },
  },
];
