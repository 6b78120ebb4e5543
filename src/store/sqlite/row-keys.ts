/** The row keys in use, so that a clock that was set back before a start cannot give out keys below them. */
import type { Database } from './driver/database.ts';

// Each is the last entry of a primary key. A watermark of revoked tokens is a row key, too.
const LARGEST = `
  SELECT max(coalesce((SELECT max(key) FROM access_token), 0), coalesce((SELECT max(key) FROM event), 0),
             coalesce((SELECT max(key) FROM attempt), 0), coalesce((SELECT max(tokens_revoked_through) FROM application), 0)) AS key`;

/** 0 where nothing has been stored yet. */
export async function largestRowKey(db: Database): Promise<number> {
  return Number((await db.get(LARGEST, {}))?.key ?? 0);
}
