import test from 'node:test';
import { assertOrderOverKills } from '../support/key-crashes.ts';

test('killed while a key fails: nothing is lost, and every key keeps its order', (t) =>
  assertOrderOverKills(t, { maxBatchRecords: 7, killsAt: [60] }));
