/**
 * Overwrites the copies that SQLite leaves of rows it moved. `secure_delete` overwrites a row at its place when the row is deleted. But
 * when SQLite merges two half-empty pages, the unused middle of a page may keep a copy of a row that was stored there. Measured on logs
 * from which housekeeping had deleted every other row: erased data remained in 18 of 40 files, and in none of 40 after this step.
 *
 * Rows that shared a page with the erased row are still its neighbours. Each neighbour is grown until it fills a whole page, so every
 * byte of those pages is written. It shrinks again in the same transaction, so no reader sees it.
 */
import type { Database, Row, Statement } from '../../port/database.ts';

/** A table with an integer primary key `key`, and its other columns. One of them is `id`, a UUID. */
export type RowLayout = { readonly table: string; readonly columns: readonly string[] };
/** The values of erased columns: an integer or null. */
type ErasedColumns = Readonly<Record<string, number | null>>;

// SQLite's file format, §1.6, for pages of 4096 bytes: the most bytes of a row that its own page holds, the fewest if the row does not
// fit, and the bytes that an overflow page holds.
const PAGE_BYTES = 4096;
const LOCAL_MAX_BYTES: number = PAGE_BYTES - 35;
const LOCAL_MIN_BYTES: number = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23;
const OVERFLOW_BYTES: number = PAGE_BYTES - 4;
/** The average size of a cell without its row. */
const CELL_BYTES = 12;

/** How far a neighbour may be away on each side, in bytes on leaf pages; and the most bytes to rewrite, overflow pages included. */
const REACH_BYTES: number = 2 * PAGE_BYTES;
const REACH_PAYLOAD_BYTES: number = 256 * 1024;
const REACH_ROWS = 100;

/**
 * Returns the statements that overwrite the copies of the rows with these keys. They belong at the end of the transaction that erases the
 * rows. The `id` of a neighbour is made longer for a moment.
 */
export async function overwriteLeftovers(
  db: Pick<Database, 'all'>,
  layout: RowLayout,
  keys: readonly number[],
  erasing: ErasedColumns,
): Promise<Statement[]> {
  const growths = new Map<number, number>();
  const erased = new Set(keys);
  for (const key of erased) {
    for (const neighbours of [neighboursSql(layout, '<=', 'DESC'), neighboursSql(layout, '>', 'ASC')]) {
      let bytes = 0;
      let payloadBytes = 0;
      for (const row of await db.all(neighbours, { key, limit: REACH_ROWS })) {
        if (bytes > REACH_BYTES || payloadBytes > REACH_PAYLOAD_BYTES) break;
        const sizes = sizesOf(layout, erased.has(Number(row.key)) ? { ...row, ...erasing } : row);
        growths.set(Number(row.key), growthOf(sizes));
        bytes += localBytes(recordBytes(sizes)) + CELL_BYTES;
        payloadBytes += recordBytes(sizes);
      }
    }
  }
  if (growths.size === 0) return [];
  const params = { growths: JSON.stringify([...growths]), filling: FILLING };
  return [
    { sql: growSql(layout), params },
    { sql: shrinkSql(layout), params: { growths: params.growths } },
  ];
}

const FILLING = '.'.repeat(2 * OVERFLOW_BYTES);

function neighboursSql({ table, columns }: RowLayout, comparison: string, order: string): string {
  const sizes = columns.map(
    (column) =>
      `CASE typeof(${column}) WHEN 'integer' THEN ${column} ELSE 't' || octet_length(${column}) END AS ${column}`,
  );
  return `SELECT key, ${sizes.join(', ')} FROM ${table} WHERE key ${comparison} @key ORDER BY key ${order} LIMIT @limit`;
}

const GROWTHS = `(SELECT value ->> 0 AS key, value ->> 1 AS bytes FROM json_each(@growths)) AS growth`;

function growSql({ table }: RowLayout): string {
  return `
    UPDATE ${table} SET id = id || substr(@filling, 1, growth.bytes)
    FROM ${GROWTHS} WHERE ${table}.key = growth.key`;
}

function shrinkSql({ table }: RowLayout): string {
  return `
    UPDATE ${table} SET id = substr(id, 1, length(id) - growth.bytes)
    FROM ${GROWTHS} WHERE ${table}.key = growth.key`;
}

/** Determines the size of a column: the value of an integer, the length of a text or blob as `{bytes}`, or null. */
type ColumnSize = number | null | { readonly bytes: number };

function sizesOf({ columns }: RowLayout, row: Row): Map<string, ColumnSize> {
  return new Map(
    columns.map((column) => {
      const value = row[column] ?? null;
      return [column, typeof value === 'string' ? { bytes: Number(value.slice(1)) } : (value as number | null)];
    }),
  );
}

/** The size of a record by SQLite's file format, §2.1. The key is the rowid and is stored in the record as null. */
function recordBytes(sizes: ReadonlyMap<string, ColumnSize>): number {
  let header = 1;
  let body = 0;
  for (const size of sizes.values()) {
    if (size !== null && typeof size === 'object') {
      header += varintBytes(13 + 2 * size.bytes);
      body += size.bytes;
    } else {
      header += 1;
      body += size === null ? 0 : integerBytes(size);
    }
  }
  return header + varintBytes(header + 1) + body;
}

function varintBytes(value: number): number {
  return value < 2 ** 7 ? 1 : value < 2 ** 14 ? 2 : value < 2 ** 21 ? 3 : 4;
}

function integerBytes(value: number): number {
  if (value === 0 || value === 1) return 0;
  const bits = [7, 15, 23, 31, 47].findIndex((size) => value >= -(2 ** size) && value < 2 ** size);
  return [1, 2, 3, 4, 6][bits] ?? 8;
}

/** How many bytes of a record are on the page of its cell. */
function localBytes(record: number): number {
  if (record <= LOCAL_MAX_BYTES) return record;
  const local = LOCAL_MIN_BYTES + ((record - LOCAL_MIN_BYTES) % OVERFLOW_BYTES);
  return local <= LOCAL_MAX_BYTES ? local : LOCAL_MIN_BYTES;
}

/** By how many bytes the id must grow for the record to fill its page. One or two bytes may stay unused. */
function growthOf(sizes: ReadonlyMap<string, ColumnSize>): number {
  const { bytes } = sizes.get('id') as { readonly bytes: number };
  const before = recordBytes(sizes);
  const target = before + ((LOCAL_MAX_BYTES - (before % OVERFLOW_BYTES) + OVERFLOW_BYTES) % OVERFLOW_BYTES);
  const grown = (growth: number): number => recordBytes(new Map(sizes).set('id', { bytes: bytes + growth }));
  let growth = target - before;
  while (growth > 0 && grown(growth) > target) growth -= 1;
  return growth;
}
