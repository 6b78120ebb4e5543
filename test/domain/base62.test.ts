import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { base62Width, decodeBase62, encodeBase62, readUint32, writeUint32 } from '../../src/domain/credential.ts';

/** Size in bytes, its width, the largest number of that size, and the number after it, which no longer fits. */
const SIZES = [
  [4, 6, '4gfFC3', '4gfFC4'],
  [16, 22, '7n42DGM5Tflk9n8mt7Fhc7', '7n42DGM5Tflk9n8mt7Fhc8'],
  [32, 43, 'yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1', 'yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp2'],
  [
    40,
    54,
    'LWEGnERCkN81sx8BObdOS0KSM0CqPAhM7nU6QjpMjmK2kGZ25O4GGV',
    'LWEGnERCkN81sx8BObdOS0KSM0CqPAhM7nU6QjpMjmK2kGZ25O4GGW',
  ],
] as const;

const sizes = fc.constantFrom(...SIZES.map(([size]) => size));
const sized = sizes.chain((size) => fc.uint8Array({ minLength: size, maxLength: size }));

test('every size in use has the width of the contract', () => {
  for (const [size, width] of SIZES) assert.equal(base62Width(size), width);
  for (const size of [0, -4, 1, 5, 39]) assert.throws(() => base62Width(size), RangeError);
});

test('the smallest and the largest number of a size have their known digits, and the next one is refused', () => {
  for (const [size, width, largest, overflow] of SIZES) {
    assert.equal(encodeBase62(new Uint8Array(size)), '0'.repeat(width));
    assert.equal(encodeBase62(new Uint8Array(size).fill(255)), largest);
    assert.deepEqual(decodeBase62(largest, size), new Uint8Array(size).fill(255));
    assert.equal(decodeBase62(overflow, size), null);
    assert.equal(decodeBase62('z'.repeat(width), size), null);
  }
});

test('digits agree with a calculation in big integers', () => {
  fc.assert(
    fc.property(sized, (bytes) => {
      const text = encodeBase62(bytes);
      assert.equal(text, slowEncode(bytes));
      assert.deepEqual(decodeBase62(text, bytes.length), bytes);
    }),
    { numRuns: 300 },
  );
});

test('every text of the right width decodes to bytes that encode to the same text, or to null when it does not fit', () => {
  const digit = fc.constantFrom(...ALPHABET);
  const texts = sizes.chain((size) =>
    fc.record({
      size: fc.constant(size),
      digits: fc.array(digit, { minLength: base62Width(size), maxLength: base62Width(size) }),
    }),
  );
  fc.assert(
    fc.property(texts, ({ size, digits }) => {
      const text = digits.join('');
      const bytes = decodeBase62(text, size);
      assert.equal(bytes === null, slowDecode(text) >= 256n ** BigInt(size));
      if (bytes !== null) assert.equal(encodeBase62(bytes), text);
    }),
    { numRuns: 300 },
  );
});

test('text order is byte order', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 40, maxLength: 40 }),
      fc.uint8Array({ minLength: 40, maxLength: 40 }),
      (a, b) => {
        const [x, y] = [encodeBase62(a), encodeBase62(b)];
        assert.equal(Math.sign(Buffer.compare(a, b)), x < y ? -1 : x > y ? 1 : 0);
      },
    ),
  );
});

test('another width or a foreign character gives null', () => {
  for (const text of [
    '',
    '0',
    '00000',
    '0000000',
    '00000-',
    '-00000',
    '00 000',
    '0000é0',
    '0000\u01300',
    '٠٠٠٠٠٠',
    '00000\n',
  ]) {
    assert.equal(decodeBase62(text, 4), null, JSON.stringify(text));
  }
});

test('encoding does not change its input', () => {
  const bytes = Uint8Array.from({ length: 40 }, (_, i) => i);
  encodeBase62(bytes);
  assert.deepEqual(
    bytes,
    Uint8Array.from({ length: 40 }, (_, i) => i),
  );
});

test('a 32-bit integer is read as it was written, most significant byte first', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffff_ffff }), (value) => {
      const bytes = new Uint8Array(6);
      writeUint32(bytes, 1, value);
      assert.equal(readUint32(bytes, 1), value);
      assert.equal(Buffer.from(bytes).readUInt32BE(1), value);
      assert.deepEqual([bytes[0], bytes[5]], [0, 0]);
    }),
  );
});

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function slowEncode(bytes: Uint8Array): string {
  let number = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (let i = base62Width(bytes.length); i > 0; i -= 1) {
    text = (ALPHABET[Number(number % 62n)] ?? '') + text;
    number /= 62n;
  }
  return text;
}

function slowDecode(text: string): bigint {
  return [...text].reduce((number, digit) => number * 62n + BigInt(ALPHABET.indexOf(digit)), 0n);
}
