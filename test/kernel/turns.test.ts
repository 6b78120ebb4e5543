import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createTurns } from '../../src/kernel/turns.ts';
import { encryptBinary } from '../../src/wire/pgp.ts';
import { NOW } from '../support/store.ts';
import { countTurns } from '../support/turns.ts';
import { pgpVector } from '../support/vectors.ts';

describe('createTurns', () => {
  it('runs one piece per turn of the event loop, in order', async (t: TestContext) => {
    const turn = countTurns(t);
    const turns = createTurns();
    const begun: [piece: number, turn: number][] = [];
    const pieces = Array.from({ length: 20 }, (_, piece) =>
      turns(null, async () => {
        begun.push([piece, turn()]);
        // While a piece continues in microtasks, no other begins.
        for (let step = 0; step < 50; step += 1) await null;
        assert.equal(begun.at(-1)?.[0], piece);
        return piece;
      }),
    );
    assert.deepEqual(
      await Promise.all(pieces),
      Array.from({ length: 20 }, (_, piece) => piece),
    );
    assert.equal(new Set(begun.map(([, at]) => at)).size, 20);
    assert.deepEqual(
      begun.map(([piece]) => piece),
      [...begun.keys()],
    );
  });

  it('continues after a failed piece', async () => {
    const turns = createTurns();
    const failing = turns(null, () => Promise.reject(new Error('the first')));
    const next = turns(null, async () => 'the second');
    await assert.rejects(failing, /the first/);
    assert.equal(await next, 'the second');
  });

  it('frees the event loop between encryptions of 1 MiB for RSA-4096', async (t: TestContext) => {
    const turn = countTurns(t);
    const payload = new Uint8Array(1024 * 1024);
    const key = pgpVector('rsa4096');
    await encryptBinary(key, payload, NOW);
    const ends: number[] = [];
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        await encryptBinary(key, payload, NOW);
        ends.push(turn());
      }),
    );
    assert.equal(new Set(ends).size, 8, `turns ${ends.join(', ')}`);
  });
});
