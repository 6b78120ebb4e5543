/**
 * The reads of the portal's lists: webhooks, endpoints, applications and users, and the webhooks that use an endpoint, a key or an event
 * type.
 */
import type { WebhookState } from '../../domain/webhook.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Database, Row, SqlParameters } from '../port/database.ts';
import type {
  DirectoryStore,
  EndpointName,
  EndpointWebhook,
  RegistryStore,
  Subscriber,
  Use,
  UseStore,
  Uses,
  WebhookListing,
} from '../port/directory.ts';
import type { ApplicationTable } from './access/applications.ts';
import { USER } from './access/users.ts';
import { OLDEST_WAITING_AT, RECORDS_WAITING } from './delivery/queues.ts';
import { categoryPattern } from './judging.ts';
import { conditions } from './resource.ts';
import { customer, flag, json, readRow } from './table.ts';
import { endpointTable } from './webhooks/endpoints.ts';
import { PROGRESS, readWebhook, TROUBLED, WEBHOOK } from './webhooks/webhooks.ts';

const LISTED = `
  SELECT ${WEBHOOK.columns('w')}, ${PROGRESS.columns('p')}, ${RECORDS_WAITING} AS waiting, n.name AS endpoint_name,
    n.enabled AS endpoint_enabled
  FROM webhook AS w
  JOIN webhook_status AS p ON p.webhook_number = w.number
  LEFT JOIN endpoint AS n ON n.id = w.endpoint_id`;
const WEBHOOK_NAMES =
  'SELECT w.number, w.id, w.name FROM numbers(@numbers) AS wanted JOIN webhook AS w ON w.number = wanted.value';
const OLDEST = `SELECT ${OLDEST_WAITING_AT} AS at FROM webhook_status AS p WHERE p.webhook_number = @webhookNumber`;
// Covering index: batch_dead. Limited, because the pages of a webhook and of an endpoint repeat this query.
// A subquery has one value, so both figures are one text.
const DEAD = `
  SELECT wanted.value AS webhook_number, (
    SELECT count(*) || ' ' || coalesce(sum(dead.last_offset - dead.first_offset + 1), 0) FROM (
      SELECT b.first_offset, b.last_offset FROM batch AS b INDEXED BY batch_dead
      WHERE b.webhook_number = wanted.value AND b.state = 'dead' LIMIT @limit) AS dead) AS batches_and_records
  FROM numbers(@webhookNumbers) AS wanted`;
const names = (where: string): string =>
  `SELECT id, name, enabled, token_challenge, verified FROM endpoint ${where} ORDER BY lower(name), id LIMIT @limit`;
const NAMES = names('');
const NAMES_OF_CUSTOMER = names('WHERE customer_id = @customerId');
// Index: webhook_endpoint.
const OF_ENDPOINT = `
  SELECT w.endpoint_id, w.number AS webhook_number, w.id, w.name, p.state, p.state_reason, p.failing_since_at,
    ${RECORDS_WAITING} AS pending_records
  FROM texts(@endpointIds) AS wanted
  JOIN webhook AS w ON w.endpoint_id = wanted.value JOIN webhook_status AS p ON p.webhook_number = w.number
  ORDER BY w.id DESC LIMIT @limit`;
const STATES = 'SELECT state, count(*) AS webhooks FROM webhook_progress GROUP BY state';
// Index: webhook_customer.
const STATES_OF_CUSTOMER = `
  SELECT p.state, count(*) AS webhooks FROM webhook AS w JOIN webhook_progress AS p ON p.webhook_number = w.number
  WHERE w.customer_id = @customerId GROUP BY p.state`;

// There are thousands of webhooks and endpoints at most, so filters scan them.
const WEBHOOK_CONDITIONS: Readonly<Record<string, string>> = {
  customerId: 'w.customer_id = @customerId',
  state: 'p.state = @state',
  troubled: `(@troubled = 'yes' AND ${TROUBLED})`,
  // Index: subscription_webhook.
  eventType: `EXISTS (SELECT 1 FROM subscription AS s WHERE s.webhook_number = w.number
    AND s.pattern IN (@eventType, substr(@eventType, 1, strpos(@eventType, '.')) || '*', '*'))`,
  endpointId: 'w.endpoint_id = @endpointId',
  keyName: 'w.encryption_key_name = @keyName',
  text: 'strpos(lower(w.name), lower(@text)) > 0',
  name: 'lower(w.name) = lower(@name)',
  before: 'w.id < @before',
};
const ENDPOINT_CONDITIONS: Readonly<Record<string, string>> = {
  customerId: 'customer_id = @customerId',
  text: '(strpos(lower(name), lower(@text)) > 0 OR strpos(lower(url), lower(@text)) > 0)',
  // Index: webhook_endpoint.
  state: `CASE WHEN @state <> 'problems' THEN enabled = (@state = 'enabled')
    ELSE ((token_challenge OR verification IS NOT NULL) AND NOT verified) OR EXISTS (
      SELECT 1 FROM webhook AS w JOIN webhook_progress AS p ON p.webhook_number = w.number
      WHERE w.endpoint_id = endpoint.id AND ${TROUBLED}) END`,
  before: 'id < @before',
};

export function directoryStore(db: Database, vault: Vault): DirectoryStore {
  const endpoint = endpointTable(vault);
  return {
    webhooks: async (filter, before, limit) => {
      const { where, params } = conditions(WEBHOOK_CONDITIONS, filter, before);
      const rows = await db.all(`${LISTED} ${where} ORDER BY w.id DESC LIMIT @limit`, { ...params, limit });
      return rows.map(readListing);
    },
    webhook: async (id) => {
      const row = await db.get(`${LISTED} WHERE w.id = @id`, { id });
      return row === undefined ? null : readListing(row);
    },
    webhookNames: async (numbers) => {
      const rows = numbers.length === 0 ? [] : await db.all(WEBHOOK_NAMES, { numbers: JSON.stringify(numbers) });
      return new Map(rows.map(({ number, id, name }) => [Number(number), { id: String(id), name: String(name) }]));
    },
    oldestWaitingAt: async (webhookNumber) => {
      const row = await db.get(OLDEST, { webhookNumber });
      return (row?.at ?? null) as number | null;
    },
    deadRecords: async (webhookNumbers, batches) => {
      const rows = await db.all(DEAD, { webhookNumbers: JSON.stringify(webhookNumbers), limit: batches + 1 });
      return new Map(
        rows.map((row) => {
          const [read = 0, records = 0] = String(row.batches_and_records).split(' ').map(Number);
          return [Number(row.webhook_number), { records, isWhole: read <= batches }];
        }),
      );
    },
    states: async (customerId) => {
      const rows = await (customerId === null ? db.all(STATES, {}) : db.all(STATES_OF_CUSTOMER, { customerId }));
      return Object.fromEntries(rows.map((row) => [String(row.state), Number(row.webhooks)]));
    },
    endpoints: async (filter, before, limit) => {
      const { where, params } = conditions(ENDPOINT_CONDITIONS, filter, before);
      const sql = `SELECT ${endpoint.columns()} FROM endpoint ${where} ORDER BY id DESC LIMIT @limit`;
      return (await db.all(sql, { ...params, limit })).map(endpoint.read);
    },
    countEndpoints: async (filter, limit) => {
      const { where, params } = conditions(ENDPOINT_CONDITIONS, filter, null);
      const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM endpoint ${where} LIMIT @limit) AS fitting`;
      return Number((await db.get(sql, { ...params, limit }))?.n);
    },
    webhooksOf: async (endpointIds, limit) =>
      (await db.all(OF_ENDPOINT, { endpointIds: JSON.stringify(endpointIds), limit })).map(
        ({ pending_records: pending, ...row }) => ({
          ...readRow<Omit<EndpointWebhook, 'pendingRecords'>>(row),
          pendingRecords: Number(pending),
        }),
      ),
    endpointNames: async (customerId, limit) => {
      const rows = customerId === null ? db.all(NAMES, { limit }) : db.all(NAMES_OF_CUSTOMER, { customerId, limit });
      return (await rows).map((row) =>
        readRow<EndpointName>(row, { enabled: flag, tokenChallenge: flag, verified: flag }),
      );
    },
  };
}

function readListing(row: Row): WebhookListing {
  return {
    webhook: readWebhook(row),
    endpointName: row.endpoint_name === null ? null : String(row.endpoint_name),
    endpointEnabled: row.endpoint_enabled === 1 || row.endpoint_name === null,
    pendingRecords: Number(row.waiting),
  };
}

// There are thousands of applications and users at most, so filters scan them.
const APPLICATION_CONDITIONS: Readonly<Record<string, string>> = {
  customerId: 'a.customer_id = @customerId',
  text: '(strpos(lower(a.name), lower(@text)) > 0 OR strpos(lower(a.client_id), lower(@text)) > 0)',
  userId: 'a.user_id = @userId',
  scope: 'EXISTS (SELECT 1 FROM texts(a.scopes) AS held WHERE held.value = @scope)',
  before: 'a.id < @before',
};
const USER_CONDITIONS: Readonly<Record<string, string>> = {
  customerId: 'u.customer_id = @customerId',
  text: '(strpos(lower(u.user_name), lower(@text)) > 0 OR strpos(lower(u.display_name), lower(@text)) > 0)',
  role: 'u.role = @role',
  state: "u.active = (@state = 'active')",
  before: 'u.id < @before',
};
const applicationsSql = (application: ApplicationTable): string => `
  SELECT ${application.columns('a')}, u.user_name AS account_name, u.active AS account_active
  FROM application AS a JOIN user_account AS u ON u.id = a.user_id`;
// Index of the count: application_user.
const USERS = `
  SELECT ${USER.columns('u')}, (SELECT count(*) FROM application AS a WHERE a.user_id = u.id) AS applications
  FROM user_account AS u`;

export function registryStore(db: Database, application: ApplicationTable): RegistryStore {
  const listed = applicationsSql(application);
  return {
    applications: async (filter, before, limit) => {
      const { where, params } = conditions(APPLICATION_CONDITIONS, filter, before);
      const rows = await db.all(`${listed} ${where} ORDER BY a.id DESC LIMIT @limit`, { ...params, limit });
      return rows.map((row) => ({
        application: application.read(row),
        userName: String(row.account_name),
        userActive: row.account_active === 1,
      }));
    },
    users: async (filter, before, limit) => {
      const { where, params } = conditions(USER_CONDITIONS, filter, before);
      const rows = await db.all(`${USERS} ${where} ORDER BY u.id DESC LIMIT @limit`, { ...params, limit });
      return rows.map((row) => ({ user: USER.read(row), applications: Number(row.applications) }));
    },
  };
}

/** Webhooks that a row of a list names. */
const NAMED = 3;

// Indexes: webhook_endpoint and webhook_encryption_key.
const OF_ENDPOINTS =
  'SELECT wanted.value AS used, w.number FROM texts(@wanted) AS wanted JOIN webhook AS w ON w.endpoint_id = wanted.value';
const OF_KEYS =
  'SELECT wanted.value AS used, w.number FROM texts(@wanted) AS wanted JOIN pgp_key AS k ON k.id = wanted.value ' +
  'JOIN webhook AS w ON w.customer_id = k.customer_id AND w.encryption_key_name = k.name';
const OF_PATTERNS =
  'SELECT wanted.value AS used, s.webhook_number AS number FROM texts(@wanted) AS wanted ' +
  'JOIN subscription AS s ON s.pattern = wanted.value';
// A webhook subscribes to a type by its name, by its category or by `*`; each webhook counts once.
const ofEventTypes = (condition: string): string => `
  SELECT DISTINCT wanted.value AS used, s.webhook_number AS number FROM texts(@wanted) AS wanted
  JOIN subscription AS s ON s.pattern IN (wanted.value, substr(wanted.value, 1, strpos(wanted.value, '.')) || '*', '*') ${condition}`;
const OF_EVENT_TYPES = ofEventTypes('');
const OF_EVENT_TYPES_OF_CUSTOMER = ofEventTypes('AND s.customer_id = @customerId');

const SUBSCRIBED = `
  SELECT DISTINCT webhook_number AS number FROM subscription WHERE pattern IN (@type, @category, '*')`;
const SUBSCRIBERS = `
  SELECT w.id, w.name, w.customer_id, w.filter, w.created_at, w.updated_at, p.state FROM (${SUBSCRIBED}) AS u
  JOIN webhook AS w ON w.number = u.number JOIN webhook_progress AS p ON p.webhook_number = u.number
  ORDER BY CASE WHEN w.customer_id IN ('', @audience) THEN 0 ELSE 1 END, w.id LIMIT @limit`;
const SUBSCRIBERS_COUNTED = `
  SELECT count(*) AS total, count(CASE WHEN w.customer_id <> '' THEN 1 END) AS of_customers FROM (${SUBSCRIBED}) AS u
  JOIN webhook AS w ON w.number = u.number`;
const SUBSCRIBER = { customerId: customer, filter: json<Subscriber['filter']>() } as const;

function usesSql(pairs: string): string {
  return `
    SELECT used, uses, id, name, state, filter FROM (
      SELECT u.used, count(*) OVER (PARTITION BY u.used) AS uses,
        row_number() OVER (PARTITION BY u.used ORDER BY w.id) AS place, w.id, w.name, w.filter, p.state
      FROM (${pairs}) AS u
      JOIN webhook AS w ON w.number = u.number JOIN webhook_progress AS p ON p.webhook_number = u.number) AS ranked
    WHERE place <= ${NAMED} ORDER BY used, place`;
}

export function useStore(db: Database): UseStore {
  const read =
    (pairs: string) =>
    async (wanted: readonly string[], more: SqlParameters = {}): Promise<ReadonlyMap<string, Uses>> => {
      const uses = new Map<string, { count: number; first: Use[] }>();
      for (const row of await db.all(usesSql(pairs), { ...more, wanted: JSON.stringify(wanted) })) {
        const used = String(row.used);
        const entry = uses.get(used) ?? { count: Number(row.uses), first: [] };
        entry.first.push({
          id: String(row.id),
          name: String(row.name),
          state: row.state as WebhookState,
          filter: SUBSCRIBER.filter.read(row.filter ?? null, ''),
        });
        uses.set(used, entry);
      }
      return uses;
    };
  const [ofAll, ofCustomer] = [read(OF_EVENT_TYPES), read(OF_EVENT_TYPES_OF_CUSTOMER)];
  return {
    ofEndpoints: read(OF_ENDPOINTS),
    ofKeys: read(OF_KEYS),
    ofPatterns: read(OF_PATTERNS),
    ofEventTypes: (names, customerId) => (customerId === null ? ofAll(names) : ofCustomer(names, { customerId })),
    subscribers: async (type, audience, limit) => {
      const wanted = { type, category: categoryPattern(type) };
      const [rows, counted] = await Promise.all([
        db.all(SUBSCRIBERS, { ...wanted, audience, limit }),
        db.get(SUBSCRIBERS_COUNTED, wanted),
      ]);
      const first = rows.map((row) => readRow<Subscriber>(row, SUBSCRIBER));
      return { first, total: Number(counted?.total), ofCustomers: Number(counted?.of_customers) };
    },
  };
}
