/** The steps from earlier versions of schema.sql. A test keeps those files, and compares a migrated database with a new one. */
import { readAsset } from '../../../kernel/assets.ts';
import { statementOf, tablesOf } from '../../shared/schema-parts.ts';

export type Migration = {
  /** `PRAGMA user_version` before and after. `migrate` sets it, not the step. */
  readonly from: number;
  readonly to: number;
  /** May rebuild tables that others refer to: references are checked after the last step. */
  readonly sql: string;
};

/**
 * Rebuilds a table as `schema` has it. `values`: the SQL of new columns on a row before, `defaults`: new columns that get their default.
 * The other columns keep their values.
 */
function rebuilt(
  schema: string,
  name: string,
  { values = {}, defaults = '' }: { readonly values?: Readonly<Record<string, string>>; readonly defaults?: string },
): string {
  const [table = '', ...rest] = tablesOf(schema, [name]).split(/(?<=^\).*;)$/m);
  const added = defaults.split(' ');
  const columns = Array.from(table.matchAll(/^ {2}([a-z_]+) /gm), ([, column = '']) => column).filter(
    (column) => !added.includes(column),
  );
  const isNumbered = table.includes('AUTOINCREMENT');
  // Numbers of deleted rows are not given again. A copy of no rows leaves a 0.
  const sequence = `
    INSERT INTO sqlite_sequence (name, seq) SELECT '${name}_next', seq FROM sqlite_sequence WHERE name = '${name}';`;
  return `
    ${table.replace(name, `${name}_next`)}
    ${isNumbered ? sequence : ''}
    INSERT INTO ${name}_next (${columns.join(', ')})
    SELECT ${columns.map((column) => values[column] ?? column).join(', ')} FROM ${name};
    DROP TABLE ${name};
    ALTER TABLE ${name}_next RENAME TO ${name};
    ${isNumbered ? `DELETE FROM sqlite_sequence WHERE name = '${name}' AND seq = 0;` : ''}
    ${rest.join('')}`;
}

/**
 * Positions, claims and times of looks were columns that each event rewrote. Now the next offset follows from the log, from `base_offset`
 * on. Claims are in the memory of the process, so that none is left.
 */
const APPEND_ONLY = (schema: string): string => `
  ${tablesOf(schema, ['webhook_position', 'webhook_change'])}
  INSERT INTO webhook_position (webhook_number, covered_offset, pending_records, sent_at)
  SELECT webhook_number, cursor_offset, pending_records, sent_at FROM webhook_progress;
  ${rebuilt(schema, 'webhook_progress', { values: { base_offset: 'next_offset' } })}
  ${tablesOf(schema, ['webhook_status'])}
  UPDATE batch SET lease_owner = NULL, next_attempt_at = min(next_attempt_at, CAST(strftime('%s', 'now') AS INTEGER) * 1000)
  WHERE lease_owner IS NOT NULL;`;

/** Signatures, authentication, formats and handshakes of endpoints and webhooks; the search in events; tokens and renewals of portals. */
const RECEIVERS = (schema: string): string => `
  ${rebuilt(schema, 'portal_link', { defaults: 'renew_url' })}
  ${rebuilt(schema, 'session', {})}
  ${rebuilt(schema, 'endpoint', {
    defaults:
      'signature_type signing_key public_key next_signing_key next_public_key send_api_key authentication next_authentication ' +
      'next_authentication_at request_headers verification allowed_requests_per_minute',
  })}
  ${rebuilt(schema, 'event_type', { defaults: 'source search_paths' })}
  ${rebuilt(schema, 'webhook', {
    values: { ordered: "CASE ordered WHEN 1 THEN 'webhook' ELSE 'none' END" },
    defaults: 'format batch thin retry_delays_seconds signature',
  })}
  ${tablesOf(schema, ['event_term', 'event_term_progress'])}`;

/** Order by key. An event without a key, and a batch that nobody looked at for its key, have none. */
const ORDER_BY_KEY = (schema: string): string => `
  ALTER TABLE event ADD COLUMN ordering_key TEXT;
  ${statementOf(schema, 'CREATE INDEX event_of_key')}
  ${rebuilt(schema, 'batch', { defaults: 'order_key' })}`;

export const MIGRATIONS: readonly Migration[] = [
  step(2, (schema) => RECEIVERS(schema) + ORDER_BY_KEY(schema) + APPEND_ONLY(schema)),
  step(3, (schema) => statementOf(schema, 'CREATE INDEX event_of_audience_key')),
  step(
    4,
    (schema) =>
      statementOf(schema, 'CREATE INDEX audit_kind') + statementOf(schema, 'CREATE INDEX audit_customer_kind'),
  ),
];

/** From the version before. Reads the schema only when the step is taken. */
function step(to: number, sqlOf: (schema: string) => string): Migration {
  return {
    from: to - 1,
    to,
    get sql() {
      return sqlOf(readAsset('schema.sql'));
    },
  };
}
