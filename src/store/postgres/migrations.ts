/** The steps from earlier versions of schema.sql. A test keeps those files, and compares a migrated database with a new one. */
import { readAsset } from '../../kernel/assets.ts';
import { statementOf, tablesOf } from '../shared/schema-parts.ts';

/** A step to `version` from the version before. Programs with a schema version from `oldestProgram` on still work after it. */
export type Migration = { readonly version: number; readonly oldestProgram: number; readonly sql: string };

const FUNCTIONS = ['wait_for_standby', 'publish_event', 'publish_events'];
const TABLES = ['webhook_progress', 'webhook_position', 'webhook_hold', 'webhook_change', 'webhook_status'];

/**
 * Adds columns to a table, and replaces checks, as `schema` has them. `added` and `checked`: new columns, and columns with another check.
 * PostgreSQL numbers the checks of a table in the order of the statement, so all of them get the names of a new database.
 */
function altered(schema: string, table: string, { added = '', checked = '' }): string {
  const lines = statementOf(schema, `CREATE TABLE ${table}`).matchAll(/^ {2}(\w+) +(.*?),?(?: *--.*)?$/gm);
  const parts = Array.from(lines, ([, name = '', rest = '']) => ({ name, rest }));
  const check = (name: string, condition: string): string =>
    `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${name}, ADD CONSTRAINT ${name} ${condition};`;
  return [
    ...added
      .split(' ')
      .flatMap((name) => parts.filter((part) => part.name === name))
      .map(({ name, rest }) => `ALTER TABLE ${table} ADD COLUMN ${name} ${rest};`),
    ...parts
      .filter(({ name }) => checked.split(' ').includes(name))
      .map(({ name, rest }) => check(`${table}_${name}_check`, rest.slice(rest.indexOf('CHECK')))),
    ...parts
      .filter(({ name }) => name === 'CHECK')
      .map(({ rest }, at) => check(`${table}_check${at === 0 ? '' : at}`, `CHECK ${rest}`)),
  ].join('\n');
}

/** The same as on SQLite. */
const RECEIVERS = (schema: string): string => `
  ${altered(schema, 'portal_link', { added: 'renew_url' })}
  ${altered(schema, 'session', { checked: 'method' })}
  ${altered(schema, 'endpoint', {
    added:
      'signature_type signing_key public_key next_signing_key next_public_key send_api_key authentication next_authentication ' +
      'next_authentication_at request_headers verification allowed_requests_per_minute',
  })}
  ${altered(schema, 'event_type', { added: 'source search_paths' })}
  ALTER TABLE webhook ALTER COLUMN ordered TYPE text COLLATE "C" USING CASE WHEN ordered THEN 'webhook' ELSE 'none' END;
  ${altered(schema, 'webhook', { added: 'format batch thin retry_delays_seconds signature', checked: 'ordered retry_policy' })}
  ${tablesOf(schema, ['event_term', 'event_term_progress'])}`;

/** The same as on SQLite. */
const ORDER_BY_KEY = (schema: string): string => `
  ALTER TABLE event ADD COLUMN ordering_key text COLLATE "C";
  ${statementOf(schema, 'CREATE INDEX event_of_key')}
  ${altered(schema, 'batch', { added: 'order_key' })}
  ${statementOf(schema, 'CREATE INDEX batch_order_key')}`;

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
  // Programs of version 1 rewrite columns that are gone.
  step(2, 2, (schema) => RECEIVERS(schema) + ORDER_BY_KEY(schema) + APPEND_ONLY(schema)),
  // Programs of version 2 do not look for the indexes of later versions.
  step(3, 2, (schema) => statementOf(schema, 'CREATE INDEX event_of_audience_key')),
  step(
    4,
    2,
    (schema) =>
      statementOf(schema, 'CREATE INDEX audit_kind') + statementOf(schema, 'CREATE INDEX audit_customer_kind'),
  ),
];

/** Reads the schema only when the step is taken. */
function step(version: number, oldestProgram: number, sqlOf: (schema: string) => string): Migration {
  return {
    version,
    oldestProgram,
    get sql() {
      return sqlOf(readAsset('postgres/schema.sql'));
    },
  };
}
