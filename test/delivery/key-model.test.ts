/** Order by key, in a simulation (`support/key-simulation.ts`). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { POSITION_EVERY_MS, SLOW_ATTEMPT_MS } from '../../src/delivery/limits.ts';
import { createSimulation } from '../support/key-simulation.ts';

const KEYS = ['a', 'b', 'c', 'd', 'e', null, null] as const;
const common = [
  'publish',
  'claim',
  'claim',
  'claim',
  'ok',
  'ok',
  'failed',
  'content',
  'release',
  'nothing',
  'wait',
  'wait',
  'crash',
  'read',
];

describe('order by key, in any sequence of claims, outcomes and crashes', () => {
  for (const [name, more] of [
    ['keeps the order of each key', []],
    ['loses nothing over replays and changes of the order', ['replay', 'order']],
  ] as const)
    for (const maxBatchRecords of [1, 4])
      it(`${name}, with batches of ${maxBatchRecords}`, async () => {
        const command = fc.record({ kind: fc.constantFrom(...common, ...more), pick: fc.nat(100) });
        await fc.assert(
          fc.asyncProperty(fc.array(command, { maxLength: 80, size: 'max' }), async (sequence) => {
            const simulation = createSimulation({ maxBatchRecords });
            for (const { kind, pick } of sequence) {
              if (kind === 'publish')
                simulation.publish(
                  Array.from({ length: 1 + (pick % 9) }, (_, n) => KEYS[(pick * 7 + n * n) % KEYS.length] ?? null),
                );
              else if (kind === 'claim') {
                const outcome = (['release', 'ok', 'failed', 'nothing'] as const)[pick % 4] ?? 'nothing';
                const isAlone = pick % 3 === 0;
                await simulation.claim(1 + (pick % 5), isAlone ? undefined : () => simulation.settle(pick, outcome));
              } else if (kind === 'wait') simulation.wait([1, SLOW_ATTEMPT_MS, POSITION_EVERY_MS][pick % 3] ?? 0);
              else if (kind === 'crash') simulation.crash();
              else if (kind === 'read') simulation.read();
              else if (kind === 'replay') simulation.replay(pick);
              else if (kind === 'order') simulation.reorder(([false, true, 'key'] as const)[pick % 3] ?? false);
              else await simulation.settle(pick, kind as 'ok');
              simulation.check();
            }
            await simulation.finish();
          }),
          { numRuns: 150 },
        );
      });
});

describe('a dead key before others', () => {
  for (const maxBatchRecords of [1, 100])
    it(`delays nothing, with few reads and bounded memory, with batches of ${maxBatchRecords}`, async () => {
      const count = 5000;
      const simulation = createSimulation({ maxBatchRecords, maxAttempts: 1000 });
      simulation.publish(Array.from({ length: count }, () => 'dead'));
      simulation.publish(Array.from({ length: 10 }, (_, n) => `live-${n}`));
      await simulation.claim(8);
      assert.equal(simulation.jobs(), 1);
      await simulation.settle(0, 'failed');
      let most = 0;
      let claims = 0;
      while (simulation.jobs() === 0) {
        await simulation.claim(8);
        claims += 1;
        most = Math.max(most, simulation.log().held.size);
        await simulation.settle(0, 'nothing');
        assert.ok(claims < 20, 'too many looks');
      }
      assert.ok(most <= 1000, `${most} batches in memory`);
      assert.ok(simulation.store.reads() < count * 1.5, `${simulation.store.reads()} reads`);
      assert.equal(simulation.store.pending().length, Math.ceil(count / maxBatchRecords));
    });
});
