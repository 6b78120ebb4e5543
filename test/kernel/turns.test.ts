import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createPlaces, createTurns } from '../../src/kernel/turns.ts';
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
      turns(async () => {
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
    const failing = turns(() => Promise.reject(new Error('the first')));
    const next = turns(async () => 'the second');
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

describe('createPlaces', () => {
  it('starts work in order, with at most the given number at a time, whether it succeeds or not', async () => {
    const place = createPlaces(3);
    let underWay = 0;
    let most = 0;
    const begun: number[] = [];
    const pieces = Array.from({ length: 20 }, (_, piece) =>
      place(async () => {
        begun.push(piece);
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise(setImmediate);
        underWay -= 1;
        if (piece % 4 === 1) throw new Error(String(piece));
        return piece;
      }),
    );
    for (const [piece, result] of (await Promise.allSettled(pieces)).entries()) {
      assert.equal(result.status === 'fulfilled' ? result.value : Number(result.reason.message), piece);
    }
    assert.equal(most, 3);
    assert.deepEqual(begun, [...begun.keys()]);
  });
});
