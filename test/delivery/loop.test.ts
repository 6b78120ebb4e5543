import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createLoop, type Loop } from '../../src/delivery/dispatcher.ts';
import { LOOK_LIMIT_MS } from '../../src/delivery/limits.ts';
import { createLog } from '../../src/observe/log.ts';
import { type Deferred, deferred } from '../support/deferred.ts';
import { createMailbox } from '../support/mailbox.ts';

type Looked = { readonly again?: boolean; readonly nextAt?: number | null };

/** A loop whose looks end when the test says what they found. Its poll interval of an hour never ends in a test. */
function startLoop(
  t: TestContext,
  { pollMs = 3_600_000, ...clocks }: { pollMs?: number; clock?: () => number; stopwatch?: () => number } = {},
) {
  const looks = createMailbox<Deferred<Looked>>('a look');
  const logged: string[] = [];
  let under = 0;
  const loop: Loop = createLoop({
    clock: Date.now,
    ...clocks,
    pollMs,
    log: createLog('info', { write: (line) => void logged.push(line) }),
  });
  t.after(() => loop.stop());
  loop.start(async () => {
    under += 1;
    assert.equal(under, 1, 'two looks at once');
    const look = deferred<Looked>();
    looks.put(look);
    try {
      const { again = false, nextAt = null } = await look.promise;
      return { again, nextAt };
    } finally {
      under -= 1;
    }
  });
  return { loop, look: looks.take, logged };
}

describe('the loop', () => {
  it('looks at its start, again while there is work, and once more if it was woken during a look', async (t) => {
    const { loop, look } = startLoop(t);
    (await look()).resolve({ again: true });
    const second = await look();
    for (let wakes = 0; wakes < 5; wakes += 1) loop.wake();
    second.resolve({});
    const third = await look();
    third.resolve({});
    await loop.stop();
    assert.equal(loop.isAlive(), false);
  });

  it('looks at the time that the last look returned, not only at the next poll', async (t) => {
    const { look } = startLoop(t);
    (await look()).resolve({ nextAt: Date.now() + 20 });
    (await look()).resolve({ nextAt: Date.now() - 1 });
    (await look()).resolve({});
  });

  it('looks at every poll without being told', async (t) => {
    const { look } = startLoop(t, { pollMs: 5 });
    for (let polls = 0; polls < 3; polls += 1) (await look()).resolve({ nextAt: Date.now() + 3_600_000 });
    (await look()).resolve({});
  });

  it('goes on after a look that failed, and logs it', async (t) => {
    const { loop, look, logged } = startLoop(t, { pollMs: 5 });
    const failing = await look();
    failing.resolve(Promise.reject(new Error('the store is unwell')) as unknown as Looked);
    (await look()).resolve({});
    await loop.stop();
    assert.match(logged.join(), /the store is unwell.*could not look for work/);
  });

  it('is alive unless a look is stuck, even if the clock is set back or forward', async (t) => {
    let elapsedMs = 0;
    let now = Date.now();
    const { loop, look } = startLoop(t, { clock: () => now, stopwatch: () => elapsedMs });
    const stuck = await look();
    elapsedMs += LOOK_LIMIT_MS - 1;
    now += 3_600_000;
    assert.equal(loop.isAlive(), true);
    elapsedMs += 1;
    now -= 7_200_000;
    assert.equal(loop.isAlive(), false);
    stuck.resolve({});
  });

  it('stops after the current look, and looks no more', async (t) => {
    const { loop, look } = startLoop(t);
    const last = await look();
    let stopped = false;
    const stopping = loop.stop().then(() => {
      stopped = true;
    });
    loop.wake();
    await new Promise(setImmediate);
    assert.equal(stopped, false);
    last.resolve({ again: true });
    await stopping;
    loop.wake();
    assert.equal(loop.isRunning(), false);
  });
});
