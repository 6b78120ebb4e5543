/** Encrypting bodies beside the event loop. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { createEncryption, type Encryption } from '../../src/delivery/encryption.ts';
import { ENCRYPTED_HERE_BYTES } from '../../src/limits.ts';
import { keyErrorCode } from '../../src/wire/pgp.ts';
import { decryptBinary } from '../../src/wire/pgp-decryption.ts';
import { cleanUp } from '../support/cleanup.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { countTurns } from '../support/turns.ts';
import { pgpVector } from '../support/vectors.ts';

const AT = Date.parse('2026-11-21T05:00:00Z');

function opened(t: TestContext, program?: string): { encryption: Encryption; ends: string[] } {
  const ends: string[] = [];
  const encryption = createEncryption(({ message }) => void ends.push(message), program);
  cleanUp(t, encryption.close);
  return { encryption, ends };
}

/** Bytes in memory of their own, as a body's are. */
function body(bytes: number): Uint8Array {
  return Uint8Array.from(randomBytes(bytes));
}

describe('a body that is encrypted', () => {
  it('can be read by its receiver, be it small or large, and many at once', async (t) => {
    const { publicKey, privateKey } = await pgpKeyPair({ at: AT - 1000 });
    const { encryption, ends } = opened(t);
    const sizes = [0, 1000, ENCRYPTED_HERE_BYTES - 1, ENCRYPTED_HERE_BYTES, 1_000_000, 70_000, 300_000];
    const bodies = sizes.map(body);
    const copies = bodies.map((bytes) => Uint8Array.from(bytes));
    const encrypted = await Promise.all(bodies.map((bytes) => encryption.encrypt(publicKey, bytes, AT)));
    for (const [at, bytes] of encrypted.entries()) {
      const decrypted = await decryptBinary(bytes, privateKey);
      assert.ok(decrypted.ok);
      assert.deepEqual(decrypted.bytes, copies[at]);
    }
    // Large ones are handed over, small ones are not.
    assert.deepEqual(
      bodies.map(({ length }) => length),
      sizes.map((size) => (size < ENCRYPTED_HERE_BYTES ? size : 0)),
    );
    assert.deepEqual(ends, []);
  });

  it('leaves the event loop to others meanwhile', async (t) => {
    const { publicKey } = await pgpKeyPair({ at: AT - 1000 });
    const { encryption } = opened(t);
    await encryption.encrypt(publicKey, body(ENCRYPTED_HERE_BYTES), AT);
    const turn = countTurns(t);
    const before = turn();
    await encryption.encrypt(publicKey, body(8_000_000), AT);
    assert.ok(turn() - before > 20, `${turn() - before} turns`);
  });

  it('is refused for a key that cannot be used, with the code of what is wrong', async (t) => {
    const { encryption } = opened(t);
    for (const bytes of [1000, ENCRYPTED_HERE_BYTES]) {
      await assert.rejects(encryption.encrypt(pgpVector('expired'), body(bytes), AT), (error) => {
        assert.equal(keyErrorCode(error), 'expired_key');
        assert.match((error as Error).message, /^the key expired on 2020-01-02/);
        return true;
      });
    }
  });
});

describe('the thread that encrypts', () => {
  it('may end: what it had in hand is refused, and the next body begins another', async (t) => {
    const { encryption, ends } = opened(
      t,
      "require('node:worker_threads').parentPort.on('message', () => process.exit(1));",
    );
    for (const round of [1, 2]) {
      const results = await Promise.allSettled(
        [1, 2].map(() => encryption.encrypt('a key', body(ENCRYPTED_HERE_BYTES), AT)),
      );
      assert.deepEqual(
        results.map((result) => result.status === 'rejected' && (result.reason as Error).message),
        ['the thread that encrypts has ended', 'the thread that encrypts has ended'],
      );
      assert.equal(ends.length, round);
    }
  });

  it('may fail: its error is told', async (t) => {
    const { encryption, ends } = opened(t, "throw new Error('out of order')");
    await assert.rejects(encryption.encrypt('a key', body(ENCRYPTED_HERE_BYTES), AT), /out of order/);
    assert.deepEqual(ends, ['out of order']);
  });

  it('ends with what it has in hand when it is closed, and nobody is told of it', async (t) => {
    const { encryption, ends } = opened(t, "require('node:worker_threads').parentPort.on('message', () => {});");
    const encrypting = encryption.encrypt('a key', body(ENCRYPTED_HERE_BYTES), AT);
    const refused = assert.rejects(encrypting, /^Error: the service is stopping$/);
    await encryption.close();
    await refused;
    assert.deepEqual(ends, []);
  });
});
