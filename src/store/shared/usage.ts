/** The usage of customers (`customer_usage`). */

import {
  addUsage,
  createUsageCounter,
  noUsage,
  USAGE_COUNTS,
  type Usage,
  type UsageOfDay,
} from '../../domain/usage.ts';
import type { Database, Row, Statement } from '../port/database.ts';
import { mayBeCommitted } from '../port/errors.ts';
import { measured, type StepResult } from '../port/steps.ts';
import type { ListedUsage, UsageStore } from '../port/usage.ts';
import { remover } from './retention.ts';
import { customer, OPERATOR_ID } from './table.ts';

const COUNTS = USAGE_COUNTS.join(', ');
const ADD = `
  INSERT INTO customer_usage (customer_id, day, ${COUNTS}) VALUES (@customerId, @day, ${USAGE_COUNTS.map((name) => `@${name}`).join(', ')})
  ON CONFLICT (customer_id, day) DO UPDATE
  SET ${USAGE_COUNTS.map((name) => `${name} = customer_usage.${name} + excluded.${name}`).join(', ')}`;
// Primary key: one range.
const DAYS = `
  SELECT customer_id, day, ${COUNTS} FROM customer_usage
  WHERE customer_id = @customerId AND day >= @since AND day <= @until ORDER BY day`;
/** SQLite's name of the primary key. Without the hint it would read and sort the whole period by `customer_usage_day` for each page. */
const BY_KEY = 'INDEXED BY sqlite_autoindex_customer_usage_1';
// Primary key, from the last row of the page before. A row that is not of the period is passed over, at worst each row of the table.
const LIST = `
  SELECT u.customer_id, u.day, c.name, c.external_id, ${USAGE_COUNTS.map((name) => `u.${name}`).join(', ')}
  FROM customer_usage AS u ${BY_KEY} LEFT JOIN customer AS c ON c.id = u.customer_id AND c.id <> ''
  WHERE u.day >= @since AND u.day <= @until`;
const OF_CUSTOMER = 'AND u.customer_id = @customerId';
const AFTER = 'AND (u.customer_id, u.day) > (@afterId, @afterDay)';
const AFTER_CUSTOMER = 'AND u.customer_id > @afterId';
// SQLite: the primary key, from the last customer of the page before. PostgreSQL may sum up a short period by its days first.
const SUMS = `
  SELECT s.customer_id, c.name, c.external_id, ${USAGE_COUNTS.map((name) => `s.${name}`).join(', ')}
  FROM (
    SELECT u.customer_id, ${USAGE_COUNTS.map((name) => `CAST(sum(u.${name}) AS BIGINT) AS ${name}`).join(', ')}
    FROM customer_usage AS u ${BY_KEY} WHERE u.day >= @since AND u.day <= @until`;
const SUMS_END = `
    GROUP BY u.customer_id ORDER BY u.customer_id LIMIT @limit) AS s
  LEFT JOIN customer AS c ON c.id = s.customer_id AND c.id <> '' ORDER BY s.customer_id`;
// Index: customer_usage_day.
const DAYS_OF_ALL = `
  SELECT day, ${USAGE_COUNTS.map((name) => `CAST(sum(${name}) AS BIGINT) AS ${name}`).join(', ')}
  FROM customer_usage WHERE day >= @since AND day <= @until GROUP BY day ORDER BY day`;
// Index: customer_usage_day.
const PURGE = `
  DELETE FROM customer_usage WHERE (customer_id, day) IN (
    SELECT customer_id, day FROM customer_usage WHERE day < @before ORDER BY day LIMIT @limit)`;

export function usageStore(database: Database): UsageStore {
  const counter = createUsageCounter();
  const add = (gathered: readonly UsageOfDay[]): Promise<StepResult> =>
    measured(database, async (db) => {
      const statements = sumsOf(gathered).map(
        ({ customerId, day, usage }): Statement => ({
          sql: ADD,
          params: { customerId: idOf(customerId), day, ...usage },
        }),
      );
      if (statements.length > 0) await db.commit(statements);
      return { done: true, rows: gathered.length };
    });
  /** Writes wait for each other, so that nothing is written twice. */
  let last: Promise<unknown> = Promise.resolve();
  return {
    count: counter.count,
    unwritten: counter.size,
    write: (limit) => {
      const next = last.then(async () => {
        const some = counter.first(limit);
        try {
          const result = await add(some);
          counter.forget(some.length);
          return result;
        } catch (error) {
          if (mayBeCommitted(error)) counter.forget(some.length);
          throw error;
        }
      });
      last = next.catch(() => undefined);
      return next;
    },
    days: async (customerId, since, until) =>
      (await database.all(DAYS, { customerId: idOf(customerId), since, until })).map(readDay),
    list: async ({ since, until, customerId }, after, limit) => {
      const sql = [LIST, customerId === undefined ? '' : OF_CUSTOMER, after === null ? '' : AFTER].join(' ');
      const of = customerId === undefined ? {} : { customerId: idOf(customerId) };
      const place = after === null ? {} : { afterId: idOf(after.customerId), afterDay: after.day };
      const params = { since, until, limit, ...of, ...place };
      const rows = await database.all(`${sql} ORDER BY u.customer_id, u.day LIMIT @limit`, params);
      return rows.map((row) => ({ ...readDay(row), ...nameOf(row) }));
    },
    sums: async ({ since, until, customerId }, after, limit) => {
      const sql = [SUMS, customerId === undefined ? '' : OF_CUSTOMER, after === undefined ? '' : AFTER_CUSTOMER];
      const of = customerId === undefined ? {} : { customerId: idOf(customerId) };
      const params = { since, until, limit, ...of, ...(after !== undefined && { afterId: idOf(after) }) };
      const rows = await database.all([...sql, SUMS_END].join(' '), params);
      return rows.map((row) => ({ ...readUsage(row), ...nameOf(row) }));
    },
    daysOfAll: async (since, until) =>
      (await database.all(DAYS_OF_ALL, { since, until })).map((row) => {
        const { usage, day } = readDay(row);
        return { usage, day };
      }),
    purge: (before, limit) => remover(database)(PURGE, { before }, limit),
  };
}

function idOf(customerId: string | null): string {
  return customerId ?? OPERATOR_ID;
}

/** One sum for each row, in the order of the primary key: processes that write the same rows concurrently cannot deadlock. */
function sumsOf(gathered: readonly UsageOfDay[]): UsageOfDay[] {
  const sums = new Map<string, UsageOfDay>();
  for (const { customerId, day, usage } of gathered) {
    const name = `${customerId ?? OPERATOR_ID} ${day}`;
    const sum = sums.get(name) ?? { customerId, day, usage: noUsage() };
    addUsage(sum.usage, usage);
    sums.set(name, sum);
  }
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum);
}

function readDay(row: Row): UsageOfDay {
  return { ...readUsage(row), day: String(row.day) };
}

function readUsage(row: Row): Omit<UsageOfDay, 'day'> {
  const usage = Object.fromEntries(USAGE_COUNTS.map((name) => [name, Number(row[name])])) as Usage;
  return { customerId: customer.read(row.customer_id ?? OPERATOR_ID, ''), usage };
}

function nameOf(row: Row): Pick<ListedUsage, 'name' | 'externalId'> {
  return {
    name: row.name === null || row.name === undefined ? null : String(row.name),
    externalId: row.external_id === null || row.external_id === undefined ? null : String(row.external_id),
  };
}
