import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { Refusal } from '../../src/kernel/refusal.ts';
import { checkLog, takeChanges } from '../support/batches.ts';
import { count, DAY_MS, housekeepingFor } from '../support/housekeeping.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, makeEventType, openTestServices, type TestServices } from '../support/services.ts';
import { leavingNothing, onPostgres } from '../support/store.ts';

repeats('postgres');

type Body = {
  readonly throughOffset: number;
  readonly acknowledgedOffset: number;
  readonly newestOffset: number;
  readonly records: readonly { readonly offset: number; readonly value: { readonly orderPlaced: { n: number } } }[];
};

type Pull = { readonly s: TestServices; readonly id: string; readonly number: number };

async function prepare(t: TestContext): Promise<Pull> {
  const s = await openTestServices(t);
  await makeEventType(s, 'order.placed');
  const { id } = await s.webhooks.create({ name: 'orders', mode: 'pull', eventTypes: ['order.placed'] }, ACTOR);
  return { s, id, number: (await s.webhooks.get(id)).progress.webhookNumber };
}

const publish = ({ s }: Pull, numbers: readonly number[], subject: string | null = null): Promise<unknown> =>
  s.publish(
    { events: numbers.map((n) => ({ type: 'order.placed', data: { n }, ...(subject !== null && { subject }) })) },
    ACTOR,
  );

async function read({ s, id }: Pull, query: object = { limit: 1000 }): Promise<Body> {
  const { bytes } = await s.readRecords(id, query);
  return JSON.parse(Buffer.from(bytes).toString()) as Body;
}

const acknowledge = ({ s, id }: Pull, throughOffset: number): Promise<unknown> =>
  s.webhooks.acknowledge(id, { throughOffset });
const numbersOf = ({ records }: Body): number[] => records.map(({ value }) => value.orderPlaced.n);

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: unknown) => (error instanceof Refusal ? error.code : Promise.reject(error as Error)),
  );

describe('the dispatcher', () => {
  it('never looks at a webhook in mode pull, whatever happens to it', async (t) => {
    const pull = await prepare(t);
    const { s, id } = pull;
    const steps: readonly (() => Promise<unknown>)[] = [
      () => publish(pull, [0]),
      () => publish(pull, [1, 2, 3]),
      () => acknowledge(pull, 1),
      () => s.webhooks.patch(id, { name: 'other', filter: { 'data.n': { $gte: 0 } } }, ACTOR),
      () => publish(pull, [4]),
      () => publish(pull, [5, 6]),
      () => s.webhooks.stop(id, ACTOR),
      () => s.webhooks.start(id, ACTOR),
      () => s.store.webhooks.resume(pull.number, s.clock()),
      () => acknowledge(pull, 6),
    ];
    for (const step of steps) {
      await step();
      assert.deepEqual(await takeChanges(s), [], String(step));
    }
    assert.equal(await s.store.dispatch.target(pull.number), null);
    assert.equal(await count(s, 'attempt'), 0);
  });
});

describe('an acknowledgement', () => {
  it('of very many records becomes batches of bounded length', async (t) => {
    const pull = await prepare(t);
    for (const at of [0, 1, 2])
      await publish(
        pull,
        Array.from({ length: 1000 }, (_, n) => at * 1000 + n),
      );
    await acknowledge(pull, 2499);
    const batches = await pull.s.rows('SELECT first_offset, last_offset FROM batch ORDER BY first_offset');
    assert.deepEqual(
      batches.map(({ first_offset, last_offset }) => [first_offset, last_offset]),
      [
        [0, 999],
        [1000, 1999],
        [2000, 2499],
      ],
    );
    await checkLog(pull.s, pull.number);
  });

  it('writes nothing if it repeats another or is refused', async (t) => {
    const pull = await prepare(t);
    await publish(pull, [0, 1, 2]);
    await acknowledge(pull, 1);
    await leavingNothing(pull.s, async () => {
      await acknowledge(pull, 1);
      assert.equal(await codeOf(acknowledge(pull, 0)), 'invalid_state');
      assert.equal(await codeOf(acknowledge(pull, 3)), 'validation_failed');
      await read(pull);
    });
  });
});

describe('retention', () => {
  it('deletes unread records exactly 90 days after their publication, says so, and keeps the rest readable', async (t) => {
    const pull = await prepare(t);
    const { s } = pull;
    await publish(pull, [0, 1, 2]);
    await acknowledge(pull, 0);
    s.advance(DAY_MS);
    await publish(pull, [3]);
    const house = housekeepingFor(s);
    s.advance(89 * DAY_MS - 1);
    await house.runOnce();
    assert.deepEqual(numbersOf(await read(pull)), [1, 2, 3]);
    s.advance(1);
    await house.runOnce();
    const left = await read(pull);
    assert.deepEqual([numbersOf(left), left.acknowledgedOffset], [[3], 2]);
    await checkLog(s, pull.number);
    const told = house.logged.filter(({ webhookId }) => webhookId === pull.id);
    assert.deepEqual(
      told.map(({ level, first, last }) => [level, first, last]),
      [[40, 1, 2]],
    );
    // A reader that was on its way with them is told that it is behind, and goes on.
    assert.equal(await codeOf(acknowledge(pull, 1)), 'invalid_state');
    assert.equal(await codeOf(acknowledge(pull, 3)), 'done');
  });

  it('keeps unread records forever if dead ones are kept forever', async (t) => {
    const pull = await prepare(t);
    await publish(pull, [0]);
    pull.s.advance(1000 * DAY_MS);
    await housekeepingFor(pull.s, { deadDays: 0 }).runOnce();
    assert.deepEqual(numbersOf(await read(pull)), [0]);
  });
});

/** The records that a reader may see, in the simplest form. */
type Model = {
  readonly log: {
    n: number;
    subject: string | null;
    at: number;
    isErased: boolean;
    readAt: number | null;
    isKept: boolean;
  }[];
  cursor: number;
  isStopped: boolean;
};

type Step = (pull: Pull, model: Model) => Promise<void>;

const steps: fc.Arbitrary<readonly [string, Step]> = fc.oneof(
  fc
    .tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom('a', 'b', null))
    .map(([howMany, subject]): [string, Step] => [
      `publish ${howMany} about ${subject}`,
      async (pull, { log }) => {
        const numbers = Array.from({ length: howMany }, (_, n) => log.length + n);
        await publish(pull, numbers, subject);
        const at = pull.s.clock();
        log.push(...numbers.map((n) => ({ n, subject, at, isErased: false, readAt: null, isKept: true })));
      },
    ]),
  fc.integer({ min: -3, max: 4 }).map((by): [string, Step] => [
    `acknowledge ${by} from the cursor`,
    async (pull, model) => {
      const through = model.cursor + by;
      if (through < 0) return;
      const code = await codeOf(acknowledge(pull, through));
      const isBeyond = through >= model.log.length;
      const expected = model.isStopped
        ? 'invalid_state'
        : isBeyond
          ? 'validation_failed'
          : by < -1
            ? 'invalid_state'
            : 'done';
      assert.equal(code, expected);
      if (code !== 'done') return;
      for (const record of model.log.slice(model.cursor, through + 1)) record.readAt = pull.s.clock();
      model.cursor = through + 1;
    },
  ]),
  fc.constantFrom('a', 'b').map((subject): [string, Step] => [
    `erase ${subject}`,
    async ({ s }, { log }) => {
      await s.erasures.erase({ subject }, ACTOR);
      for (const record of log) if (record.subject === subject) record.isErased = true;
    },
  ]),
  fc.constantFrom(1, 20, 31, 60, 91).map((days): [string, Step] => [
    `wait ${days} days and tidy up`,
    async ({ s }, model) => {
      s.advance(days * DAY_MS);
      await housekeepingFor(s).runOnce();
      const now = s.clock();
      for (const record of model.log)
        if (record.readAt !== null && record.readAt <= now - 30 * DAY_MS) record.isKept = false;
      for (; model.cursor < model.log.length; model.cursor += 1) {
        const record = model.log[model.cursor];
        if (record === undefined || record.at > now - 90 * DAY_MS) break;
        record.isKept = false;
      }
    },
  ]),
  fc.constantFrom('start', 'stop').map((verb): [string, Step] => [
    verb,
    async ({ s, id }, model) => {
      await s.webhooks[verb as 'start' | 'stop'](id, ACTOR);
      model.isStopped = verb === 'stop';
    },
  ]),
);

describe('reading, publishing, acknowledging, erasing and tidying up', () => {
  it('in any order, show what the simplest model shows', async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 3, maxLength: 14 }), async (sequence) => {
        const pull = await prepare(t);
        const model: Model = { log: [], cursor: 0, isStopped: false };
        for (const [, step] of sequence) {
          await step(pull, model);
          await checkLog(pull.s, pull.number);
          if (model.isStopped) {
            assert.equal(await codeOf(read(pull)), 'invalid_state');
            continue;
          }
          const shown = (from: number): number[] =>
            model.log.flatMap(({ n, isErased, isKept }) => (n >= from && !isErased && isKept ? [n] : []));
          const unread = await read(pull);
          assert.deepEqual(numbersOf(unread), shown(model.cursor));
          assert.deepEqual([unread.acknowledgedOffset, unread.newestOffset], [model.cursor - 1, model.log.length - 1]);
          assert.deepEqual(numbersOf(await read(pull, { after: -1, limit: 1000 })), shown(0));
        }
      }),
      // Each run has a database of its own, which takes seconds on PostgreSQL.
      { numRuns: onPostgres ? 5 : 20 },
    );
  });

  it('at the same time lose nothing and skip nothing', async (t) => {
    const pull = await prepare(t);
    const { s, id } = pull;
    const seen = new Set<number>();
    let published = 0;
    const publishing = async (): Promise<void> => {
      for (let at = 0; at < 40; at += 1) {
        await publish(pull, [at * 5, at * 5 + 1, at * 5 + 2], at % 8 === 0 ? 'a' : null);
        published += 3;
      }
    };
    const done = publishing();
    let isOver = false;
    void done.then(() => {
      isOver = true;
    });
    const reading = async (limit: number): Promise<void> => {
      for (;;) {
        const last = isOver;
        const { throughOffset, newestOffset, ...part } = await read(pull, { limit });
        for (const n of numbersOf({ throughOffset, newestOffset, ...part })) seen.add(n);
        if (throughOffset >= 0) await codeOf(acknowledge(pull, throughOffset));
        if (last && throughOffset >= newestOffset) return;
        // Without new records a turn writes nothing, and would keep the publisher waiting.
        await nextTurn();
      }
    };
    const tidying = async (): Promise<void> => {
      for (let n = 0; n < 5; n += 1) {
        await s.erasures.erase({ subject: 'a' }, ACTOR);
        await housekeepingFor(s).runOnce();
      }
    };
    await Promise.all([done, reading(7), reading(4), tidying()]);
    const { progress, mode } = await s.webhooks.get(id);
    assert.deepEqual([mode, progress.nextOffset, progress.cursorOffset], ['pull', published, published]);
    await checkLog(s, pull.number);
    const expected = Array.from({ length: 40 }, (_, at) => [at * 5, at * 5 + 1, at * 5 + 2])
      .filter((_, at) => at % 8 !== 0)
      .flat();
    assert.deepEqual(
      expected.filter((n) => !seen.has(n)),
      [],
    );
    assert.equal(await count(s, 'batch', "state <> 'delivered'"), 0);
  });
});
