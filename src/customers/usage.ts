/** Reads what customers used (contract §8.9), as JSON and as CSV. */

import { z } from 'zod';
import type { Customer } from '../domain/customer.ts';
import { USAGE_KEPT_DAYS } from '../domain/limits.ts';
import { addUsage, DAY_MS, dayOf, noUsage, USAGE_COUNTS, type Usage } from '../domain/usage.ts';
import { type CsvValue, csvLine } from '../kernel/csv.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import { nextTurn } from '../kernel/turns.ts';
import { readPage } from '../resources/list-rules.ts';
import type { CustomerHealth, CustomerVerbs } from '../store/port/customers.ts';
import type { Store } from '../store/port/store.ts';
import type { ListedUsage, UsageStore } from '../store/port/usage.ts';
import type { Customers } from './customers.ts';

/** The period of a reply without `since`. */
const USAGE_DAYS_DEFAULT = 30;

/** Rows of a CSV file, about 100 bytes each. */
const USAGE_CSV_ROWS_MAX = 100_000;

const count = (description: string) => z.int().meta({ description });
const usageShape = {
  events: count('Events that were published for the customer. Those for everyone count for the operator.'),
  deliveries: count('Records that its webhooks delivered.'),
  attempts: count('Requests of its webhooks that carried records.'),
  failures: count('Attempts that failed.'),
  bytes: count('Bytes of the bodies of attempts that the receiver answered, compressed and encrypted as sent.'),
  tokens: count('Access tokens that were issued to its applications.'),
};
const day = z.iso.date().meta({ description: 'A day in UTC, as 2026-11-21.' });
const limitView = z.object({ count: z.int(), limit: z.int() });

export const customerUsageView = z
  .object({
    customerId: z.string(),
    since: day,
    until: day,
    items: z.array(z.object({ day, ...usageShape })).meta({ description: 'Every day of the period, oldest first.' }),
    total: z.object(usageShape),
    limits: z.object({ endpoints: limitView, webhooks: limitView, eventsPerSecond: z.int().nullable() }).meta({
      description: 'The limits of the customer, and what it has of them now. `eventsPerSecond` null: no limit.',
    }),
  })
  .meta({ id: 'CustomerUsage', description: 'What a customer used, by day.' });
export type CustomerUsageView = z.infer<typeof customerUsageView>;

export const listedUsageView = z
  .object({
    customerId: z.string().nullable().meta({ description: 'Null: the operator.' }),
    customerExternalId: z.string().nullable(),
    customerName: z.string().nullable().meta({ description: 'Null for the operator, and for a deleted customer.' }),
    day: day.nullable().meta({ description: 'Null: the whole period.' }),
    ...usageShape,
  })
  .meta({ id: 'Usage', description: 'What a customer used on a day, or in a period.' });
export type ListedUsageView = z.infer<typeof listedUsageView>;

/** Both days are part of it. */
export type UsagePeriod = { readonly since: string; readonly until: string };

export type UsageQuery = UsagePeriod & {
  /** A row for each day, or the sum of the period. */
  readonly by: 'day' | 'customer';
  /** Of this customer; null: of all. */
  readonly customerId: string | null;
};

type UsagePage = { readonly items: readonly ListedUsageView[]; readonly nextCursor: string | null };

export type UsageReads = {
  /** Throws 404 for an unknown customer. Also takes `externalId:…`. */
  ofCustomer(customer: string, period: UsagePeriod): Promise<CustomerUsageView>;
  /** Every day of the period, and its total, over all customers and the operator. */
  ofAll(period: UsagePeriod): Promise<Pick<CustomerUsageView, 'items' | 'total'>>;
  /** By id: how customers are doing. */
  health(customerIds: readonly string[]): Promise<ReadonlyMap<string, CustomerHealth>>;
  /** Days with usage, or sums, by customer, deleted customers included. Throws 404 for an unknown customer. */
  list(query: UsageQuery, page: { readonly cursor: string | null; readonly limit: number }): Promise<UsagePage>;
  /** The same as CSV, whole. Throws 400 if it has more than `USAGE_CSV_ROWS_MAX` rows. */
  csv(query: UsageQuery): Promise<string>;
};

type Dependencies = {
  readonly store: CustomerVerbs & Pick<Store, 'customerId'>;
  /** Reads all customers. A customer's part of the service does not call it. */
  readonly customers: Pick<Customers, 'get'>;
};

const PAGE = 1000;

export function createUsageReads({ store, customers }: Dependencies): UsageReads {
  const { usage, customerId: own } = store;
  const find = async (text: string): Promise<Customer> => {
    if (own === null) return customers.get(text);
    const customer = text === own ? await store.customers.get(own) : null;
    if (customer === null) throw new Refusal('not_found', `there is no customer ${text.slice(0, 64)}`);
    return customer;
  };
  /** So that the reply includes what this process has counted so far. Reads still work while nothing can be written. */
  const writeCounted = async (): Promise<void> => {
    // If it fails, it stays counted, and the job that writes usage reports the error.
    await writeUsage(usage).catch(() => undefined);
  };
  const read = async (
    {
      by,
      customerId,
      since,
      until,
    }: Omit<UsageQuery, 'customerId'> & { readonly customerId: string | null | undefined },
    after: Place | null,
    limit: number,
  ): Promise<ListedUsageView[]> => {
    const period = { since, until, customerId };
    const rows =
      by === 'day' ? await usage.list(period, after, limit) : await usage.sums(period, after?.customerId, limit);
    return rows.map(viewListed);
  };
  /** The query with the id of the customer. */
  const resolved = async (query: UsageQuery) => {
    const customerId = query.customerId === null ? undefined : (await find(query.customerId)).id;
    await writeCounted();
    return { ...query, customerId };
  };
  return {
    ofCustomer: async (text, { since, until }) => {
      const { id, limits } = await find(text);
      await writeCounted();
      const [found, belongings] = await Promise.all([usage.days(id, since, until), store.customers.belongings([id])]);
      const items = everyDay({ since, until }, found);
      const { endpoints = 0, webhooks = 0 } = belongings.get(id) ?? {};
      return {
        customerId: id,
        since,
        until,
        items,
        total: sumOf(items),
        limits: {
          endpoints: { count: endpoints, limit: limits.endpoints },
          webhooks: { count: webhooks, limit: limits.webhooks },
          eventsPerSecond: limits.eventsPerSecond,
        },
      };
    },
    ofAll: async (period) => {
      await writeCounted();
      const items = everyDay(period, await usage.daysOfAll(period.since, period.until));
      return { items, total: sumOf(items) };
    },
    health: async (customerIds) => {
      await writeCounted();
      return store.customers.health(customerIds);
    },
    list: async (query, { cursor, limit }) => {
      const after = cursor === null ? null : readCursor(cursor);
      const filter = await resolved(query);
      return readPage({ limit }, (count) => read(filter, after, count), cursorOf);
    },
    csv: async (query) => {
      const filter = await resolved(query);
      const lines = [csvLine(CSV_COLUMNS)];
      for (let after: Place | null = null; ; ) {
        const rows = await read(filter, after, PAGE);
        lines.push(...rows.map((row) => csvLine(csvValues(row, query))));
        if (lines.length > USAGE_CSV_ROWS_MAX + 1)
          throw refuseField(
            'since',
            `asks for more than ${USAGE_CSV_ROWS_MAX} rows: ask for fewer days or one customer`,
          );
        const last = rows.at(-1);
        if (rows.length < PAGE || last === undefined) return lines.join('');
        after = placeOf(last);
        // A read of SQLite does not let other work run.
        await nextTurn();
      }
    },
  };
}

/** Writes the counts from before the call. Counts of requests during it stay in memory, so it ends although requests do not. */
export async function writeUsage(usage: Pick<UsageStore, 'unwritten' | 'write'>): Promise<void> {
  for (let left = usage.unwritten(); left > 0; left -= PAGE) await usage.write(Math.min(left, PAGE));
}

const CSV_COLUMNS = ['since', 'until', 'customerId', 'customerExternalId', 'customerName', ...USAGE_COUNTS];

function csvValues(row: ListedUsageView, { since, until }: UsagePeriod): CsvValue[] {
  const { day: only, customerId, customerExternalId, customerName } = row;
  const period = [only ?? since, only ?? until];
  return [...period, customerId, customerExternalId, customerName, ...USAGE_COUNTS.map((name) => row[name])];
}

/** The name of a CSV file. */
export function usageFileName({ since, until }: UsagePeriod): string {
  return `usage-${since}-${until}.csv`;
}

function viewListed(row: Omit<ListedUsage, 'day'> & { readonly day?: string }): ListedUsageView {
  const { customerId, externalId, name, usage } = row;
  return { customerId, customerExternalId: externalId, customerName: name, day: row.day ?? null, ...usage };
}

type Place = { readonly customerId: string | null; readonly day: string };

function placeOf({ customerId, day: at }: ListedUsageView): Place {
  return { customerId, day: at ?? '' };
}

/** The customer's id, which is empty for the operator, and the day, which is empty for sums. */
const CURSOR = /^([0-9a-f-]{0,36})_(\d{4}-\d\d-\d\d|)$/;

function cursorOf(last: ListedUsageView): string {
  return `${last.customerId ?? ''}_${last.day ?? ''}`;
}

function readCursor(text: string): Place {
  const [, id, at] = CURSOR.exec(text) ?? [];
  if (id === undefined || at === undefined) throw refuseField('cursor', 'is not a cursor of this list');
  return { customerId: id === '' ? null : id, day: at };
}

function sumOf(items: readonly Usage[]): Usage {
  const total = noUsage();
  for (const item of items) addUsage(total, item);
  return total;
}

function everyDay(
  period: UsagePeriod,
  found: readonly { readonly day: string; readonly usage: Usage }[],
): CustomerUsageView['items'] {
  const byDay = new Map(found.map((one) => [one.day, one.usage]));
  return daysOf(period).map((one) => ({ day: one, ...(byDay.get(one) ?? noUsage()) }));
}

function daysOf({ since, until }: UsagePeriod): string[] {
  const days: string[] = [];
  for (let at = Date.parse(since); at <= Date.parse(until); at += DAY_MS) days.push(dayOf(at));
  return days;
}

const NOT_A_DAY = 'must be a day, as 2026-11-21';
const isDay = (text: string): boolean => z.iso.date().safeParse(text).success;

/** The period that a query asks for; by default the last 30 days. Throws 400. */
export function readUsagePeriod(query: URLSearchParams, now: number): UsagePeriod {
  const [askedSince, askedUntil] = [query.get('since'), query.get('until')];
  if (askedSince !== null && !isDay(askedSince)) throw refuseField('since', NOT_A_DAY);
  if (askedUntil !== null && !isDay(askedUntil)) throw refuseField('until', NOT_A_DAY);
  const until = askedUntil ?? dayOf(Math.max(now, askedSince === null ? 0 : Date.parse(askedSince)));
  const since = askedSince ?? dayOf(Date.parse(until) - (USAGE_DAYS_DEFAULT - 1) * DAY_MS);
  if (since > until) throw refuseField('until', 'must not be before since');
  if (Date.parse(until) - Date.parse(since) >= USAGE_KEPT_DAYS * DAY_MS)
    throw refuseField('since', `must be at most ${USAGE_KEPT_DAYS} days before until: usage is kept that long`);
  return { since, until };
}
