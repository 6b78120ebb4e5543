import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it, type Mock, type TestContext } from 'node:test';
import { createDepartures } from '../../src/http/departures.ts';
import { REPLIES_PER_DEPARTURE } from '../../src/limits.ts';
import { createLog } from '../../src/log.ts';

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
const first = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

describe('replies', () => {
  it('leave together at the end of their turn', async (t) => {
    const { depart, sent } = departing(t);
    for (const n of first(3)) depart(n);
    assert.deepEqual(sent, []);
    await turnsEnd();
    assert.deepEqual(sent, [0, 1, 2]);
  });

  it('of which there are many leave in portions, the latest not before the turn’s end', async (t) => {
    const { depart, sent } = departing(t);
    const all = first(2 * REPLIES_PER_DEPARTURE + 1);
    const sentBefore = all.map((n) => {
      depart(n);
      return sent.length;
    });
    assert.deepEqual(
      sentBefore,
      all.map((n) => Math.floor(n / REPLIES_PER_DEPARTURE) * REPLIES_PER_DEPARTURE),
    );
    await turnsEnd();
    assert.deepEqual(sent, all);
    depart(all.length);
    await turnsEnd();
    assert.equal(sent.length, all.length + 1, 'a later turn has an end too');
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
