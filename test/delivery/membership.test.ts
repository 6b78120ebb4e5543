/** An instance that renewed its lease too late; test/store/postgres/instances.test.ts has the rest on a database. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createMembership } from '../../src/delivery/membership.ts';
import { createLog } from '../../src/observe/log.ts';
import type { InstanceStore } from '../../src/store/port/instances.ts';

it('an instance that has lost its lease has lost its duty', async (t) => {
  let isExpired = false;
  let isTaken = false;
  const instances = {
    join: async () => {
      isExpired = false;
    },
    renew: async () => (isExpired ? null : { alive: 2, webhooks: 0, expired: [] }),
    takeDuty: async () => !isTaken,
    held: () => 0,
    limitTo: () => {},
    holding: () => [],
    leave: async () => {},
  } as unknown as InstanceStore;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const leaseMs = 3000;
  const membership = createMembership({
    instances,
    instance: () => ({ name: 'one', version: '0', address: null }),
    log: createLog('silent'),
    leaseMs,
    stopwatch: () => 0,
  });
  let joined = 0;
  await membership.start({ lost: () => (joined += 1), handOver: () => {}, wake: () => {} });
  assert.equal(membership.hasDuty(), true);
  isExpired = true;
  isTaken = true;
  t.mock.timers.tick(leaseMs / 3);
  while (joined === 0 || !membership.maySend()) await turn();
  assert.equal(membership.hasDuty(), false);
  await membership.stop();
});
