import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createLru } from '../../src/kernel/lru.ts';

type Entry = { readonly key: number; readonly value: number };

/** The same rules on a plain list, from the least to the most recently used. A value is its own weight. */
function createModel(max: number, maxWeight: number) {
  let entries: Entry[] = [];
  const evicted: number[] = [];
  const weight = (): number => entries.reduce((sum, entry) => sum + entry.value, 0);
  const isHalfFull = (): boolean => entries.length >= max / 2 || weight() >= maxWeight / 2;
  const without = (key: number): Entry[] => entries.filter((entry) => entry.key !== key);
  return {
    evicted,
    get: (key: number): number | undefined => {
      const found = entries.find((entry) => entry.key === key);
      if (found !== undefined && isHalfFull()) entries = [...without(key), found];
      return found?.value;
    },
    set: (key: number, value: number): void => {
      entries = [...without(key), { key, value }];
      while (entries.length > max || weight() > maxWeight) {
        evicted.push(...entries.splice(0, 1).map((entry) => entry.value));
      }
    },
    delete: (key: number): boolean => {
      const before = entries.length;
      entries = without(key);
      return entries.length < before;
    },
    clear: (): void => {
      entries = [];
    },
    values: (): number[] => entries.map(({ value }) => value),
  };
}

const key = fc.nat({ max: 7 });
const step = fc.oneof(
  fc.record({ do: fc.constant('get' as const), key }),
  fc.record({ do: fc.constant('set' as const), key, value: fc.nat({ max: 9 }) }),
  fc.record({ do: fc.constant('delete' as const), key }),
  fc.record({ do: fc.constant('clear' as const) }),
);

describe('createLru', () => {
  it('behaves like a list in order of use', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 5 }),
        fc.nat({ max: 25 }),
        fc.array(step, { maxLength: 60 }),
        (max, maxWeight, steps) => {
          const evicted: number[] = [];
          const lru = createLru<number, number>({
            max,
            maxWeight,
            weightOf: (value) => value,
            onEvict: (value) => evicted.push(value),
          });
          const model = createModel(max, maxWeight);
          for (const one of steps) {
            if (one.do === 'get') assert.equal(lru.get(one.key), model.get(one.key));
            else if (one.do === 'set') assert.equal(lru.set(one.key, one.value), model.set(one.key, one.value));
            else if (one.do === 'delete') assert.equal(lru.delete(one.key), model.delete(one.key));
            else assert.equal(lru.clear(), model.clear());
            assert.deepEqual([...lru.values()], model.values());
            assert.equal(lru.size, model.values().length);
            assert.deepEqual(evicted, model.evicted);
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('keeps entries that are used', () => {
    const lru = createLru<string, number>({ max: 2 });
    lru.set('a', 1);
    lru.set('b', 2);
    lru.get('a');
    lru.set('c', 3);
    assert.deepEqual([lru.get('a'), lru.get('b'), lru.get('c')], [1, undefined, 3]);
  });
});
