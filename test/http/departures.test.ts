import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it, type Mock, type TestContext } from 'node:test';
import { createDepartures } from '../../src/http/departures.ts';
import { createLog } from '../../src/observe/log.ts';

/** Has replies depart, and tells which have been sent by now. */
function departing(t: TestContext): {
  readonly depart: (n: number, fail?: Error) => Pick<Mock<() => void>['mock'], 'callCount'>;
  readonly sent: number[];
} {
  const sent: number[] = [];
  const depart = createDepartures(createLog('silent'));
  return {
    sent,
    depart: (n, fail) => {
      const destroy = t.mock.fn();
      depart({ destroy } as unknown as ServerResponse, () => {
        if (fail !== undefined) throw fail;
        sent.push(n);
      });
      return destroy.mock;
    },
  };
}

const turnsEnd = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('replies', () => {
  it('leave together at the end of their turn', async (t) => {
    const { depart, sent } = departing(t);
    for (const n of [0, 1, 2]) depart(n);
    assert.deepEqual(sent, []);
    await turnsEnd();
    assert.deepEqual(sent, [0, 1, 2]);
  });

  it('of a later turn leave at its end', async (t) => {
    const { depart, sent } = departing(t);
    for (const n of [0, 1, 2]) {
      depart(n);
      assert.equal(sent.length, n);
      await turnsEnd();
    }
    assert.deepEqual(sent, [0, 1, 2]);
  });

  it('that cannot be sent end alone', async (t) => {
    const { depart, sent } = departing(t);
    depart(0);
    const broken = depart(1, new Error('no'));
    depart(2);
    await turnsEnd();
    assert.deepEqual(sent, [0, 2]);
    assert.equal(broken.callCount(), 1);
  });
});
