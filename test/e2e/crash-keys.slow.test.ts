import test from 'node:test';
import { assertOrderOverKills } from '../support/key-crashes.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';

repeatsInSlowTier('postgres');

for (const maxBatchRecords of [1, 7])
  test(`killed three times: nothing is lost, and every key keeps its order, ${maxBatchRecords} at a time`, (t) =>
    assertOrderOverKills(t, { maxBatchRecords, killsAt: [40, 90, 150] }));
