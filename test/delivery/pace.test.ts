import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createPace } from '../../src/delivery/pace.ts';
import { BATCH_BYTES } from '../../src/limits.ts';
import { createTurns } from '../../src/wire/turns.ts';
import { isDrained, openDispatching, until } from '../support/dispatching.ts';
import { makeKey } from '../support/services.ts';
import { countTurns } from '../support/turns.ts';

describe('the pace', () => {
  /** Pieces of so many bytes, all asked for at once; answers the turn that each was done in. */
  async function turnsOf(t: TestContext, sizes: readonly number[], bytesPerTurn = 100): Promise<number[]> {
    const turn = countTurns(t);
    const { paced } = createPace(bytesPerTurn, createTurns());
    const first = turn();
    const order: number[] = [];
    const turns = await Promise.all(
      sizes.map((bytes, piece) =>
        paced(
          async () => {
            order.push(piece);
            return turn() - first;
          },
          () => bytes,
        ),
      ),
    );
    assert.deepEqual(order, [...sizes.keys()]);
    return turns;
  }

  it('does light work together in one turn, as much as a turn takes', async (t) => {
    const turns = await turnsOf(t, Array<number>(50).fill(1));
    assert.deepEqual(new Set(turns), new Set([0]));
  });

  it('gives what is more a turn of its own, each', async (t) => {
    const turns = await turnsOf(t, Array<number>(8).fill(1000));
    assert.equal(new Set(turns).size, 8);
  });

  it('goes on after a piece that failed, which alone is told', async () => {
    const { paced } = createPace(1, createTurns());
    const bytes = (): number => 5;
    const all = [1, 2, 3].map((n) => paced(async () => (n === 2 ? assert.fail('the second') : n), bytes));
    const settled = await Promise.allSettled(all);
    assert.deepEqual(
      settled.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
  });
});

describe('batches of 1 MiB', () => {
  for (const encrypted of [false, true]) {
    it(`are read, written, hashed ${encrypted ? 'and encrypted for RSA-4096 ' : ''}one a turn of the event loop, at full load`, async (t) => {
      const turn = countTurns(t);
      const ready: number[] = [];
      const d = await openDispatching(t, {
        onPost: ({ body }) => {
          if (body.length > BATCH_BYTES / 2) ready.push(turn());
        },
      });
      const { name } = await makeKey(d, 'rsa4096');
      const { at } = await d.connect({ webhook: { maxBatchRecords: 4, encryptionKeyName: encrypted ? name : null } });
      d.receiver.route(at.path, () => ({ status: 200 }));
      d.database.connection.exec(`UPDATE webhook_progress SET state = 'running'`);
      await d.publishMany(4 * 12, { text: 'x'.repeat(250_000) });
      await d.start();
      await until('the end', () => isDrained(d));
      assert.equal(ready.length, 12);
      assert.equal(new Set(ready).size, 12, `ready in turns ${ready.join(', ')}`);
    });
  }
});
