import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it, type Mock, type TestContext } from 'node:test';
import { createSendLater } from '../../src/http/reply.ts';
import { createLog } from '../../src/observe/log.ts';

/** Sends replies and records which ones were sent. */
function sendingLater(t: TestContext): {
  readonly send: (n: number, fail?: Error) => Pick<Mock<() => void>['mock'], 'callCount'>;
  readonly sent: number[];
} {
  const sent: number[] = [];
  const sendLater = createSendLater(createLog('silent'));
  return {
    sent,
    send: (n, fail) => {
      const destroy = t.mock.fn();
      sendLater({ destroy } as unknown as ServerResponse, () => {
        if (fail !== undefined) throw fail;
        sent.push(n);
      });
      return destroy.mock;
    },
  };
}

const turnsEnd = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('replies', () => {
  it('are sent together at the end of the turn', async (t) => {
    const { send, sent } = sendingLater(t);
    for (const n of [0, 1, 2]) send(n);
    assert.deepEqual(sent, []);
    await turnsEnd();
    assert.deepEqual(sent, [0, 1, 2]);
  });

  it('of a later turn are sent at its end', async (t) => {
    const { send, sent } = sendingLater(t);
    for (const n of [0, 1, 2]) {
      send(n);
      assert.equal(sent.length, n);
      await turnsEnd();
    }
    assert.deepEqual(sent, [0, 1, 2]);
  });

  it('that cannot be sent end without affecting others', async (t) => {
    const { send, sent } = sendingLater(t);
    send(0);
    const broken = send(1, new Error('no'));
    send(2);
    await turnsEnd();
    assert.deepEqual(sent, [0, 2]);
    assert.equal(broken.callCount(), 1);
  });
});
