/**
 * Copies all data from one database to another: every table in the order of its key, in chunks. Each chunk is one transaction that also
 * records how far the copy is, so an interrupted move continues. Until the last transaction the target cannot be opened for anything else.
 */
import { hash } from 'node:crypto';
import type { AuditEntry } from '../domain/audit.ts';
import type { Database, Row, SqlValue, Statement } from '../store/port/database.ts';
import { ConstraintViolation, StaleWrite } from '../store/port/errors.ts';
import { auditStatement } from '../store/shared/audit.ts';

/** A table and its primary key. A table comes after the tables that it refers to. */
type KeyedTable = {
  readonly name: string;
  readonly key: readonly string[];
  readonly isSelfReferring?: true;
  /** The key of the row that every new database has. It is not copied. */
  readonly preset?: readonly SqlValue[];
};

/** Every table except `access_version`, a counter for caches, and `webhook_change`, which a start makes unnecessary. */
export const MOVED_TABLES: readonly KeyedTable[] = [
  { name: 'setting', key: ['name'] },
  // The operator is a row that every database has.
  { name: 'customer', key: ['id'], preset: [''] },
  { name: 'portal_link', key: ['id'] },
  { name: 'user_account', key: ['id'] },
  { name: 'invitation', key: ['user_id'] },
  { name: 'session', key: ['id'] },
  { name: 'passkey', key: ['id'] },
  { name: 'product', key: ['id'] },
  { name: 'application', key: ['id'] },
  { name: 'application_use', key: ['application_id'] },
  { name: 'access_token', key: ['key'] },
  // A manager may come after the employee: all rows go into one statement, at whose end references are checked.
  { name: 'employee', key: ['user_id'], isSelfReferring: true },
  { name: 'endpoint', key: ['id'] },
  { name: 'pgp_key', key: ['id'] },
  { name: 'event_type', key: ['id'] },
  { name: 'webhook', key: ['number'] },
  { name: 'removed_webhook', key: ['number'] },
  { name: 'webhook_progress', key: ['webhook_number'] },
  { name: 'webhook_position', key: ['webhook_number'] },
  { name: 'subscription', key: ['pattern', 'customer_id', 'webhook_number'] },
  { name: 'event', key: ['key'] },
  { name: 'event_term', key: ['term', 'audience', 'event_key', 'path'] },
  { name: 'event_term_progress', key: ['type'] },
  { name: 'erasure', key: ['id'] },
  { name: 'idempotency', key: ['publisher', 'key'] },
  { name: 'kept_reply', key: ['application_id', 'key'] },
  { name: 'outbox', key: ['webhook_number', 'record_offset'] },
  { name: 'batch', key: ['webhook_number', 'first_offset'] },
  { name: 'attempt', key: ['key'] },
  { name: 'figure', key: ['span_seconds', 'webhook_number', 'at'] },
  { name: 'customer_usage', key: ['customer_id', 'day'] },
  { name: 'audit', key: ['number'] },
];

export type MovedTable = KeyedTable & { readonly columns: readonly string[] };

/** The database that receives the data. */
export type MoveTarget = {
  readonly db: Database;
  insert(table: MovedTable, rows: readonly Row[]): Statement[];
  /**
   * The statements after all rows are copied, such as setting the next number of a webhook. `lastWebhook`: the highest number that
   * was ever used.
   */
  finish(lastWebhook: number): Statement[];
};

type Move = {
  readonly from: Database;
  readonly to: MoveTarget;
  /** With their columns, which both databases have. */
  readonly tables: readonly MovedTable[];
  /** Identifies the source, so that a move continues only from the same one. */
  readonly source: string;
  readonly lastWebhook: number;
  /** Recorded in the audit log of the target. */
  readonly audit: AuditEntry;
  readonly report: (progress: MoveProgress) => void;
};

export type MoveProgress = { readonly table: string; readonly rows: number; readonly step: 'copied' | 'verified' };

/** The databases cannot be moved. The message says why. */
export class MoveError extends Error {
  override readonly name = 'MoveError';
}

/** The row of `setting` that an unfinished move keeps in its target. */
export const MOVE_SETTING = 'move';

type State = { readonly source: string; readonly table: string; readonly after: readonly SqlValue[] | null };

const PUT = 'INSERT INTO setting (name, value) VALUES (@name, @value)';
const ADVANCE = 'UPDATE setting SET value = @value WHERE name = @name AND value = @before';
const FORGET = 'DELETE FROM setting WHERE name = @name AND value = @before';
/** About how many bytes of rows go into one chunk. */
const CHUNK_BYTES = 4 * 1024 * 1024;
const CHUNK_ROWS_FIRST = 100;
const CHUNK_ROWS_MAX = 5000;
/** All employees in one chunk. */
const ALL_ROWS = 100_000_000;
const SHA256_BYTES = 32;

/**
 * Copies everything that is not copied yet, verifies the number of rows and the checksum of every table, and finishes. Returns the rows of
 * each table. Throws `MoveError` if the target has other data, if the databases differ, or if another process moves into the same target.
 */
export async function moveData(move: Move): Promise<Readonly<Record<string, number>>> {
  let state = await beginOrContinue(move);
  const begins = move.tables.findIndex(({ name }) => name === state.table);
  for (const table of move.tables.slice(begins)) {
    const after = (table.name === state.table ? state.after : null) ?? table.preset ?? null;
    state = await copyTable(move, table, { ...state, table: table.name, after }, state);
  }
  const counts: Record<string, number> = {};
  for (const table of move.tables) counts[table.name] = await verifyTable(move, table);
  await commit(move, [
    ...move.to.finish(move.lastWebhook),
    { sql: FORGET, params: { name: MOVE_SETTING, before: bytesOf(state) }, expectChanges: 1 },
    auditStatement(move.audit),
  ]);
  return counts;
}

/** Whether nothing of a move is left to do. Only its last transaction removes its row, so other data in the target is complete. */
export async function isCommitted({ to: { db }, tables }: Pick<Move, 'to' | 'tables'>): Promise<boolean> {
  return (await readState(db)) === null && (await hasData(db, tables));
}

/** Verifies a target whose move was committed, which has one more entry in its audit log. Returns the rows of each table, as `moveData`. */
export async function verifyCommitted(move: Move): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const table of move.tables) counts[table.name] = await verifyTable(move, table, table.name === 'audit');
  return counts;
}

async function readState(db: Database): Promise<State | null> {
  const row = await db.get('SELECT value FROM setting WHERE name = @name', { name: MOVE_SETTING });
  return row === undefined ? null : (JSON.parse(Buffer.from(row.value as Uint8Array).toString('utf8')) as State);
}

async function hasData(db: Database, tables: readonly MovedTable[]): Promise<boolean> {
  for (const table of tables) if ((await chunk(db, table, table.preset ?? null, 1)).length > 0) return true;
  return false;
}

async function beginOrContinue({ to: { db }, tables, source }: Move): Promise<State> {
  const begun = await readState(db);
  if (begun !== null) {
    if (begun.source === source) return begun;
    throw new MoveError('it holds an unfinished move from other data: empty it, or finish that move');
  }
  if (await hasData(db, tables)) throw new MoveError('it already has data: move into an empty database');
  const state: State = { source, table: tables[0]?.name ?? '', after: null };
  await db.commit([{ sql: PUT, params: { name: MOVE_SETTING, value: bytesOf(state) } }]);
  return state;
}

async function copyTable(move: Move, table: MovedTable, begin: State, stored: State): Promise<State> {
  let [state, before] = [begin, stored];
  let limit = table.isSelfReferring === true ? ALL_ROWS : CHUNK_ROWS_FIRST;
  let copied = 0;
  for (;;) {
    const rows = await chunk(move.from, table, state.after, limit);
    const last = rows.at(-1);
    if (last === undefined) break;
    const next = { ...state, after: table.key.map((column) => last[column] as SqlValue) };
    const params = { name: MOVE_SETTING, value: bytesOf(next), before: bytesOf(before) };
    await commit(move, [{ sql: ADVANCE, params, expectChanges: 1 }, ...move.to.insert(table, rows)]).catch(
      (error: unknown) => {
        throw collision(error, table, rows) ?? error;
      },
    );
    [state, before] = [next, next];
    copied += rows.length;
    move.report({ table: table.name, rows: copied, step: 'copied' });
    if (table.isSelfReferring === true) break;
    const bytes = rows.reduce((sum, row) => sum + sizeOf(row), 0);
    limit = Math.max(1, Math.min(CHUNK_ROWS_MAX, Math.floor((rows.length * CHUNK_BYTES) / bytes)));
  }
  return before;
}

/** Explains that rows cannot be stored because they differ from others only in U+0000; null if that is not the reason. */
function collision(error: unknown, { name, key }: MovedTable, rows: readonly Row[]): MoveError | null {
  if (!(error instanceof ConstraintViolation) || error.kind !== 'unique') return null;
  const unfit = rows.find((row) =>
    Object.values(row).some((value) => typeof value === 'string' && value.includes('\0')),
  );
  if (unfit === undefined) return null;
  const place = key.map((column) => `${column} ${JSON.stringify(plain(unfit[column]))}`).join(', ');
  return new MoveError(
    `a row of the table ${name} (${place}) differs from another one only by U+0000, which PostgreSQL does not store: remove one of them`,
  );
}

/** Only one process may work on a move: another one would change its record. */
async function commit({ to: { db } }: Move, statements: readonly Statement[]): Promise<void> {
  try {
    await db.commit(statements);
  } catch (error) {
    if (error instanceof StaleWrite) throw new MoveError('another process moves data into it');
    throw error;
  }
}

/** Compares the rows of a table. Returns their number in the source. `hasMore`: the target may have more rows, with higher keys. */
async function verifyTable({ from, to, report }: Move, table: MovedTable, hasMore = false): Promise<number> {
  const read = digest(from, table);
  const [source, target] = await Promise.all([
    read,
    digest(to.db, table, hasMore ? (await read).rows : Number.POSITIVE_INFINITY),
  ]);
  if (source.hash !== target.hash) {
    throw new MoveError(
      `its table ${table.name} differs (${target.rows} rows, the source has ${source.rows}): the source was ` +
        'changed since the move began; empty the target and move again',
    );
  }
  report({ table: table.name, rows: source.rows, step: 'verified' });
  return source.rows;
}

/** The number of rows, at most `most`, and a hash of them that does not depend on their order: U+FFFD and U+0000 sort differently. */
async function digest(
  db: Database,
  table: MovedTable,
  most = Number.POSITIVE_INFINITY,
): Promise<{ readonly rows: number; readonly hash: string }> {
  const all = Buffer.alloc(SHA256_BYTES);
  let rows = 0;
  for (let after: readonly SqlValue[] | null = null; ; ) {
    const found: readonly Row[] = await chunk(db, table, after, Math.min(CHUNK_ROWS_FIRST * 5, most - rows));
    for (const row of found) {
      const one = Buffer.from(
        hash('sha256', JSON.stringify(table.columns.map((column) => plain(row[column]))), 'hex'),
        'hex',
      );
      for (let at = 0; at < SHA256_BYTES; at += 1) all[at] = (all[at] as number) ^ (one[at] as number);
    }
    rows += found.length;
    const last = found.at(-1);
    if (last === undefined) return { rows, hash: all.toString('hex') };
    after = table.key.map((column) => last[column] as SqlValue);
  }
}

function plain(value: SqlValue | undefined): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return typeof value === 'string' ? portableText(value) : value;
}

/** A text that PostgreSQL stores: without U+0000, which earlier versions kept on SQLite. */
export function portableText(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
}

async function chunk(
  db: Database,
  { name, key, columns }: MovedTable,
  after: readonly SqlValue[] | null,
  limit: number,
): Promise<readonly Row[]> {
  const order = key.join(', ');
  const conditions = [
    ...(name === 'setting' ? [`name <> '${MOVE_SETTING}'`] : []),
    ...(after === null ? [] : [`(${order}) > (${key.map((_, at) => `@after${at}`).join(', ')})`]),
  ];
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const params = Object.fromEntries((after ?? []).map((value, at) => [`after${at}`, value]));
  return db.all(`SELECT ${columns.join(', ')} FROM ${name} ${where} ORDER BY ${order} LIMIT @limit`, {
    ...params,
    limit,
  });
}

function sizeOf(row: Row): number {
  let size = 1;
  for (const name in row) {
    const value = row[name];
    size += typeof value === 'string' ? value.length : value instanceof Uint8Array ? value.byteLength : 8;
  }
  return size;
}

function bytesOf(state: State): Uint8Array {
  return Buffer.from(JSON.stringify(state));
}
