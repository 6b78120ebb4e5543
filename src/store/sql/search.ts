/** The search of the portal. There are thousands of resources of each kind at most, so the search scans them. */

import type { Database } from '../database.ts';
import type { Found, SearchStore } from '../search.ts';
import { readRow } from './table.ts';

/** One kind: names that begin with the text come first. */
function kindSql(kind: string, table: string, name: string, detail: string, more: readonly string[] = []): string {
  const contains = [name, detail, ...more].map((column) => `strpos(lower(${column}), lower(@text)) > 0`);
  return `SELECT * FROM (
    SELECT '${kind}' AS kind, id, ${name} AS name, ${detail} AS detail FROM ${table}
    WHERE id = lower(@text) OR ${contains.join(' OR ')}
    ORDER BY strpos(lower(${name}), lower(@text)) <> 1, lower(${name}), id LIMIT @limit) AS found`;
}

const FIND = [
  kindSql('webhook', 'webhook', 'name', 'CAST(event_types AS TEXT)'),
  kindSql('endpoint', 'endpoint', 'name', 'url'),
  kindSql('event-type', 'event_type', 'name', 'description'),
  kindSql('application', 'application', 'name', 'client_id'),
  kindSql('user', 'user_account', 'user_name', 'display_name', ['email']),
  kindSql('product', 'product', 'name', 'CAST(NULL AS TEXT)', ['CAST(scopes AS TEXT)']),
  kindSql('key', 'pgp_key', 'name', 'fingerprint'),
].join(' UNION ALL ');

export function searchStore(db: Database): SearchStore {
  return { find: async (text, limit) => (await db.all(FIND, { text, limit })).map((row) => readRow<Found>(row)) };
}
