import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import {
  createHousekeepingScheduler,
  type HousekeepingJob,
  type SchedulerOptions,
} from '../../src/housekeeping/scheduler.ts';
import { createLog } from '../../src/observe/log.ts';
import type { WriteTime } from '../../src/store/port/database.ts';
import {
  NO_TIME,
  nextSize,
  STEP_ROWS_FIRST,
  STEP_ROWS_MAX,
  STEP_ROWS_MIN,
  type StepResult,
} from '../../src/store/port/steps.ts';

const took = (statementsMs: number, commitMs = 0): WriteTime => ({ statementsMs, commitMs });

/** A job with this number of steps. It records their sizes. */
function job(
  name: string,
  steps: number,
  more: Partial<HousekeepingJob> & { took?: WriteTime; sizes?: number[]; order?: string[] } = {},
): HousekeepingJob {
  const { took = NO_TIME, sizes, order, ...rest } = more;
  return {
    name,
    everyMs: 60_000,
    begin: () => {
      let left = steps;
      return async (size) => {
        left -= 1;
        sizes?.push(size);
        order?.push(name);
        return { done: left <= 0, rows: 1, took };
      };
    },
    ...rest,
  };
}

function scheduler(jobs: readonly HousekeepingJob[], more: Partial<SchedulerOptions> = {}) {
  const logged: Record<string, unknown>[] = [];
  const log = createLog('info', { write: (line: string) => void logged.push(JSON.parse(line)) });
  return { ...createHousekeepingScheduler({ jobs, clock: () => 0, log, pause: async () => {}, ...more }), logged };
}

describe('the size of a step', () => {
  const table: readonly [what: string, size: number, took: WriteTime, next: number][] = [
    ['is halved after a step of more than 5 ms', 100, took(5.1), 50],
    ['is halved if statements and commit together took longer', 100, took(3, 3), 50],
    ['does not change after a step of 2.5 to 5 ms', 100, took(2, 2), 100],
    ['grows by a quarter after a quick one', 100, took(1, 1), 125],
    ['does not shrink if only the commit is slow', 100, took(0.9, 20), 100],
    ['has a least', STEP_ROWS_MIN, took(100), STEP_ROWS_MIN],
    ['has a most', STEP_ROWS_MAX, took(0.1), STEP_ROWS_MAX],
    ['also grows from one row', 1, took(0.1), 2],
  ];
  for (const [what, size, took, next] of table) {
    it(what, () => assert.equal(nextSize(size, took), next));
  }
});

describe('the scheduler', () => {
  it('sizes the steps of each job by the duration of its own steps', async () => {
    const [slow, quick]: [number[], number[]] = [[], []];
    const s = scheduler([
      job('slow', 4, { took: took(6), sizes: slow }),
      job('quick', 4, { took: took(1), sizes: quick }),
    ]);
    await s.runOnce();
    assert.deepEqual(slow, [16, 8, 4, 2]);
    assert.deepEqual(quick, [16, 20, 25, 32]);
    await s.runOnce();
    assert.equal(slow[4], 1);
    assert.equal(STEP_ROWS_FIRST, 16);
  });

  it('alternates between jobs, so that a long one does not delay the others', async () => {
    const order: string[] = [];
    await scheduler([job('long', 6, { order }), job('short', 2, { order })]).runOnce();
    assert.deepEqual(order, ['long', 'short', 'long', 'short', 'long', 'long', 'long', 'long']);
  });

  it('pauses after every step, four times as long as it took and at least 5 ms', async () => {
    const pauses: number[] = [];
    const pause = async (ms: number): Promise<void> => void pauses.push(ms);
    await scheduler([job('a', 2, { took: took(3, 1) }), job('b', 1)], { pause }).runOnce();
    assert.deepEqual(pauses, [16, 5, 16]);
  });

  it('runs each job immediately and then when it is due, and checks every second', async () => {
    let now = 1_000_000;
    const order: string[] = [];
    const waits: ((value?: unknown) => void)[] = [];
    const pause = async (ms: number): Promise<void> => {
      if (ms === 1000) await new Promise((resolve) => waits.push(resolve));
    };
    const look = async (ms: number): Promise<string> => {
      now += ms;
      order.length = 0;
      waits.shift()?.();
      while (waits.length === 0) await turn();
      return order.join(' ');
    };
    const s = scheduler([job('often', 1, { order, everyMs: 10_000 }), job('rarely', 2, { order })], {
      clock: () => now,
      pause,
    });
    s.start();
    while (waits.length === 0) await turn();
    assert.deepEqual(order, ['often', 'rarely', 'rarely']);
    assert.equal(await look(9999), '');
    assert.equal(await look(1), 'often');
    assert.equal(await look(50_000), 'often rarely rarely');
    assert.equal(await look(-500_000), 'often rarely rarely', 'a clock that was set back keeps jobs from running');
    assert.equal(await look(1), '');
    const stopped = s.stop();
    waits.shift()?.();
    await stopped;
  });

  it('continues with other jobs when one fails, logs the failure, and tries again when it is due', async () => {
    const order: string[] = [];
    const failing: HousekeepingJob = {
      name: 'failing',
      everyMs: 1,
      begin: () => () => Promise.reject(new Error('disk full')),
    };
    const s = scheduler([failing, job('other', 2, { order })]);
    await s.runOnce();
    await s.runOnce();
    assert.deepEqual(order, ['other', 'other', 'other', 'other']);
    const errors = s.logged.filter(({ level }) => level === 50);
    assert.deepEqual(
      errors.map(({ job, msg }) => [job, msg]),
      Array(2).fill(['failing', 'housekeeping failed']),
    );
  });

  it('drops a run of one instance once another has the duty, and continues runs of every instance', async () => {
    const order: string[] = [];
    let steps = 0;
    const s = scheduler([job('of one', 3, { order }), job('of all', 3, { order, everywhere: true })], {
      hasDuty: () => steps < 2,
      observe: () => {
        steps += 1;
      },
    });
    await s.runOnce();
    assert.deepEqual(order, ['of one', 'of all', 'of all', 'of all']);
  });

  it('reports every step, and logs a run that changed rows', async () => {
    const seen: [string, StepResult][] = [];
    const idle: HousekeepingJob = {
      name: 'idle',
      everyMs: 1,
      begin: () => async () => ({ done: true, rows: 0, took: NO_TIME }),
    };
    const s = scheduler([job('busy', 3), idle], { observe: (name, result) => void seen.push([name, result]) });
    await s.runOnce();
    assert.deepEqual(
      seen.map(([name, { rows }]) => [name, rows]),
      [
        ['busy', 1],
        ['idle', 0],
        ['busy', 1],
        ['busy', 1],
      ],
    );
    assert.deepEqual(
      s.logged.map(({ job, rows }) => [job, rows]),
      [['busy', 3]],
    );
  });

  it('stops after the current step, ends its pause, and can be started again', async () => {
    const order: string[] = [];
    const s = createHousekeepingScheduler({
      jobs: [job('endless', Number.POSITIVE_INFINITY, { order, took: took(3_600_000) })],
      clock: () => 0,
      log: createLog('silent'),
    });
    s.start();
    while (order.length === 0) await turn();
    await s.stop();
    assert.deepEqual(order, ['endless']);
    s.start();
    s.start();
    await s.stop();
    await s.stop();
  });
});
