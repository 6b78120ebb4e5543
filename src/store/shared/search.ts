/** The search of the portal. There are thousands of resources of each kind at most, so the search scans them. */

import type { Database } from '../port/database.ts';
import type { Found, SearchStore } from '../port/search.ts';
import { readRow } from './table.ts';

type Kind = {
  readonly kind: string;
  readonly table: string;
  readonly name: string;
  readonly detail: string;
  readonly more?: readonly string[];
  readonly state?: string;
};

/** One kind: names that begin with the text come first, then names that contain it. `others` finds more than the columns do. */
function kindSql(
  { kind, table, name, detail, more = [], state = 'CAST(NULL AS TEXT)' }: Kind,
  condition = 'true',
  others: readonly string[] = [],
): string {
  const contains = [name, detail, ...more].map((column) => `strpos(lower(${column}), lower(@text)) > 0`);
  const place = `strpos(lower(${name}), lower(@text))`;
  return `SELECT * FROM (
    SELECT '${kind}' AS kind, r.id, ${name} AS name, ${detail} AS detail, ${state} AS state FROM ${table} AS r
    WHERE ${condition} AND (r.id = lower(@text) OR ${[...contains, ...others].join(' OR ')})
    ORDER BY ${place} <> 1, ${place} = 0, lower(${name}), r.id LIMIT @limit) AS found`;
}

/** Resources that belong to customers. */
const OWNED: readonly Kind[] = [
  {
    kind: 'webhook',
    table: 'webhook',
    name: 'r.name',
    detail: 'CAST(r.event_types AS TEXT)',
    state: '(SELECT p.state FROM webhook_progress AS p WHERE p.webhook_number = r.number)',
  },
  { kind: 'endpoint', table: 'endpoint', name: 'r.name', detail: 'r.url' },
  { kind: 'application', table: 'application', name: 'r.name', detail: 'r.client_id' },
  { kind: 'user', table: 'user_account', name: 'r.user_name', detail: 'r.display_name', more: ['r.email'] },
  { kind: 'key', table: 'pgp_key', name: 'r.name', detail: 'r.fingerprint' },
];
/** Each word is in the name or in that of the customer: `bolt` finds all that is Bolt's, `orders bolt` its webhook Orders. */
const ofCustomer = (name: string): string => `(r.customer_id <> '' AND NOT EXISTS (
      SELECT 1 FROM texts(@words) AS word, customer AS c
      WHERE c.id = r.customer_id AND strpos(lower(${name} || ' ' || c.name), lower(word.value)) = 0))`;

const CUSTOMERS = { kind: 'customer', table: 'customer', name: 'r.name', detail: 'r.external_id' };
const TYPES = { kind: 'event-type', table: 'event_type', name: 'r.name', detail: 'r.description' };
const PRODUCTS = {
  kind: 'product',
  table: 'product',
  name: 'r.name',
  detail: 'CAST(NULL AS TEXT)',
  more: ['CAST(r.scopes AS TEXT)'],
};
const FIND = [
  kindSql(CUSTOMERS, "r.id <> ''"),
  ...OWNED.map((kind) => kindSql(kind, 'true', [ofCustomer(kind.name)])),
  kindSql(TYPES),
  kindSql(PRODUCTS),
].join(' UNION ALL ');
const FIND_OF_CUSTOMER = [
  ...OWNED.map((kind) => kindSql(kind, 'r.customer_id = @customerId')),
  kindSql(TYPES, 'r.public'),
].join(' UNION ALL ');

export function searchStore(db: Database): SearchStore {
  return {
    find: async (text, customerId, limit) => {
      const words = JSON.stringify(text.split(/\s+/).filter((word) => word !== ''));
      const rows =
        customerId === null
          ? db.all(FIND, { text, words, limit })
          : db.all(FIND_OF_CUSTOMER, { text, customerId, limit });
      return (await rows).map((row) => readRow<Found>(row));
    },
  };
}
