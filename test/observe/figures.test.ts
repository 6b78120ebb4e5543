import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import type { BatchFate, SettledBatch } from '../../src/domain/batch.ts';
import { NO_TIMINGS } from '../../src/domain/outcome.ts';
import { nextTurn } from '../../src/kernel/turns.ts';
import {
  bucketEnd,
  bucketOf,
  createFigures,
  FIGURE_WEBHOOKS_MAX,
  type FigureKeeper,
  type Period,
  percentile,
  successRate,
  sumOfDays,
} from '../../src/observe/figures.ts';
import { DatabaseUnavailable } from '../../src/store/port/errors.ts';
import { batchOf } from '../support/attempts.ts';
import { attemptOf } from '../support/batches.ts';
import { TOKEN } from '../support/client.ts';
import { startService } from '../support/service.ts';
import { openTestStore, type TestStore } from '../support/store.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

type Opened = TestStore & { readonly figures: FigureKeeper };

async function opened(t: TestContext): Promise<Opened> {
  const s = await openTestStore(t);
  return { ...s, figures: createFigures({ store: s.store.figures, clock: s.clock }) };
}

/** The outcome of a batch with so many records of webhook `webhookNumber`, after `totalMs`. */
function settled(
  s: TestStore,
  records: number,
  kind: BatchFate['kind'],
  totalMs: number | null,
  webhookNumber = 1,
): SettledBatch {
  const batch = batchOf(0, records - 1, { webhookNumber });
  const errorClass = kind === 'delivered' ? null : 'timeout';
  const attempt = attemptOf(s, batch, {
    timings: { ...NO_TIMINGS, totalMs },
    errorClass,
    ...(errorClass !== null && { responseStatus: null }),
  });
  const fates: Readonly<Record<BatchFate['kind'], BatchFate>> = {
    delivered: { kind: 'delivered', at: 1 },
    dead: { kind: 'dead', at: 1 },
    discarded: { kind: 'discarded', at: 1 },
    release: { kind: 'release', at: 1 },
    retry: { kind: 'retry', at: 1, contentRefusals: 0 },
    halve: { kind: 'halve', at: 1, halfIds: ['a', 'b'] },
  };
  return { batch, fate: fates[kind], attempt };
}

const REQUEST = { route: TOKEN, metered: 'token', method: 'POST', status: 200, refusal: null, seconds: 0.002 } as const;

/** Runs the job to its end. */
async function write({ figures, clock }: Opened): Promise<void> {
  const step = figures.job.begin(clock());
  for (let size = 1; !(await step(size)).done; size += 1) assert.ok(size < 5000);
}

describe('figures over time', () => {
  it('count records by outcome, attempts, tokens and refused calls', async (t) => {
    const s = await opened(t);
    const { figures } = s;
    figures.observeSettled('w', settled(s, 5, 'delivered', 20));
    figures.observeSettled('w', settled(s, 3, 'retry', 400));
    figures.observeSettled('w', settled(s, 2, 'halve', 30));
    figures.observeSettled('w', settled(s, 1, 'dead', null));
    figures.observeSettled('w', { ...settled(s, 7, 'discarded', null), attempt: null });
    const heartbeat = settled(s, 1, 'delivered', 9);
    const kind = 'heartbeat' as const;
    figures.observeSettled('w', {
      batch: null,
      fate: null,
      attempt: heartbeat.attempt && { ...heartbeat.attempt, kind },
    });
    figures.observeSettled('w', { batch: null, fate: null, attempt: null });
    figures.observeRequest(REQUEST);
    figures.observeRequest({ ...REQUEST, status: 400, refusal: 'invalid_client' });
    figures.observeRequest({
      ...REQUEST,
      route: '/services/api/x/edge/v1/webhooks',
      metered: 'call',
      status: 401,
      refusal: 'invalid_token',
    });
    // Neither is counted: the first is not a refusal of the gate, the second not an API call.
    figures.observeRequest({
      ...REQUEST,
      route: '/services/api/x/edge/v1/webhooks',
      metered: 'call',
      status: 400,
      refusal: 'validation_failed',
    });
    figures.observeRequest({ ...REQUEST, route: '/webhooks', metered: null, status: 401, refusal: 'unauthorized' });
    figures.observeRequest({ ...REQUEST, route: null, metered: null, status: 404, refusal: 'not_found' });
    const wanted = {
      delivered: 5,
      retried: 5,
      dead: 1,
      attempts: 4,
      failedAttempts: 3,
      successRate: 0.25,
      // The others had no response.
      p50Ms: bucketEnd(bucketOf(20)),
      p95Ms: bucketEnd(bucketOf(20)),
    };
    const arrived = { tokensIssued: 1, tokensRefused: 1, callsRefused: 1 };
    assert.deepEqual((await figures.series('hour', 0)).total, { ...wanted, ...arrived });
    const nothing = { tokensIssued: 0, tokensRefused: 0, callsRefused: 0 };
    assert.deepEqual((await figures.series('hour', 1)).total, { ...wanted, ...nothing });
    assert.equal((await figures.series('hour', 2)).total.successRate, null);
  });

  it('cover spans of one minute, ten minutes and one hour, including the current one', async (t) => {
    const s = await opened(t);
    for (let minute = 0; minute < 180; minute += 1) {
      s.figures.observeSettled('w', settled(s, minute + 1, 'delivered', 5));
      if (minute % 7 === 0) await write(s);
      s.advance(MINUTE_MS);
    }
    s.advance(-1);
    const points = async (period: Period): Promise<number[]> =>
      (await s.figures.series(period, 0)).points.map(({ delivered }) => delivered);
    assert.deepEqual(
      await points('hour'),
      Array.from({ length: 60 }, (_, n) => 121 + n),
    );
    const tens = await points('day');
    assert.equal(tens.length, 144);
    assert.deepEqual(
      tens.slice(-18),
      Array.from({ length: 18 }, (_, n) => 100 * n + 55),
    );
    assert.deepEqual(new Set(tens.slice(0, -18)), new Set([0]));
    const hours = await points('week');
    assert.equal(hours.length, 168);
    assert.deepEqual(hours.slice(-3), [1830, 5430, 9030]);
    const { spanSeconds, points: last } = await s.figures.series('hour', 0);
    assert.equal(spanSeconds, 60);
    assert.equal(last.at(-1)?.at, s.clock() - (s.clock() % MINUTE_MS));
  });

  it('are the same before, during and after they are written, and after a restart', async (t) => {
    const s = await opened(t);
    const observe = (): void => {
      for (const webhook of [1, 2, 3])
        s.figures.observeSettled('w', settled(s, webhook, 'delivered', webhook * 50, webhook));
    };
    observe();
    const before = await s.figures.series('hour', 2);
    const step = s.figures.job.begin(s.clock());
    await step(2);
    assert.deepEqual(await s.figures.series('hour', 2), before);
    await write(s);
    assert.deepEqual(await s.figures.series('hour', 2), before);
    const restarted = createFigures({ store: s.store.figures, clock: s.clock });
    assert.deepEqual(await restarted.series('hour', 2), before);
    // Later figures of the same minute are added.
    restarted.observeSettled('w', settled(s, 2, 'delivered', 100, 2));
    await restarted.flush();
    await restarted.flush();
    const { total } = await createFigures({ store: s.store.figures, clock: s.clock }).series('week', 2);
    assert.deepEqual([total.delivered, total.attempts], [4, 2]);
  });

  it('of the last 24 hours are counted by webhook and hour, written or not', async (t) => {
    const s = await opened(t);
    const observe = (kind: BatchFate['kind'], webhook: number): void =>
      s.figures.observeSettled('w', settled(s, 1, kind, 5, webhook));
    observe('retry', 1);
    await write(s);
    s.advance(23 * HOUR_MS);
    for (const kind of ['delivered', 'retry', 'delivered'] as const) observe(kind, 1);
    observe('delivered', 2);
    await write(s);
    observe('delivered', 1);
    const days = await s.figures.days([1, 2, 3]);
    const [first, second, third] = [1, 2, 3].map((number) => days.get(number));
    assert.deepEqual([first?.attempts, first?.failedAttempts], [5, 2]);
    assert.deepEqual(first?.hours.at(0), { attempts: 1, failedAttempts: 1 });
    assert.deepEqual(first?.hours.at(-1), { attempts: 4, failedAttempts: 1 });
    assert.equal(first?.hours.length, 24);
    assert.equal(first && successRate(first), 0.6);
    assert.equal(third && successRate(third), null);
    assert.deepEqual(sumOfDays([first, second, third].flatMap((day) => day ?? [])).hours.at(-1), {
      attempts: 5,
      failedAttempts: 1,
    });
    s.advance(HOUR_MS);
    assert.equal((await s.figures.days([1])).get(1)?.attempts, 4, 'the oldest hour is over');
  });

  /** The steps of a read of the store before or after it reads, and of a write once it is committed. */
  type Hooks = { before(): Promise<void>; after(): Promise<void>; committed(): Promise<void> };
  const NO_HOOKS: Hooks = { before: async () => {}, after: async () => {}, committed: async () => {} };

  for (const read of ['series', 'days'] as const) {
    /** One attempt was observed; `attempts` reads how many there were. */
    const observedOnce = async (t: TestContext) => {
      const s = await opened(t);
      const { figures: real } = s.store;
      const hooks = { ...NO_HOOKS };
      const hooked =
        <Range, Found>(find: (range: Range) => Promise<Found>) =>
        async (range: Range): Promise<Found> => {
          const { before, after } = hooks;
          Object.assign(hooks, { before: NO_HOOKS.before, after: NO_HOOKS.after });
          await before();
          const found = await find(range);
          await after();
          return found;
        };
      const add: typeof real.add = async (some) => {
        const result = await real.add(some);
        await hooks.committed();
        return result;
      };
      const store = { ...real, add, read: hooked(real.read), attempts: hooked(real.attempts) };
      const figures = createFigures({ store, clock: s.clock });
      figures.observeSettled('w', settled(s, 1, 'delivered', 5));
      const attempts = async (): Promise<number | undefined> =>
        read === 'series'
          ? (await figures.series('day', 1)).total.attempts
          : (await figures.days([1])).get(1)?.attempts;
      return { hooks, attempts, writeAll: figures.flush };
    };
    /** The same, with a write that is committed and then waits for `acknowledge`. */
    const observedOnceUnacknowledged = async (t: TestContext) => {
      const observed = await observedOnce(t);
      const committed = Promise.withResolvers<void>();
      const acknowledged = Promise.withResolvers<void>();
      observed.hooks.committed = () => {
        committed.resolve();
        return acknowledged.promise;
      };
      return { ...observed, committed: committed.promise, acknowledge: acknowledged.resolve };
    };

    it(`are counted if they are written after they were looked for: ${read}`, async (t) => {
      const { hooks, attempts, writeAll } = await observedOnce(t);
      hooks.after = writeAll;
      assert.equal(await attempts(), 1);
    });

    it(`are counted once if they are committed before they are looked for, and acknowledged afterwards: ${read}`, async (t) => {
      const { hooks, attempts, writeAll, committed, acknowledge } = await observedOnceUnacknowledged(t);
      let written: Promise<void> | null = null;
      hooks.before = async () => {
        written = writeAll();
        await committed;
        // A read in the same turn might not see it.
        await nextTurn();
      };
      // Once the result of this read has been used.
      hooks.after = async () => void setImmediate(acknowledge);
      assert.equal(await attempts(), 1);
      await written;
    });

    it(`are not looked for during a write: ${read}`, async (t) => {
      const { hooks, attempts, writeAll, committed, acknowledge } = await observedOnceUnacknowledged(t);
      const written = writeAll();
      await committed;
      let isAcknowledged = false;
      hooks.before = async () => assert.ok(isAcknowledged);
      const counted = attempts();
      // A read that did not wait would have begun by now.
      await nextTurn();
      isAcknowledged = true;
      acknowledge();
      assert.equal(await counted, 1);
      await written;
    });
  }

  it('lose nothing when a write fails and is tried again', async (t) => {
    const s = await opened(t);
    let fails = true;
    const store = {
      ...s.store.figures,
      add: (some: Parameters<typeof s.store.figures.add>[0]) =>
        fails ? Promise.reject(new Error('disk full')) : s.store.figures.add(some),
    };
    const figures = createFigures({ store, clock: s.clock });
    figures.observeSettled('w', settled(s, 4, 'delivered', 5));
    await assert.rejects(async () => figures.job.begin(s.clock())(10), /disk full/);
    fails = false;
    figures.observeSettled('w', settled(s, 1, 'delivered', 5));
    await write({ ...s, figures });
    assert.equal((await createFigures({ store, clock: s.clock }).series('day', 1)).total.delivered, 5);
  });

  it('are not written again if the database may have kept them', async (t) => {
    const s = await opened(t);
    let isAnswered = false;
    const store = {
      ...s.store.figures,
      add: async (some: Parameters<typeof s.store.figures.add>[0]) => {
        const result = await s.store.figures.add(some);
        if (!isAnswered) throw new DatabaseUnavailable('unknown');
        return result;
      },
    };
    const figures = createFigures({ store, clock: s.clock });
    figures.observeSettled('w', settled(s, 4, 'delivered', 5));
    await assert.rejects(async () => figures.job.begin(s.clock())(10), { reason: 'unknown' });
    assert.equal((await figures.series('day', 1)).total.delivered, 4);
    isAnswered = true;
    figures.observeSettled('w', settled(s, 1, 'delivered', 5));
    await write({ ...s, figures });
    assert.equal((await figures.series('day', 1)).total.delivered, 5);
    assert.equal((await figures.series('day', 0)).total.delivered, 5);
  });

  it('that cannot be written at a stop do not prevent the service from stopping gracefully', async (t) => {
    const service = await startService(t);
    await service.admin.get('webhooks');
    const other = new Database(join(service.dataDir, DATABASE_FILE));
    other.exec('DROP TABLE figure');
    other.close();
    await service.stop();
    await service.log.line(({ msg }) => msg === 'the last figures could not be written');
    await service.log.line(({ msg }) => msg === 'stopped');
    assert.equal(existsSync(join(service.dataDir, `${DATABASE_FILE}-wal`)), false);
  });

  it('are kept for two hours, a day and eight days, depending on their span', async (t) => {
    const s = await opened(t);
    for (let hour = 0; hour < 10 * 24; hour += 1) {
      s.figures.observeSettled('w', settled(s, 1, 'delivered', 5));
      await write(s);
      s.advance(HOUR_MS);
    }
    const kept = await s.rows(
      'SELECT span_seconds AS span, count(*) AS n, min(at) AS first FROM figure GROUP BY span_seconds',
    );
    const last = s.clock() - HOUR_MS;
    assert.deepEqual(kept, [
      { span: 60, n: 2 * 3, first: last - 2 * HOUR_MS },
      { span: 600, n: 2 * 26, first: last - 25 * HOUR_MS },
      { span: 3600, n: 2 * (8 * 24 + 1), first: last - 8 * DAY_MS },
    ]);
  });

  it('are kept for a bounded number of webhooks; those of the service count all webhooks', async (t) => {
    const s = await opened(t);
    for (let webhook = 1; webhook <= FIGURE_WEBHOOKS_MAX + 5; webhook += 1)
      s.figures.observeSettled('w', settled(s, 1, 'delivered', 5, webhook));
    assert.equal((await s.figures.series('hour', 0)).total.delivered, FIGURE_WEBHOOKS_MAX + 5);
    assert.equal((await s.figures.series('hour', FIGURE_WEBHOOKS_MAX)).total.delivered, 1);
    assert.equal((await s.figures.series('hour', FIGURE_WEBHOOKS_MAX + 1)).total.delivered, 0);
  });
});

describe('a percentile of latencies', () => {
  it('is accurate to within a seventh, and never too small', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(130_000), { minLength: 1, maxLength: 300 }),
        fc.constantFrom(0.5, 0.95),
        (all, share) => {
          const latencies = new Map<number, number>();
          for (const ms of all) latencies.set(bucketOf(ms), (latencies.get(bucketOf(ms)) ?? 0) + 1);
          const exact = all.toSorted((a, b) => a - b)[Math.ceil(all.length * share) - 1] ?? 0;
          const told = percentile(latencies, share) ?? -1;
          assert.ok(told >= exact && told <= exact * 1.15 + 1, `${told} for ${exact}`);
        },
      ),
    );
  });

  it('is null without latencies', () => assert.equal(percentile(new Map(), 0.5), null));
});
