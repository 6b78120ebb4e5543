/** The usage of customers, as JSON and as CSV (contract §8.9). A customer's applications see only its own. */

import { z } from 'zod';
import {
  customerUsageView,
  listedUsageView,
  readUsagePeriod,
  type UsageQuery,
  type UsageReads,
  usageFileName,
} from '../../customers/usage.ts';
import { PAGE_DEFAULT, PAGE_MAX } from '../../domain/limits.ts';
import type { Clock } from '../../kernel/ids.ts';
import { refuseField } from '../../kernel/refusal.ts';
import { page } from '../../kernel/schemas.ts';
import { readLimit } from '../paging.ts';
import { guardedRoute, idInPath, okReply } from '../resource-routes.ts';
import type { Reply, Route } from '../route.ts';

type Dependencies = { readonly usage: UsageReads; readonly clock: Clock };

const PERIOD: NonNullable<Route['query']> = {
  since: { schema: z.iso.date(), description: 'The first day (UTC). By default 29 days before `until`.' },
  until: { schema: z.iso.date(), description: 'The last day (UTC). By default today.' },
};
const LIST: NonNullable<Route['query']> = {
  ...PERIOD,
  by: {
    schema: z.enum(['day', 'customer']).default('day'),
    description: 'An item for each day of a customer, or one for the whole period.',
  },
  customerId: { schema: z.string(), description: 'Only of this customer: its id, or `externalId:…`.' },
};
const CSV_REPLIES: Route['replies'] = {
  200: { description: 'A line for each item, in UTF-8 (RFC 4180)', schema: z.string(), mediaType: 'text/csv' },
};
const NO_CUSTOMER: Route['replies'] = { 404: { description: 'There is no such customer' } };
const CSV_TEXT =
  'What begins like a formula, with `=`, `+`, `-`, `@`, a tab or a carriage return, gets an apostrophe before ' +
  'it, at the start of a name and after each `;`, `,`, `|`, tab and line end in it.';

/** The routes for the usage of one customer, for the operator. */
export function customerUsageRoutes({ usage, clock }: Dependencies): Route<'operator'>[] {
  return [
    guardedRoute('GET', 'customers/{id}/usage', {
      for: 'operator',
      tag: 'customers',
      operationId: 'getCustomerUsage',
      summary: 'Read the usage of a customer',
      description: 'The last half a minute of what other instances counted may be missing.',
      query: PERIOD,
      replies: { 200: { description: 'The usage, and the limits', schema: customerUsageView } },
      respond: async (call) => okReply(await usage.ofCustomer(idInPath(call), readUsagePeriod(call.query, clock()))),
    }),
    guardedRoute('GET', 'customers/{id}/usage.csv', {
      for: 'operator',
      tag: 'customers',
      operationId: 'getCustomerUsageCsv',
      summary: 'Download the usage of a customer',
      description: CSV_TEXT,
      query: PERIOD,
      replies: CSV_REPLIES,
      respond: async (call) => {
        const period = readUsagePeriod(call.query, clock());
        const query: UsageQuery = { ...period, by: 'day', customerId: idInPath(call) };
        return csvReply(await usage.csv(query), query);
      },
    }),
  ];
}

/** The routes for the usage of all customers; a customer gets its own. */
export function usageRoutes({ usage, clock }: Dependencies): Route<'both'>[] {
  return [
    guardedRoute('GET', 'usage', {
      for: 'both',
      tag: 'usage',
      operationId: 'listUsage',
      summary: 'List the usage of customers',
      description: 'Days without usage are left out. The usage of deleted customers stays until it expires.',
      query: {
        limit: { schema: z.int().min(1).max(PAGE_MAX).default(PAGE_DEFAULT), description: 'How many items at most.' },
        cursor: { schema: z.string().max(64), description: '`nextCursor` of the page before.' },
        ...LIST,
      },
      replies: { 200: { description: 'A page of usage', schema: page(listedUsageView) }, ...NO_CUSTOMER },
      respond: async ({ query }) =>
        okReply(await usage.list(readQuery(query, clock()), { cursor: query.get('cursor'), limit: readLimit(query) })),
    }),
    guardedRoute('GET', 'usage.csv', {
      for: 'both',
      tag: 'usage',
      operationId: 'listUsageCsv',
      summary: 'Download the usage of customers',
      description: CSV_TEXT,
      query: LIST,
      replies: { ...CSV_REPLIES, ...NO_CUSTOMER },
      respond: async (call) => {
        const query = readQuery(call.query, clock());
        return csvReply(await usage.csv(query), query);
      },
    }),
  ];
}

function readQuery(query: URLSearchParams, now: number): UsageQuery {
  const by = query.get('by') ?? 'day';
  if (by !== 'day' && by !== 'customer') throw refuseField('by', 'must be one of day, customer');
  return { ...readUsagePeriod(query, now), by, customerId: query.get('customerId') };
}

/** A browser saves it as a file. */
export function csvReply(body: string, period: Pick<UsageQuery, 'since' | 'until'>): Reply {
  const headers = {
    'Content-Type': 'text/csv; charset=utf-8; header=present',
    'Content-Disposition': `attachment; filename="${usageFileName(period)}"`,
  };
  return { status: 200, headers, body };
}
