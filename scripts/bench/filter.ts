/**
 * Time that one judgement of an event by a filter takes: typical filters, and the worst ones that the limits allow, on the events that cost
 * them most. Run: `npm run bench:filter`. docs/planning.md has the figures.
 */

import {
  compileFilter,
  type EventFilter,
  FILTER_BYTES,
  FILTER_CONDITIONS,
  FILTER_STEPS,
  filterProblem,
  type Judged,
} from '../../src/domain/filter.ts';
import { EVENT_DATA_BYTES } from '../../src/events/limits.ts';
import { median } from './report/statistics.ts';

const ROUNDS = 7;
const ROUND_MS = 200;

const ORDER: Judged = {
  type: 'order.created',
  subject: 'customer-4711',
  data: JSON.parse(
    '{"orderId":4711,"total":129.5,"currency":"EUR","country":"DE","lines":[{"sku":"a1","count":2},{"sku":"b2","count":1}]}',
  ) as unknown,
};

type Row = { readonly name: string; readonly filter: EventFilter; readonly data: unknown };

const typical: readonly (readonly [name: string, filter: EventFilter])[] = [
  ['one condition', { 'data.total': { $gte: 100 } }],
  ['three conditions', { 'data.total': { $gte: 100 }, 'data.country': { $in: ['DE', 'FR'] }, 'data.currency': 'EUR' }],
  [
    'an $or of four',
    {
      $or: [
        { 'data.total': { $gt: 1000 } },
        { 'data.country': { $nin: ['DE', 'FR', 'IT'] } },
        { subject: { $startsWith: 'vip-' } },
        { 'data.lines.1.sku': 'b2', type: { $endsWith: '.created' } },
      ],
    },
  ],
];

/** As many objects as fit into a filter, each of one member of the wide object. */
function wideObjects(): Row {
  const members = Math.floor(EVENT_DATA_BYTES / '"m12345":1,'.length);
  const wide = JSON.parse(`{${Array.from({ length: members }, (_, n) => `"m${n}":1`).join(',')}}`) as unknown;
  const items: unknown[] = [];
  for (let n = 0; ; n += 1) {
    if (!fits({ 'data.a': { $in: [...items, { [`m${n}`]: 1 }] } })) break;
    items.push({ [`m${n}`]: 1 });
  }
  return {
    name: `${items.length} objects, of ${members} members`,
    filter: { 'data.a': { $in: items } },
    data: { a: wide },
  };
}

/** All conditions at the ends of paths with all steps. */
function longPaths(): Row {
  const path = `data${'.a'.repeat(FILTER_STEPS - 1)}`;
  let data: unknown = Object.fromEntries(Array.from({ length: FILTER_CONDITIONS }, (_, n) => [`b${n}`, n]));
  for (let step = 1; step < FILTER_STEPS; step += 1) data = { a: data };
  const conditions = Array.from({ length: FILTER_CONDITIONS }, (_, n) => ({ [`${path}.b${n}`]: { $lt: n } }));
  return { name: `${FILTER_CONDITIONS} paths of ${FILTER_STEPS} steps`, filter: { $or: conditions }, data };
}

/** A text as long as a filter may be, which is the value but for its end. */
function longText(): Row {
  const long = 'x'.repeat(FILTER_BYTES - 100);
  return { name: 'a text of 16 KiB', filter: { 'data.a': { $gte: `${long}z` } }, data: JSON.parse(`{"a":"${long}y"}`) };
}

/** A list that is the value but for its end. */
function longList(): Row {
  const items = Array.from({ length: (FILTER_BYTES - 100) / 2 }, () => 1);
  return { name: `a list of ${items.length} items`, filter: { 'data.a': [...items, 2] }, data: { a: [...items, 3] } };
}

/** Filters without a condition do not count as one. */
function emptyFilters(): Row {
  const filters = Array.from({ length: Math.floor((FILTER_BYTES - 100) / '{"$or":[{}]},'.length) }, () => ({
    $or: [{}],
  }));
  return { name: `an $and of ${filters.length} without conditions`, filter: { $and: filters }, data: {} };
}

function fits(filter: EventFilter): boolean {
  return filterProblem(filter) === null;
}

/** Nanoseconds of one judgement: the median round. */
function measure({ filter, data }: Row, event: Judged): number {
  const problem = filterProblem(filter);
  if (problem !== null) throw new Error(`${problem.field} ${problem.problem}`);
  const passes = compileFilter(filter);
  const judged = { ...event, data };
  const rounds = Array.from({ length: ROUNDS }, () => {
    let judgements = 0;
    const startedAt = performance.now();
    let elapsedMs = 0;
    while (elapsedMs < ROUND_MS) {
      for (let n = 0; n < 100; n += 1) passes(judged);
      judgements += 100;
      elapsedMs = performance.now() - startedAt;
    }
    return (elapsedMs * 1e6) / judgements;
  });
  return median(rounds);
}

/** Only the first judgement of an event: the sizes of its objects are counted then. Median of several copies. */
function measureFirst({ filter, data }: Row): number {
  const passes = compileFilter(filter);
  const text = JSON.stringify(data);
  const times = Array.from({ length: 50 }, () => {
    const event = { ...ORDER, data: JSON.parse(text) as unknown };
    const startedAt = performance.now();
    passes(event);
    return (performance.now() - startedAt) * 1e6;
  });
  return median(times);
}

function show(row: Row): void {
  const [again, first] = [measure(row, ORDER), measureFirst(row)];
  const text = (ns: number): string => (ns < 1000 ? `${ns.toFixed(0)} ns` : `${(ns / 1000).toFixed(1)} µs`);
  process.stdout.write(
    `${row.name.padEnd(40)} ${text(again).padStart(10)}   first of an event ${text(first).padStart(10)}\n`,
  );
}

process.stdout.write('Typical\n');
for (const [name, filter] of typical) show({ name, filter, data: ORDER.data });
process.stdout.write('Worst\n');
for (const row of [longPaths(), wideObjects(), longText(), longList(), emptyFilters()]) show(row);
