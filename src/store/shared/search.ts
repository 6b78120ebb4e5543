/** The search of the portal. There are thousands of resources of each kind at most, so the search scans them. */

import type { Database } from '../port/database.ts';
import type { Found, SearchStore } from '../port/search.ts';
import { readRow } from './table.ts';

/** One kind: names that begin with the text come first. */
function kindSql(
  kind: string,
  table: string,
  name: string,
  detail: string,
  more: readonly string[] = [],
  condition = 'true',
): string {
  const contains = [name, detail, ...more].map((column) => `strpos(lower(${column}), lower(@text)) > 0`);
  return `SELECT * FROM (
    SELECT '${kind}' AS kind, id, ${name} AS name, ${detail} AS detail FROM ${table}
    WHERE ${condition} AND (id = lower(@text) OR ${contains.join(' OR ')})
    ORDER BY strpos(lower(${name}), lower(@text)) <> 1, lower(${name}), id LIMIT @limit) AS found`;
}

/** `own` is the condition for resources that belong to customers. */
const ownedSql = (own: string): string[] => [
  kindSql('webhook', 'webhook', 'name', 'CAST(event_types AS TEXT)', [], own),
  kindSql('endpoint', 'endpoint', 'name', 'url', [], own),
  kindSql('application', 'application', 'name', 'client_id', [], own),
  kindSql('user', 'user_account', 'user_name', 'display_name', ['email'], own),
  kindSql('key', 'pgp_key', 'name', 'fingerprint', [], own),
];
const FIND = [
  kindSql('customer', 'customer', 'name', 'external_id', [], "id <> ''"),
  ...ownedSql('true'),
  kindSql('event-type', 'event_type', 'name', 'description'),
  kindSql('product', 'product', 'name', 'CAST(NULL AS TEXT)', ['CAST(scopes AS TEXT)']),
].join(' UNION ALL ');
const FIND_OF_CUSTOMER = [
  ...ownedSql('customer_id = @customerId'),
  kindSql('event-type', 'event_type', 'name', 'description', [], 'public'),
].join(' UNION ALL ');

export function searchStore(db: Database): SearchStore {
  return {
    find: async (text, customerId, limit) => {
      const rows =
        customerId === null ? db.all(FIND, { text, limit }) : db.all(FIND_OF_CUSTOMER, { text, customerId, limit });
      return (await rows).map((row) => readRow<Found>(row));
    },
  };
}
