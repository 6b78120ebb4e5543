import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { memorySeen, type SeenStore } from '../../src/receiver/index.ts';
import { deferred } from '../support/deferred.ts';
import { type Send, TRANSPORTS, type Transport } from '../support/receiver-transports.ts';
import { SECRET, signedRequest } from '../support/signed-request.ts';

type Handle = (messageIds: string[]) => void | Promise<void>;

/** Makes a receiver. Returns it with the ids of the messages that it handed over. */
async function receiver(
  { start }: Transport,
  t: TestContext,
  handle: Handle,
  seen: SeenStore = memorySeen(100),
): Promise<{ deliver: (...messageIds: string[]) => Promise<number>; handled: string[][] }> {
  const handled: string[][] = [];
  const send: Send = await start(t, {
    secrets: SECRET,
    seen,
    onError: () => {},
    onRecords: async (records) => {
      const ids = Array.from(records, ({ messageId }) => messageId);
      handled.push(ids);
      await handle(ids);
    },
  });
  const deliver = async (...messageIds: string[]): Promise<number> => {
    const records = messageIds.map((messageId) => ({ messageId }));
    return (await send(await signedRequest({ records }))).status;
  };
  return { deliver, handled };
}

for (const transport of TRANSPORTS) {
  describe(`a message (${transport.name})`, () => {
    it('is handed over once, in whichever deliveries it arrives', async (t) => {
      const { deliver, handled } = await receiver(transport, t, () => {});
      assert.equal(await deliver('a', 'b'), 204);
      assert.equal(await deliver('a', 'b'), 204);
      assert.equal(await deliver('b', 'c', 'c', 'd'), 204);
      assert.deepEqual(handled, [
        ['a', 'b'],
        ['c', 'd'],
      ]);
    });

    it('is handed over again if it could not be handled, and is remembered only once handled', async (t) => {
      let failures = 2;
      const { deliver, handled } = await receiver(transport, t, () => {
        if (failures-- > 0) throw new Error('not yet');
      });
      assert.deepEqual(
        [await deliver('a'), await deliver('a'), await deliver('a'), await deliver('a')],
        [500, 500, 204, 204],
      );
      assert.equal(handled.length, 3);
    });

    it('that is being handled delays other deliveries of it, which then skip it', async (t) => {
      const begun = deferred();
      const go = deferred();
      const { deliver, handled } = await receiver(transport, t, () => {
        begun.resolve();
        return go.promise;
      });
      const first = deliver('a', 'b');
      await begun.promise;
      const second = deliver('b');
      const unrelated = deliver('c');
      go.resolve();
      assert.deepEqual(await Promise.all([first, second, unrelated]), [204, 204, 204]);
      assert.deepEqual(handled, [['a', 'b'], ['c']]);
    });

    it('is handled by the waiting delivery if the first one fails', async (t) => {
      const begun = deferred();
      const fail = deferred();
      const { deliver, handled } = await receiver(transport, t, (): Promise<void> | void => {
        begun.resolve();
        if (handled.length === 1) return fail.promise.then(() => assert.fail('too late'));
      });
      const first = deliver('a');
      await begun.promise;
      const second = deliver('a');
      fail.resolve();
      assert.deepEqual(await Promise.all([first, second]), [500, 204]);
      assert.deepEqual(handled, [['a'], ['a']]);
    });

    it('is looked up and added in the program’s store, once for all messages of a delivery', async (t) => {
      const calls: string[] = [];
      const stored = new Set(['old']);
      const seen: SeenStore = {
        find: async (ids) => {
          calls.push(`find ${ids}`);
          return ids.filter((id) => stored.has(id));
        },
        add: async (ids) => {
          calls.push(`add ${ids}`);
          for (const id of ids) stored.add(id);
        },
      };
      const { deliver } = await receiver(transport, t, (ids) => void calls.push(`handle ${ids}`), seen);
      assert.equal(await deliver('old', 'new', 'newer'), 204);
      assert.deepEqual(calls, ['find old,new,newer', 'handle new,newer', 'add new,newer']);
    });

    it('counts as not handled if the store fails', async (t) => {
      const broken: SeenStore = { find: () => Promise.reject(new Error('down')), add: () => {} };
      const asking = await receiver(transport, t, () => {}, broken);
      assert.equal(await asking.deliver('a'), 500);
      assert.deepEqual(asking.handled, []);
      const forgetful: SeenStore = { find: () => [], add: () => Promise.reject(new Error('down')) };
      const keeping = await receiver(transport, t, () => {}, forgetful);
      assert.deepEqual([await keeping.deliver('a'), await keeping.deliver('a')], [500, 500]);
      assert.deepEqual(keeping.handled, [['a'], ['a']]);
    });
  });
}

describe('the memory of messages', () => {
  it('is bounded and forgets the oldest first', async () => {
    const seen = memorySeen(3);
    await seen.add(['a', 'b']);
    await seen.add(['c', 'd']);
    assert.deepEqual(await seen.find(['a', 'b', 'c', 'd', 'e']), ['b', 'c', 'd']);
    await seen.add(['e', 'f', 'g', 'h']);
    assert.deepEqual(await seen.find(['d', 'e', 'f', 'g', 'h']), ['f', 'g', 'h']);
  });
});
