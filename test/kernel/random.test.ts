import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { randomBytes } from '../../src/kernel/ids.ts';

const POOL_BYTES = 16 * 1024;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('randomBytes', () => {
  it('returns the requested number of bytes, also none and more than a pool has', () => {
    const sizes = fc.oneof(fc.nat(200), fc.constantFrom(0, POOL_BYTES - 1, POOL_BYTES, POOL_BYTES + 1, 3 * POOL_BYTES));
    fc.assert(fc.property(sizes, (size) => assert.equal(randomBytes(size).length, size)));
  });

  it('never returns the same bytes twice, across many pools', () => {
    const seen = new Set<string>();
    for (let n = 0; n < 5000; n++) seen.add(hex(randomBytes(16 + (n % 33))));
    assert.equal(seen.size, 5000);
  });

  it('returns separate memory for each call', () => {
    const first = randomBytes(32);
    const kept = hex(first);
    const second = randomBytes(32);
    second.fill(0);
    assert.equal(hex(first), kept);
    assert.equal(first.byteOffset, 0);
    assert.equal(first.buffer.byteLength, 32);
  });

  it('uses every byte value about equally often', () => {
    const counts = new Array<number>(256).fill(0);
    for (let n = 0; n < 1000; n++) for (const byte of randomBytes(256)) counts[byte] = (counts[byte] ?? 0) + 1;
    // 1,000 expected of each, standard deviation 32: ten deviations never happen by chance.
    for (const [byte, count] of counts.entries()) assert.ok(Math.abs(count - 1000) < 320, `${byte}: ${count}`);
  });
});
