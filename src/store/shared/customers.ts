/** Customers (`customer`), the resources that belong to them, and portal links (`portal_link`). */

import type { Customer, LinkRole, PortalLink } from '../../domain/customer.ts';
import { ENDPOINTS_LIMIT_DEFAULT, WEBHOOKS_LIMIT_DEFAULT } from '../../domain/limits.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Belongings, CustomerHealth, CustomerStore, OwnedTable, PortalLinkStore } from '../port/customers.ts';
import type { Database, Statement } from '../port/database.ts';
import { endTokensOf } from './access/applications.ts';
import { sessionStatements } from './access/sessions.ts';
import { auditStatement } from './audit.ts';
import { RECORDS_WAITING } from './delivery/queues.ts';
import { type ListColumns, resourceStore } from './resource.ts';
import {
  bytes,
  flag,
  json,
  number,
  numberOrNull,
  oneOf,
  readOne,
  readRow,
  requireActive,
  type Table,
  table,
  text,
  textOrNull,
} from './table.ts';
import { noneRuns, stateStatements, TROUBLED } from './webhooks/webhooks.ts';

const PORTAL_LINKS_PURGED_AT_ONCE = 100;

type Stored = Omit<Customer, 'limits'> & {
  readonly maxEndpoints: number | null;
  readonly maxWebhooks: number | null;
  readonly maxEventsPerSecond: number | null;
};
const STORED = table<Stored>('customer', 'id', {
  id: text,
  name: text,
  externalId: textOrNull,
  metadata: json<Readonly<Record<string, string>>>(),
  active: flag,
  maxEndpoints: numberOrNull,
  maxWebhooks: numberOrNull,
  maxEventsPerSecond: numberOrNull,
  createdAt: number,
  updatedAt: number,
});
const CUSTOMER: Table<Customer> = {
  columns: STORED.columns,
  insert: (customer) => STORED.insert(stored(customer)),
  update: (customer) => STORED.update(stored(customer)),
  read: (row) => {
    const { maxEndpoints, maxWebhooks, maxEventsPerSecond, ...customer } = STORED.read(row);
    const limits = {
      endpoints: maxEndpoints ?? ENDPOINTS_LIMIT_DEFAULT,
      webhooks: maxWebhooks ?? WEBHOOKS_LIMIT_DEFAULT,
      eventsPerSecond: maxEventsPerSecond,
    };
    return { ...customer, limits };
  },
};

function stored({ limits: { endpoints, webhooks, eventsPerSecond }, ...customer }: Customer): Stored {
  return { ...customer, maxEndpoints: endpoints, maxWebhooks: webhooks, maxEventsPerSecond: eventsPerSecond };
}

// The row with the empty id is the operator. In order of creation, a list begins after it.
const LIST: ListColumns = {
  filters: {
    name: 'name = @name',
    externalId: 'external_id = @externalId',
    active: "active = (@active = 'true')",
  },
  sorts: { name: 'lower(name)' },
  always: "id <> ''",
};
const BY_EXTERNAL_ID = `SELECT ${CUSTOMER.columns()} FROM customer WHERE external_id = @externalId`;
// Scans the customers until the page is full.
const SEARCH = `
  SELECT ${CUSTOMER.columns()} FROM customer
  WHERE id <> '' AND (CAST(@before AS TEXT) IS NULL OR id < @before)
    AND (CAST(@name AS TEXT) IS NULL OR lower(name) = lower(@name))
    AND (CAST(@active AS TEXT) IS NULL OR active = (CAST(@active AS TEXT) = 'true'))
    AND (CAST(@troubled AS TEXT) IS NULL OR EXISTS (
      SELECT 1 FROM webhook AS w JOIN webhook_progress AS p ON p.webhook_number = w.number
      WHERE w.customer_id = customer.id AND ${TROUBLED}))
    AND (@text = '' OR id = lower(@text) OR strpos(lower(name), lower(@text)) > 0
      OR strpos(lower(coalesce(external_id, '')), lower(@text)) > 0)
  ORDER BY id DESC LIMIT @limit`;
const CUSTOMER_NAMES = `SELECT c.id, c.name FROM texts(@ids) AS wanted JOIN customer AS c ON c.id = wanted.value AND c.id <> ''`;
const ownersOf = (name: OwnedTable): string => `
  SELECT r.id AS record, c.id, c.name FROM texts(@ids) AS wanted
  JOIN ${name} AS r ON r.id = wanted.value JOIN customer AS c ON c.id = r.customer_id AND c.id <> ''`;
const OWNERS_OF: Readonly<Record<OwnedTable, string>> = {
  user_account: ownersOf('user_account'),
  application: ownersOf('application'),
  endpoint: ownersOf('endpoint'),
  pgp_key: ownersOf('pgp_key'),
  webhook: ownersOf('webhook'),
};
const counted = (name: OwnedTable): string => `(SELECT count(*) FROM ${name} AS x WHERE x.customer_id = wanted.value)`;
const BELONGINGS = `
  SELECT wanted.value AS id, ${counted('user_account')} AS users, ${counted('application')} AS applications,
    ${counted('endpoint')} AS endpoints, ${counted('pgp_key')} AS keys, ${counted('webhook')} AS webhooks
  FROM texts(@ids) AS wanted`;
// Indexes: webhook_customer, and the primary key of customer_usage.
const HEALTH = `
  SELECT wanted.value AS id, (SELECT max(u.day) FROM customer_usage AS u WHERE u.customer_id = wanted.value) AS last_day,
    (SELECT count(*) FROM webhook AS w JOIN webhook_progress AS p ON p.webhook_number = w.number
      WHERE w.customer_id = wanted.value AND ${TROUBLED}) AS troubled,
    (SELECT coalesce(sum(${RECORDS_WAITING}), 0) FROM webhook AS w CROSS JOIN webhook_status AS p
      WHERE w.customer_id = wanted.value AND p.webhook_number = w.number) AS pending
  FROM texts(@ids) AS wanted`;
const owns = (name: OwnedTable): string => `SELECT 1 FROM ${name} WHERE id = @id AND customer_id = @customerId`;
const OWNS: Readonly<Record<OwnedTable, string>> = {
  user_account: owns('user_account'),
  application: owns('application'),
  endpoint: owns('endpoint'),
  pgp_key: owns('pgp_key'),
  webhook: owns('webhook'),
};
// Index: webhook_customer, once for each customer of the page.
const NUMBERS_OF = `
  SELECT w.customer_id, w.number FROM texts(@ids) AS wanted JOIN webhook AS w ON w.customer_id = wanted.value`;
// Index: webhook_customer.
const NUMBERS = 'SELECT number, id FROM webhook WHERE customer_id = @customerId ORDER BY id DESC';

// In the order in which the deactivation of a user takes its locks. Indexes: application_customer, one of user_account, session_customer,
// portal_link_customer.
const END_INVITATIONS = `
  DELETE FROM invitation WHERE user_id IN (SELECT id FROM user_account WHERE customer_id = @id)`;
const END_SESSIONS = 'DELETE FROM session WHERE customer_id = @id';
const END_LINKS = 'DELETE FROM portal_link WHERE customer_id = @id';

export function customerStore(db: Database, ids: Ids): CustomerStore {
  // A customer that becomes active gets nothing back. Activation also ends leftovers of a version that ended nothing.
  const endings = ({ id, active, updatedAt: now }: Customer, before: Customer): Statement[] =>
    active === before.active
      ? []
      : [
          ...endTokensOf('customer', id, { through: ids.rowKey(), now }),
          ...[END_INVITATIONS, END_SESSIONS, END_LINKS].map((sql) => ({ sql, params: { id } })),
        ];
  const { updateStatements, ...store } = resourceStore(db, 'customer', CUSTOMER, { list: LIST });
  return {
    ...store,
    update: async (customer, before, audit, first = [], given = []) => {
      const changes = given.map(({ change }) => change);
      await db.commit([
        ...first,
        ...updateStatements(customer, before, audit),
        ...endings(customer, before),
        ...(await stateStatements(db, changes)),
        ...(before.active && !customer.active ? [noneRuns(customer.id)] : []),
        ...given.map((change) => auditStatement(change.audit)),
      ]);
    },
    getByExternalId: async (externalId) => readOne(CUSTOMER, await db.get(BY_EXTERNAL_ID, { externalId })),
    search: async ({ text: wanted = '', name = null, active, troubled = false }, before, limit) => {
      const flags = { active: active === undefined ? null : String(active), troubled: troubled ? 'true' : null };
      const params = { text: wanted, name, ...flags, before, limit };
      return (await db.all(SEARCH, params)).map(CUSTOMER.read);
    },
    names: async (ids) => {
      const rows = ids.length === 0 ? [] : await db.all(CUSTOMER_NAMES, { ids: JSON.stringify([...new Set(ids)]) });
      return new Map(rows.map((row) => [String(row.id), String(row.name)]));
    },
    ownersOf: async (name, ids) => {
      const rows = ids.length === 0 ? [] : await db.all(OWNERS_OF[name], { ids: JSON.stringify([...new Set(ids)]) });
      return new Map(rows.map((row) => [String(row.record), { id: String(row.id), name: String(row.name) }]));
    },
    belongings: async (ids) =>
      new Map(
        (await db.all(BELONGINGS, { ids: JSON.stringify(ids) })).map((row) => {
          const { id, ...count } = readRow<Belongings & { readonly id: string }>(row);
          return [id, count];
        }),
      ),
    health: async (ids) =>
      new Map(
        (await db.all(HEALTH, { ids: JSON.stringify(ids) })).map((row) => {
          const { id, ...health } = readRow<CustomerHealth & { readonly id: string }>(row);
          return [id, health];
        }),
      ),
    owns: async (customerId, name, id) => (await db.get(OWNS[name], { id, customerId })) !== undefined,
    webhookNumbersOf: async (ids) => {
      const numbers = new Map<string, number[]>(ids.map((id) => [id, []]));
      for (const row of await db.all(NUMBERS_OF, { ids: JSON.stringify(ids) })) {
        numbers.get(String(row.customer_id))?.push(Number(row.number));
      }
      return numbers;
    },
    webhookNumbers: async (customerId) =>
      new Map((await db.all(NUMBERS, { customerId })).map((row) => [Number(row.number), String(row.id)])),
  };
}

const LINK = table<PortalLink>('portal_link', 'id', {
  id: text,
  customerId: text,
  tokenHash: bytes,
  role: oneOf<LinkRole>(),
  sessionSeconds: number,
  returnUrl: textOrNull,
  renewUrl: textOrNull,
  createdAt: number,
  expiresAt: number,
});
const FIND = `
  SELECT ${LINK.columns('l')} FROM portal_link AS l JOIN customer AS c ON c.id = l.customer_id
  WHERE l.token_hash = @tokenHash AND l.used_at IS NULL AND l.expires_at > @now AND c.active`;
// Index: that of token_hash.
const RENEW_URL = 'SELECT renew_url FROM portal_link WHERE token_hash = @tokenHash';
const USE = 'UPDATE portal_link SET used_at = @now WHERE id = @id AND used_at IS NULL AND expires_at > @now';
// Index: portal_link_expiry.
const PURGE = `
  DELETE FROM portal_link WHERE id IN (
    SELECT id FROM portal_link WHERE expires_at <= @now ORDER BY expires_at LIMIT ${PORTAL_LINKS_PURGED_AT_ONCE})`;

export function portalLinkStore(db: Database): PortalLinkStore {
  return {
    add: async (link, audit, first = []) =>
      void (await db.commit([
        ...first,
        ...requireActive(link.customerId),
        { sql: PURGE, params: { now: link.createdAt } },
        LINK.insert(link),
        auditStatement(audit),
      ])),
    addToken: async (session, audit, first = []) =>
      void (await db.commit([
        ...first,
        ...requireActive(session.customerId),
        ...sessionStatements(session),
        auditStatement(audit),
      ])),
    find: async (tokenHash, now) => readOne(LINK, await db.get(FIND, { tokenHash, now })),
    renewUrl: async (tokenHash) => {
      const url = (await db.get(RENEW_URL, { tokenHash }))?.renew_url ?? null;
      return url === null ? null : String(url);
    },
    use: async ({ id, customerId }, session, audit) =>
      void (await db.commit([
        ...requireActive(customerId),
        { sql: USE, params: { id, now: session.createdAt }, expectChanges: 1 },
        ...sessionStatements(session),
        auditStatement(audit),
      ])),
  };
}
