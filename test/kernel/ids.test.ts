import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  batchId,
  createIds,
  deliveryAddress,
  deliveryId,
  firstRowKeyAt,
  isUuidV7,
  randomBytes,
  rowKeyOf,
  rowKeyTime,
  webhookNumbersIn,
} from '../../src/kernel/ids.ts';

/** Until the year 2109, when row keys would reach 2⁵³. */
const instants = fc.integer({ min: 1, max: 2 ** 42 - 1 });

describe('row keys and UUIDs', () => {
  it('makes UUIDs of version 7 in lower case, whose first 48 bits are the time', () => {
    fc.assert(
      fc.property(instants, (at) => {
        const uuid = createIds(() => at, randomBytes).uuid();
        assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        assert.ok(isUuidV7(uuid));
        assert.equal(Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16), at);
      }),
    );
  });

  it('reads from a UUID the row key that it was made with', () => {
    fc.assert(
      fc.property(instants, fc.uint8Array({ minLength: 8, maxLength: 8 }), (at, bytes) => {
        const random = (size: number): Uint8Array => bytes.slice(0, size);
        const key = createIds(() => at, random).rowKey();
        const uuid = createIds(() => at, random).uuid();
        assert.equal(rowKeyOf(uuid), key);
        assert.ok(Number.isSafeInteger(key));
        assert.equal(rowKeyTime(key), at);
        assert.ok(key >= firstRowKeyAt(at) && key < firstRowKeyAt(at + 1));
      }),
    );
  });

  it('continues after the largest key in use, also if the clock was set back', () => {
    const ids = createIds(() => 1_800_000_000_000, randomBytes, firstRowKeyAt(1_900_000_000_000));
    assert.equal(ids.rowKey(), firstRowKeyAt(1_900_000_000_000) + 1);
  });

  it('continues above a larger key from another process', () => {
    const ids = createIds(() => 1_800_000_000_000, randomBytes);
    const first = ids.rowKey();
    assert.equal(ids.rowKey(first + 5000), first + 5001);
    assert.equal(ids.rowKey(first), first + 5002);
    assert.equal(ids.rowKey(), first + 5003);
  });

  it('creates larger keys and later UUIDs each time, for any clock', () => {
    const steps = fc.array(fc.integer({ min: -5000, max: 50 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(steps, (moves) => {
        let now = 1_800_000_000_000;
        const ids = createIds(() => now, randomBytes);
        let before = ids.uuid();
        for (const move of moves) {
          now += move;
          const key = ids.rowKey();
          const uuid = ids.uuid();
          assert.ok(key > rowKeyOf(before));
          assert.ok(rowKeyOf(uuid) > key);
          assert.ok(uuid > before);
          before = uuid;
        }
      }),
    );
  });

  it('continues into the next milliseconds when one is used up, and returns to the clock later', () => {
    let now = 1_800_000_000_000;
    const ids = createIds(() => now, randomBytes);
    const keys = Array.from({ length: 5000 }, () => ids.rowKey());
    assert.equal(new Set(keys).size, 5000);
    assert.deepEqual(
      keys,
      keys.toSorted((a, b) => a - b),
    );
    const ahead = rowKeyTime(keys.at(-1) ?? 0) - now;
    assert.ok(ahead >= 2 && ahead <= 3, `${ahead} ms ahead`);
    now += 10;
    assert.equal(rowKeyTime(ids.rowKey()), now);
  });

  it('starts each millisecond at a random value in the lower half, so that two processes rarely collide', () => {
    const starts = Array.from({ length: 200 }, () => createIds(() => 1000, randomBytes).rowKey() - firstRowKeyAt(1000));
    assert.ok(starts.every((start) => start >= 0 && start < 1024));
    assert.ok(new Set(starts).size > 100);
  });

  const noIds = {
    'the empty text': '',
    'another version': '0193a1f0-0000-4000-8000-000000000001',
    'another variant': '0193a1f0-0000-7000-c000-000000000001',
    'upper case': '0193A1F0-0000-7000-8000-000000000001',
    braces: '{0193a1f0-0000-7000-8000-000000000001}',
    'a line feed after it': '0193a1f0-0000-7000-8000-000000000001\n',
    'no dashes': '0193a1f0000070008000000000000001',
  };
  for (const [what, text] of Object.entries(noIds)) {
    it(`does not accept ${what} as an id`, () => {
      assert.equal(isUuidV7(text), false);
      assert.equal(deliveryAddress(text), null);
    });
  }
});

describe('delivery ids', () => {
  it('do not tell how many webhooks there are: numbers of webhooks are random', () => {
    const numbers = Array.from({ length: 200 }, () => webhookNumbersIn(createIds(Date.now, randomBytes).uuid()));
    for (const each of numbers) {
      assert.ok(each.length >= 8);
      for (const number of each) assert.ok(number > 0 && number < 2 ** 26);
    }
    const first = numbers.map(([number = 0]) => number);
    // With 200 random numbers, the chance that one of eight equal ranges has none is below 10⁻¹⁰.
    assert.equal(new Set(first.map((number) => number >> 23)).size, 8);
  });

  const addresses = fc.record(
    {
      createdAt: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
      webhookNumber: fc.oneof(fc.integer({ min: 1, max: 2 ** 26 - 1 }), fc.constantFrom(1, 16383, 16384, 2 ** 26 - 1)),
      offset: fc.oneof(fc.integer({ min: 0, max: 2 ** 48 - 1 }), fc.constantFrom(0, 2 ** 32, 2 ** 48 - 1)),
    },
    { noNullPrototype: true },
  );

  it('contain the place of the delivery, over the full range of each part', () => {
    fc.assert(
      fc.property(addresses, (address) => {
        const id = deliveryId(address);
        assert.ok(isUuidV7(id), id);
        assert.deepEqual(deliveryAddress(id), address);
      }),
      { numRuns: 1000 },
    );
  });

  it('belong to exactly one address each', () => {
    fc.assert(
      fc.property(addresses, addresses, (one, other) => {
        const same = JSON.stringify(one) === JSON.stringify(other);
        assert.equal(deliveryId(one) === deliveryId(other), same);
      }),
    );
  });

  it('convert any UUIDv7 to an address and back', () => {
    fc.assert(
      fc.property(fc.uuid({ version: 7 }), (uuid) => {
        const address = deliveryAddress(uuid);
        assert.ok(address !== null);
        assert.equal(deliveryId(address), uuid);
      }),
    );
  });
});

describe('ids of batches', () => {
  const batches = fc
    .record({
      createdAt: instants,
      webhookNumber: fc.integer({ min: 1, max: 2 ** 26 - 1 }),
      first: fc.integer({ min: 0, max: 2 ** 38 - 1 }),
      length: fc.integer({ min: 1, max: 1024 }),
    })
    .map(({ length, ...place }) => ({ ...place, last: place.first + length - 1 }));

  it('contain the records of the batch, over the full range of each part', () => {
    fc.assert(
      fc.property(batches, (address) => {
        const id = batchId(address);
        assert.ok(isUuidV7(id), id);
        const { offset, ...place } = deliveryAddress(id) ?? assert.fail(id);
        const first = Math.floor(offset / 1024);
        assert.deepEqual({ ...place, first, last: first + (offset % 1024) }, address);
      }),
      { numRuns: 1000 },
    );
  });

  it('are the same exactly for the same records of a webhook', () => {
    fc.assert(
      fc.property(batches, batches, (one, other) => {
        const same = JSON.stringify(one) === JSON.stringify(other);
        assert.equal(batchId(one) === batchId(other), same);
        assert.equal(batchId({ ...one }), batchId(one));
      }),
    );
  });
});
