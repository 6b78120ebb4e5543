/** The cost of an operation as the tables grow, from 10⁴ rows of history to 5·10⁶, and a tenth as many stuck records of another webhook. */
import { setTimeout as sleep } from 'node:timers/promises';
import { deliveryId } from '../../../src/kernel/ids.ts';
import { makeCertificates } from '../../../test/support/tls.ts';
import { createdAtOf, type History, makeHistories, openHistory, type Used } from '../harness/histories.ts';
import { guardedRequest } from '../harness/http-peers.ts';
import { type LoadRequest, load, makeTarget } from '../harness/load.ts';
import { type Contender, measureInRounds } from '../harness/rounds.ts';
import { EDGE } from '../harness/service.ts';
import { startReceiver } from '../receiver-process.ts';
import type { BenchResult, Goal, Row } from '../report/result.ts';
import { median, ratios } from '../report/statistics.ts';
import type { Bench, BenchContext } from './bench.ts';

const SIZES = [10_000, 100_000, 1_000_000, 5_000_000];
const QUICK_SIZES = [10_000, 20_000];
/** The part of the rounds that fits into the time: there are four sizes and six operations. */
const ROUNDS_MAX = 3;
const SECONDS = 1;
const CLAIMED = 2000;
/** The most that the largest size may cost, as a multiple of the smallest. */
const GROWTH_MAX = 1.25;

const GUARD = 'guard: a token looked up';
const ENQUEUE = 'enqueue one event';
const CLAIM = 'claim, deliver and settle a record';
const NEWEST = 'list: newest deliveries';
const DEEP = 'list: from the middle of a log';
const DEAD = 'list: dead ones of a webhook';
const OPERATIONS = [GUARD, ENQUEUE, CLAIM, NEWEST, DEEP, DEAD];

export const growthBench: Bench = {
  name: 'growth',
  programs: ['wrk', 'openssl'],
  peers: false,
  run: async ({ folder, rounds, quick, say }: BenchContext) => {
    const sizes = quick ? QUICK_SIZES : SIZES;
    const certificates = makeCertificates();
    const receiver = await startReceiver(certificates.server);
    const opened: Used[] = [];
    try {
      say(`making ${sizes.map(sizeName).join(', ')} rows`);
      const histories = await makeHistories(folder, sizes, { receiver, certificates });
      for (const history of histories) opened.push(await openHistory(history, certificates));
      say('measuring');
      const contenders = OPERATIONS.flatMap((operation) =>
        opened.map(
          (used): Contender => ({ name: cellName(operation, used), measure: measureOf(operation, used, folder) }),
        ),
      );
      const cells = await measureInRounds(contenders, Math.min(rounds, ROUNDS_MAX));
      const rows = OPERATIONS.map((operation) => rowOf(operation, opened, cells));
      return [describe(rows, sizes)];
    } finally {
      for (const { service } of opened) await service.stop();
      receiver.stop();
    }
  },
};

function measureOf(operation: string, used: Used, folder: string): Contender['measure'] {
  if (operation === CLAIM) return async () => ({ micros: await claim(used) });
  const { service, history } = used;
  const name = `${OPERATIONS.indexOf(operation)}-${history.rows}`;
  const target = makeTarget(folder, name, service, requestsOf(operation, used));
  const connections = operation === GUARD || operation === ENQUEUE ? 64 : 8;
  return async () => ({ micros: 1e6 / (await load(target, { seconds: SECONDS, connections })).perSecond });
}

function requestsOf(operation: string, { history, employeePath, adminToken, waitingType }: Used): LoadRequest[] {
  const { parts, tokens, rows } = history;
  if (operation === GUARD) return tokens.map((token) => guardedRequest(employeePath, token));
  if (operation === ENQUEUE) {
    const headers = { Authorization: `Bearer ${adminToken}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ type: waitingType, data: { text: 'x'.repeat(1000) } });
    return [{ method: 'POST', path: `${EDGE}/events`, headers, body }];
  }
  const middle = rows / 2;
  const address = { createdAt: createdAtOf(history, middle), webhookNumber: parts.historyWebhook, offset: middle };
  const query: Readonly<Record<string, string>> = {
    [NEWEST]: 'limit=50',
    [DEEP]: `limit=50&webhookId=${parts.historyWebhookId}&cursor=${deliveryId(address)}`,
    [DEAD]: `limit=50&webhookId=${parts.historyWebhookId}&state=dead`,
  };
  return [guardedRequest(`${EDGE}/deliveries?${query[operation]}`, adminToken)];
}

/** Microseconds a record, of records that go out one a POST from the log with the history. */
async function claim({ service, history, historyType, pending }: Used): Promise<number> {
  const data = { text: 'x'.repeat(1000) };
  for (let left = CLAIMED; left > 0; left -= 1000) {
    const events = Array.from({ length: Math.min(left, 1000) }, () => ({ type: historyType, data }));
    await service.admin.call(202, 'POST', `${EDGE}/events`, { events });
  }
  const path = `${EDGE}/webhooks/${history.parts.historyWebhookId}`;
  const startedAt = performance.now();
  await service.admin.call(200, 'POST', `${path}/start`);
  while (pending() > 0) await sleep(5);
  const micros = ((performance.now() - startedAt) * 1000) / CLAIMED;
  await service.admin.call(200, 'POST', `${path}/stop`);
  return micros;
}

function rowOf(operation: string, opened: readonly Used[], cells: readonly Row[]): Row {
  const found = opened.map((used) => {
    const cell = cells.find(({ name }) => name === cellName(operation, used));
    return [sizeName(used.history.rows), cell?.values.micros ?? []] as const;
  });
  return { name: operation, values: Object.fromEntries(found) };
}

function cellName(operation: string, { history }: { readonly history: History }): string {
  return `${operation} at ${sizeName(history.rows)}`;
}

function sizeName(rows: number): string {
  const exponent = Math.floor(Math.log10(rows));
  const power = `10${[...String(exponent)].map((digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]).join('')}`;
  const factor = rows / 10 ** exponent;
  return factor === 1 ? power : `${factor}·${power}`;
}

function describe(rows: readonly Row[], sizes: readonly number[]): Omit<BenchResult, 'seconds'> {
  const names = sizes.map(sizeName);
  const [smallest = '', largest = ''] = [names[0], names.at(-1)];
  const goals = rows.map(({ name, values }): Goal => {
    const grown = ratios(values[largest] ?? [], values[smallest] ?? []);
    return {
      text: `${name}: ${largest} against ${smallest}`,
      actual: median(grown),
      bound: 'at most',
      limit: GROWTH_MAX,
      unit: '×',
    };
  });
  return {
    bench: 'growth',
    title: 'As the tables grow',
    method:
      'Time of one operation under load, by rows of history: that many delivered records in one log (ten per ' +
      'batch, each batch with its attempt), a tenth as many records of another ' +
      'webhook whose endpoint does not answer, and as many tokens, between 20,000 and 10⁶. Each size has its own ' +
      '`sallyport serve` and data folder; they are measured in turn. Guarded ' +
      'calls use 20,000 tokens in turn, more than the cache holds, over 64 connections. Lists have 50 ' +
      'deliveries, over 8 connections. Records are claimed and delivered, one per POST, from the log with the ' +
      'history.',
    figures: names.map((name) => ({ name, unit: 'µs' })),
    rows,
    baseline: null,
    goals,
    notMeasured: [],
  };
}
