/** The state of the service for the overview: waiting records, failing webhooks and dead letters. Reads only. */

import type { Database, SqlParameters } from '../port/database.ts';
import type { Ailing, Backlog, OverviewStore, SetUp, Waiting } from '../port/overview.ts';
import { OLDEST_WAITING_AT, RECORDS_WAITING } from './delivery/queues.ts';
import { readRow } from './table.ts';
import { TROUBLED } from './webhooks/webhooks.ts';

// Three look-ups for each webhook with waiting records, of thousands at most.
const HAS_WAITING = `${RECORDS_WAITING} > 0`;
const waiting = (from: string): string => `
  SELECT p.webhook_number, p.state, ${RECORDS_WAITING} AS records, ${OLDEST_WAITING_AT} AS oldest_at
  FROM ${from} AND ${HAS_WAITING}`;
const backlog = (from: string): string => `
  SELECT coalesce(sum(records), 0) AS records, min(oldest_at) AS oldest_at, count(*) AS webhooks FROM (${waiting(from)}) AS q`;
const longest = (from: string): string => `
  SELECT w.id, w.name, q.state, q.records, q.oldest_at FROM (${waiting(from)}) AS q CROSS JOIN webhook AS w
  WHERE w.number = q.webhook_number
  ORDER BY q.records DESC, w.id LIMIT @limit`;
const ailing = (condition: string): string => `
  SELECT w.id, w.name, w.number AS webhook_number, e.id AS endpoint_id, e.name AS endpoint_name,
    p.state, p.state_reason AS reason, p.state_detail AS detail,
    CASE WHEN p.state = 'failing' THEN coalesce(p.failing_since_at, p.state_at) ELSE p.state_at END AS since, ${RECORDS_WAITING} AS waiting
  FROM webhook AS w JOIN webhook_status AS p ON p.webhook_number = w.number CROSS JOIN endpoint AS e
  WHERE w.number = p.webhook_number AND e.id = w.endpoint_id ${condition}
    AND ${TROUBLED}
  ORDER BY since DESC LIMIT @limit`;
const dead = (from: string): string => `
  SELECT coalesce(sum(records), 0) AS records, count(*) AS batches FROM (
    SELECT b.last_offset - b.first_offset + 1 AS records FROM ${from} b.state = 'dead' LIMIT @limit) AS dead`;
// Each reads up to the first row that answers it.
const setUp = (own: string, types: string, customers: string): string => {
  const progress = `webhook AS w CROSS JOIN webhook_progress AS p WHERE ${own} AND p.webhook_number = w.number`;
  return `
  SELECT (SELECT count(*) FROM (SELECT 1 FROM application WHERE ${own} LIMIT 2) AS q) > 1 AS applications,
    EXISTS (SELECT 1 FROM customer WHERE ${customers}) AS customers,
    EXISTS (SELECT 1 FROM event_type WHERE ${types}) AS event_types,
    EXISTS (SELECT 1 FROM endpoint WHERE ${own}) AS endpoints,
    EXISTS (SELECT 1 FROM endpoint WHERE ${own} AND enabled) AS enabled_endpoints,
    EXISTS (SELECT 1 FROM pgp_key WHERE ${own}) AS keys,
    EXISTS (SELECT 1 FROM webhook WHERE ${own}) AS webhooks,
    EXISTS (SELECT 1 FROM ${progress} AND p.state <> 'stopped') AS started_webhooks,
    EXISTS (SELECT 1 FROM ${progress} AND p.state = 'running') AS running_webhooks`;
};

// Index of a customer's: webhook_customer.
const OWN =
  'webhook AS w CROSS JOIN webhook_status AS p WHERE w.customer_id = @customerId AND p.webhook_number = w.number';
const OF_ALL = {
  backlog: backlog('webhook_status AS p WHERE true'),
  longest: longest('webhook_status AS p WHERE true'),
  ailing: ailing(''),
  dead: dead('batch AS b INDEXED BY batch_dead WHERE'),
  setUp: setUp('true', 'NOT built_in', "id <> ''"),
};
const OF_CUSTOMER = {
  backlog: backlog(OWN),
  longest: longest(OWN),
  ailing: ailing('AND w.customer_id = @customerId'),
  dead: dead(
    'webhook AS w CROSS JOIN batch AS b INDEXED BY batch_dead WHERE w.customer_id = @customerId AND b.webhook_number = w.number AND',
  ),
  setUp: setUp('customer_id = @customerId', 'NOT built_in AND public', 'id = @customerId'),
};

/** Dead batches that are counted at most. */
const DEAD_COUNTED = 10_000;

function of(customerId: string | null): readonly [typeof OF_ALL, SqlParameters] {
  return customerId === null ? [OF_ALL, {}] : [OF_CUSTOMER, { customerId }];
}

export function overviewStore(db: Database): OverviewStore {
  return {
    backlog: async (customerId, limit) => {
      const [sql, own] = of(customerId);
      const all = await db.get(sql.backlog, own);
      const found = (await db.all(sql.longest, { ...own, limit })).map((row) => readRow<Waiting>(row));
      return { ...readRow<Omit<Backlog, 'longest'>>(all ?? {}), longest: found };
    },
    ailing: async (customerId, limit) => {
      const [sql, own] = of(customerId);
      return (await db.all(sql.ailing, { ...own, limit })).map((row) => readRow<Ailing>(row));
    },
    dead: async (customerId) => {
      const [sql, own] = of(customerId);
      const row = await db.get(sql.dead, { ...own, limit: DEAD_COUNTED });
      return { records: Number(row?.records), more: Number(row?.batches) === DEAD_COUNTED };
    },
    setUp: async (customerId) => {
      const [sql, own] = of(customerId);
      const steps = readRow<Record<keyof SetUp, number>>((await db.get(sql.setUp, own)) ?? {});
      return Object.fromEntries(Object.entries(steps).map(([step, isDone]) => [step, isDone === 1])) as SetUp;
    },
  };
}
