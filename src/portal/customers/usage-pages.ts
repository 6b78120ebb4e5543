/** The usage and limits of customers: by day of one customer, in the operator's and in its own portal, and the sums of all of them. */

import {
  type CustomerUsageView,
  type ListedUsageView,
  readUsagePeriod,
  type UsagePeriod,
  type UsageReads,
} from '../../customers/usage.ts';
import { PAGE_DEFAULT } from '../../domain/limits.ts';
import { DAY_MS, dayOf, USAGE_COUNTS, type Usage } from '../../domain/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { csvReply } from '../../http/routes/usage.ts';
import { type PageCall, pathId, type Raw, type View } from '../frame/call.ts';
import type { PageDependencies, PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { definitionList, figures } from '../parts/details.ts';
import { buttonRow, linkButton, pageHeader, section, tabs } from '../parts/header.ts';
import { emptyState, listResults, table, withQuery } from '../parts/list.ts';
import { notice } from '../parts/mark.ts';
import { countText, dayText, sizeText } from '../parts/text.ts';
import { YOUR_OWN } from '../record/owner.ts';
import { customerHeader } from './customer-page.ts';

const PATH = '/usage';

/** `/usage` with the sums of all customers, and `/customers/{id}/usage` of one. */
export function usagePages({
  pages,
  services: { usage, customers },
  hasPage,
}: PageDependencies): PageRoute<'operator'>[] {
  const of = '/customers/{id}/usage';
  return [
    pages.view(PATH, 'operator', (call) => allView(usage, call)),
    pages.view(`${PATH}.csv`, 'operator', async ({ query, now }) => {
      const period = readUsagePeriod(query, now);
      return download(await usage.csv({ ...period, by: 'day', customerId: null }), period);
    }),
    pages.view(of, 'operator', async (call) => {
      const customer = await customers.get(pathId(call));
      const { id, name } = customer;
      const used = await usage.ofCustomer(id, readUsagePeriod(call.query, call.now));
      const [title, path] = [`Usage of ${name}`, `/customers/${id}/usage`];
      const actions = [csvButton(path, used)];
      if (!hasPage('/customers/{id}')) {
        const crumbs = [{ href: PATH, label: 'Usage' }];
        return { title, content: oneView(call, used, path, pageHeader({ title, lead: UTC_DAYS, crumbs, actions })) };
      }
      const head = html`
        ${customerHeader(call, customer, 'usage')}
        <div class="under-tabs-head"><p class="quiet">${UTC_DAYS}</p>${buttonRow(actions)}</div>
      `;
      return { title, content: oneView(call, used, path, head) };
    }),
    pages.view(`${of}.csv`, 'operator', (call) => downloadOne(usage, pathId(call), call)),
  ];
}

/** `/usage` in the portal of a customer. */
export function ownUsagePages({
  pages,
  store,
  services: { usage },
}: SharedPageDependencies<'customers'>): PageRoute<'customers'>[] {
  const own = store.customerId ?? '';
  return [
    pages.view(PATH, 'customers', async (call) => {
      const used = await usage.ofCustomer(own, readUsagePeriod(call.query, call.now));
      const title = 'Usage';
      const lead = `What was sent for you. ${UTC_DAYS}`;
      const head = pageHeader({ title, lead, actions: [csvButton(PATH, used)] });
      return { title, content: oneView(call, used, PATH, head) };
    }),
    pages.view(`${PATH}.csv`, 'customers', (call) => downloadOne(usage, own, call)),
  ];
}

async function downloadOne(usage: UsageReads, customerId: string, { query, now }: PageCall): Promise<Raw> {
  const period = readUsagePeriod(query, now);
  return download(await usage.csv({ ...period, by: 'day', customerId }), period);
}

function download(csv: string, period: UsagePeriod): Raw {
  return { reply: csvReply(csv, period) };
}

const UTC_DAYS = 'Days begin and end in UTC.';

function oneView({ query, now }: PageCall, used: CustomerUsageView, path: string, head: Html): Html {
  return html`
    ${head}
    ${periodTabs(path, query, used, now)}
    ${usageFigures(used.total)}
    ${limitsSection(used)}
    ${daysSection(used)}
  `;
}

async function allView(usage: UsageReads, { query, now }: PageCall): Promise<View> {
  const period = readUsagePeriod(query, now);
  const page = { cursor: query.get('cursor'), limit: PAGE_DEFAULT };
  const [{ items, nextCursor }, all] = await Promise.all([
    usage.list({ ...period, by: 'customer', customerId: null }, page),
    usage.ofAll(period),
  ]);
  const results = listResults({ path: PATH, query, nextCursor, results: customersTable(items, all.total, period) });
  const content = html`
    ${pageHeader({
      title: 'Usage',
      lead: 'What you and your customers used in the period. Days begin and end in UTC.',
      actions: [csvButton(PATH, period)],
    })}
    ${periodTabs(PATH, query, period, now)}
    ${usageFigures(all.total)}
    ${barColumns(all)}
    <div id="results" class="results">${results}</div>
  `;
  return { title: 'Usage', content };
}

function csvButton(path: string, { since, until }: UsagePeriod): Html {
  return linkButton({ href: `${path}.csv?${new URLSearchParams({ since, until })}`, label: 'Download as CSV' });
}

function usageFigures(total: Usage): Html {
  const { events, deliveries, attempts, failures, bytes, tokens } = total;
  return figures([
    { label: 'Events', value: countText(events), hint: 'published' },
    { label: 'Deliveries', value: countText(deliveries), hint: 'accepted by receivers' },
    {
      label: 'Failures',
      value: countText(failures),
      hint: `of ${countText(attempts)} attempts`,
      tone: failures > 0 ? 'caution' : 'neutral',
    },
    { label: 'Sent', value: sizeText(bytes), hint: 'in answered requests' },
    ...(tokens === 0 ? [] : [{ label: 'Tokens', value: countText(tokens), hint: 'issued to applications' }]),
  ]);
}

/** Says too when nothing more can be added. */
function limitsSection(used: CustomerUsageView): Html {
  const full = (['endpoints', 'webhooks'] as const).filter((name) => {
    const { count, limit } = used.limits[name];
    return count >= limit;
  });
  const warning =
    full.length === 0
      ? null
      : notice({ tone: 'caution', text: `The limit of ${full.join(' and ')} is reached: no more can be created.` });
  return section({ title: 'Limits', content: html`${warning}${definitionList(limitEntries(used))}` });
}

function limitEntries({ limits: { endpoints, webhooks, eventsPerSecond } }: CustomerUsageView) {
  return [
    ['Endpoints', limitText(endpoints)],
    ['Webhooks', limitText(webhooks)],
    ['Events a second', eventsPerSecond === null ? 'no limit' : `up to ${countText(eventsPerSecond)}`],
  ] as const;
}

function limitText({ count, limit }: CustomerUsageView['limits']['endpoints']): string {
  return `${countText(count)} of ${countText(limit)}`;
}

const LABELS: Readonly<Record<keyof Usage, string>> = {
  events: 'Events',
  deliveries: 'Deliveries',
  attempts: 'Attempts',
  failures: 'Failures',
  bytes: 'Sent',
  tokens: 'Tokens',
};

/** The columns of a table: tokens only if there are any. */
function countedIn({ tokens }: Usage): (keyof Usage)[] {
  return USAGE_COUNTS.filter((name) => name !== 'tokens' || tokens > 0);
}

function columnsOf(total: Usage) {
  return countedIn(total).map((name) => ({ label: LABELS[name], kind: 'number' as const, phone: 'named' as const }));
}

function counts(usage: Usage, total: Usage): (string | 0)[] {
  return countedIn(total).map((name) =>
    usage[name] === 0 ? 0 : name === 'bytes' ? sizeText(usage.bytes) : countText(usage[name]),
  );
}

function strong(text: string | 0): Html {
  return html`<strong>${text}</strong>`;
}

function daysSection(used: CustomerUsageView): Html {
  const rows = used.items.filter((item) => USAGE_COUNTS.some((name) => item[name] > 0)).toReversed();
  return section({
    title: 'By day',
    isPlain: true,
    content: html`
      ${rows.length === 0 ? null : barColumns(used)}
      ${table({
        caption: 'Usage by day',
        columns: [{ label: 'Day (UTC)', kind: 'main' }, ...columnsOf(used.total)],
        rows: [
          ...rows.map((item) => [dayText(item.day), ...counts(item, used.total)]),
          ...(rows.length < 2 ? [] : [[html`<strong>Total</strong>`, ...counts(used.total, used.total).map(strong)]]),
        ],
        empty: emptyState({ title: 'Nothing was used', text: 'Days with usage are listed here.' }),
      })}
    `,
  });
}

function customersTable(items: readonly ListedUsageView[], total: Usage, { since, until }: UsagePeriod): Html {
  const query = new URLSearchParams({ since, until });
  return table({
    caption: 'Usage by customer',
    columns: [{ label: 'Customer', kind: 'main' }, ...columnsOf(total)],
    rows: items.map((item) => [customerCell(item, `${query}`), ...counts(item, total)]),
    empty: emptyState({ title: 'Nothing was used', text: 'Customers with usage in the period are listed here.' }),
  });
}

function customerCell({ customerId, customerName, customerExternalId }: ListedUsageView, query: string): Html {
  if (customerId === null) return html`${YOUR_OWN}<span class="cell-hint">what no customer owns</span>`;
  const hint = customerExternalId ?? customerId;
  if (customerName === null) return html`A deleted customer<span class="cell-hint">${hint}</span>`;
  return html`
    <a href="/customers/${customerId}/usage?${query}">${customerName}</a>
    <span class="cell-hint">${hint}</span>
  `;
}

const BAR_WIDTH = 10;
const BARS_HEIGHT = 80;
/** More days than this have a bar a week: a bar must be wide enough to be pointed at. */
const DAYS_SHOWN = 62;
const WEEK_DAYS = 7;

type Drawn = 'events' | 'deliveries' | 'failures';

function barColumns(used: Pick<CustomerUsageView, 'items' | 'total'>): Html {
  return html`<div class="columns">${(['events', 'deliveries', 'failures'] as const).map((name) => bars(used, name))}</div>`;
}

type Bar = { readonly day: string; readonly count: number };

/** One bar for each day of the period, or each week; nothing if all are zero. The table beside it has the same numbers. */
function bars({ items, total }: Pick<CustomerUsageView, 'items' | 'total'>, name: Drawn): Html | null {
  if (total[name] === 0) return null;
  const isWeekly = items.length > DAYS_SHOWN;
  const drawn = barsOf(items, name, isWeekly ? WEEK_DAYS : 1);
  const most = Math.max(...drawn.map(({ count }) => count));
  const top = roundedUp(most);
  const busiest = drawn.find(({ count }) => count === most)?.day ?? '';
  const span = isWeekly ? 'week' : 'day';
  const when = isWeekly ? 'in the week from' : 'on';
  const width = drawn.length * BAR_WIDTH;
  return html`
    <figure class="usage-bars">
      <figcaption>
        <strong>${LABELS[name]} per ${span}</strong>
        <span>busiest: ${countText(most)} ${when} ${dayText(busiest)}</span>
      </figcaption>
      <div class="usage-plot">
        <p class="usage-scale" aria-hidden="true"><span>${countText(top)}</span><span>0</span></p>
        <svg viewBox="0 0 ${width} ${BARS_HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
          <path class="usage-line" d="M0 0H${width}M0 ${BARS_HEIGHT / 2}H${width}"/>
          ${drawn.map((bar, at) => barShape(bar, at, top, isWeekly))}
        </svg>
      </div>
      <p class="usage-days" aria-hidden="true">
        <span>${dayText(items[0]?.day ?? '')}</span><span>${dayText(items.at(-1)?.day ?? '')}</span>
      </p>
    </figure>
  `;
}

/** The sums of `days` at a time. */
function barsOf(items: CustomerUsageView['items'], name: Drawn, days: number): Bar[] {
  const count = Math.ceil(items.length / days);
  return Array.from({ length: count }, (_, at) => {
    const own = items.slice(at * days, (at + 1) * days);
    return { day: own[0]?.day ?? '', count: own.reduce((sum, item) => sum + item[name], 0) };
  });
}

function barShape({ day, count }: Bar, at: number, top: number, isWeekly: boolean): Html | null {
  if (count === 0) return null;
  const height = Math.ceil((count / top) * BARS_HEIGHT);
  return html`
    <rect x="${at * BAR_WIDTH + 1}" y="${BARS_HEIGHT - height}" width="${BAR_WIDTH - 2}" height="${height}">
      <title>${isWeekly ? 'week from ' : ''}${dayText(day)}: ${countText(count)}</title>
    </rect>
  `;
}

/** The end of the scale: the next of 1, 2 and 5 with zeros. */
function roundedUp(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 5, 10].find((one) => one * power >= most) ?? 10;
  return step * power;
}

/** Links to the same page with another period. */
function periodTabs(path: string, query: URLSearchParams, { since, until }: UsagePeriod, now: number): Html {
  const today = dayOf(now);
  const ago = (days: number): string => dayOf(now - days * DAY_MS);
  const month = `${today.slice(0, 7)}-01`;
  const monthBefore = dayOf(Date.parse(month) - DAY_MS);
  const periods = [
    { label: '30 days', since: ago(29), until: today },
    { label: 'This month', since: month, until: today },
    { label: 'Last month', since: `${monthBefore.slice(0, 7)}-01`, until: monthBefore },
    { label: '12 months', since: ago(364), until: today },
  ];
  return tabs(
    'Period',
    periods.map((one) => ({
      href: withQuery(path, query, { since: one.since, until: one.until, cursor: null }),
      label: one.label,
      isCurrent: one.since === since && one.until === until,
    })),
  );
}
