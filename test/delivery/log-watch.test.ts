import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createLogWatch, RECORDS_WAITING_PER_CUSTOMER } from '../../src/delivery/reads/log-watch.ts';
import { cleanUp } from '../support/cleanup.ts';

const WAIT_MS = 30_000;

describe('reads that wait for records', () => {
  it('of one customer are bounded, and leave room for those of others', async (t) => {
    const watch = createLogWatch(async (numbers) => numbers.map((webhookNumber) => ({ webhookNumber, nextOffset: 0 })));
    cleanUp(t, () => watch.close());
    const gone = new AbortController();
    const wait = (owner: string | null, signal = new AbortController().signal): Promise<void> =>
      watch.wait(owner, 1, -1, WAIT_MS, signal);
    const first = wait('one', gone.signal);
    const waiting = Array.from({ length: RECORDS_WAITING_PER_CUSTOMER - 1 }, () => wait('one'));
    await assert.rejects(wait('one'), { code: 'too_many_requests', headers: { 'Retry-After': '1' } });
    waiting.push(wait('other'), wait(null));
    gone.abort();
    await first;
    // The place of a reader that went away is free again.
    waiting.push(wait('one'));
    await assert.rejects(wait('one'), { code: 'too_many_requests' });
    watch.close();
    await Promise.all(waiting);
  });

  it('are woken by a record after one that came while the last reader was being answered', async (t) => {
    let nextOffset = 0;
    const looks: (() => void)[] = [];
    const watch = createLogWatch(async (numbers) => {
      const found = numbers.map((webhookNumber) => ({ webhookNumber, nextOffset }));
      await new Promise<void>((resolve) => looks.push(resolve));
      return found;
    });
    cleanUp(t, () => watch.close());
    const looked = async (): Promise<() => void> => {
      while (looks.length === 0) await nextTurn();
      return looks.pop() as () => void;
    };
    nextOffset = 1;
    const first = watch.wait(null, 1, -1, WAIT_MS, new AbortController().signal);
    const answer = await looked();
    watch.wake();
    answer();
    await first;
    const second = watch.wait(null, 1, 0, WAIT_MS, new AbortController().signal);
    (await looked())();
    nextOffset = 2;
    watch.wake();
    let isAnswered = false;
    void second.then(() => {
      isAnswered = true;
    });
    // At most two looks: the first may have begun before the record came.
    for (let look = 0; look < 2 && !isAnswered; look += 1) {
      (await looked())();
      await nextTurn();
    }
    await second;
  });
});
