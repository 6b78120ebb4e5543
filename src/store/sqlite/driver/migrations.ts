/** The steps from earlier versions of schema.sql. A test keeps those files, and compares a migrated database with a new one. */
import { readAsset } from '../../../kernel/assets.ts';
import { tablesOf } from '../../shared/schema-parts.ts';

export type Migration = {
  /** `PRAGMA user_version` before and after. `migrate` sets it, not the step. */
  readonly from: number;
  readonly to: number;
  /** May rebuild tables that others refer to: references are checked after the last step. */
  readonly sql: string;
};

/** Rebuilds a table as `schema` has it. `values`: the SQL of its new columns on a row before; others keep their values. */
function rebuilt(schema: string, name: string, values: Readonly<Record<string, string>>): string {
  const [table = '', ...rest] = tablesOf(schema, [name]).split(/(?<=^\).*;)$/m);
  const columns = Array.from(table.matchAll(/^ {2}([a-z_]+) /gm), ([, column = '']) => column);
  // Numbers of deleted rows are not given again.
  const sequence = `
    INSERT INTO sqlite_sequence (name, seq) SELECT '${name}_next', seq FROM sqlite_sequence WHERE name = '${name}';`;
  return `
    ${table.replace(name, `${name}_next`)}
    ${table.includes('AUTOINCREMENT') ? sequence : ''}
    INSERT INTO ${name}_next (${columns.join(', ')})
    SELECT ${columns.map((column) => values[column] ?? column).join(', ')} FROM ${name};
    DROP TABLE ${name};
    ALTER TABLE ${name}_next RENAME TO ${name};
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
  ${rebuilt(schema, 'webhook_progress', { base_offset: 'next_offset' })}
  ${tablesOf(schema, ['webhook_status'])}
  UPDATE batch SET lease_owner = NULL, next_attempt_at = min(next_attempt_at, CAST(strftime('%s', 'now') AS INTEGER) * 1000)
  WHERE lease_owner IS NOT NULL;`;

export const MIGRATIONS: readonly Migration[] = [
  {
    from: 1,
    to: 2,
    get sql() {
      return APPEND_ONLY(readAsset('schema.sql'));
    },
  },
];
