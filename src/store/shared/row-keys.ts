/** The row keys in use. New keys must be larger, also if the clock was set back before a start. */
import type { Database } from '../port/database.ts';

// Each is the last entry of a primary key. The watermark of revoked tokens is a row key too.
const LARGEST = `
  SELECT greatest(coalesce((SELECT max(key) FROM access_token), 0), coalesce((SELECT max(key) FROM event), 0),
                  coalesce((SELECT max(key) FROM attempt), 0), coalesce((SELECT max(tokens_revoked_through) FROM application), 0)) AS key`;

/** 0 in a new database. */
export async function largestRowKey(db: Database): Promise<number> {
  return Number((await db.get(LARGEST, {}))?.key ?? 0);
}
