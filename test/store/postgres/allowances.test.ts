/** Limits of events a second, which several instances on one PostgreSQL database share (contract §8.7). */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createIds, randomBytes } from '../../../src/kernel/ids.ts';
import { createVault, MASTER_KEY_BYTES } from '../../../src/kernel/vault.ts';
import { openPostgres } from '../../../src/store/postgres/driver/postgres.ts';
import { createPostgresStore } from '../../../src/store/postgres/store.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { openEmptied } from '../../support/emptied-databases.ts';
import { NOW } from '../../support/store.ts';

/** Two instances, and customers with these ids. */
async function openInstances(t: TestContext, customers: readonly string[]) {
  const first = await openEmptied(t, NOW);
  const second = await openPostgres({ connection: { connectionString: first.url } });
  cleanUp(t, () => second.close());
  const vault = createVault(randomBytes(MASTER_KEY_BYTES), randomBytes);
  const ids = createIds(() => NOW, randomBytes);
  for (const id of customers) {
    const sql =
      "INSERT INTO customer (id, name, metadata, active, created_at, updated_at) VALUES (@id, @id, '{}', true, 0, 0)";
    await first.database.commit([{ sql, params: { id } }]);
  }
  const stores = [first.database, second].map((database) => createPostgresStore(database, vault, ids).allowances);
  /** From now on no time passes for allowances. */
  const freeze = () => first.database.commit([{ sql: 'UPDATE event_allowance SET at = at + 50000', params: {} }]);
  const left = async (customerId: string): Promise<number> => {
    const sql = 'SELECT thousandths FROM event_allowance WHERE customer_id = @customerId';
    return Number((await first.database.get(sql, { customerId }))?.thousandths) / 1000;
  };
  return { stores, freeze, left };
}

describe('allowances on several instances', () => {
  it('admit exactly the events that are left, on every instance, and each request whole or not at all', async (t) => {
    const { stores, freeze, left } = await openInstances(t, ['a', 'b']);
    const wanted = (customerId: string, events: number) => ({ customerId, events, perSecond: 50 });
    for (const id of ['a', 'b']) assert.deepEqual(await stores[0]?.take([wanted(id, 1)], NOW), { ok: true });
    await freeze();
    const asked = Array.from({ length: 60 }, (_, n) => {
      const both = [wanted('a', 2), wanted('b', 1)];
      return stores[n % 2]?.take(n % 3 === 0 ? both.toReversed() : both, NOW);
    });
    const results = await Promise.all(asked);
    assert.equal(results.filter((one) => one?.ok).length, 24, '49 of a are left, for two each');
    assert.deepEqual([await left('a'), await left('b')], [1, 25]);
    for (const one of results) if (one?.ok === false) assert.equal(one.customerId, 'a');
    await stores[1]?.giveBack([wanted('a', 1)], NOW);
    assert.deepEqual(await stores[0]?.take([wanted('a', 2)], NOW), { ok: true });
    await stores[1]?.giveBack([wanted('a', 500)], NOW);
    assert.equal(await left('a'), 50);
  });

  it('fill by the clock of the database, up to one second', async (t) => {
    const { stores, left } = await openInstances(t, ['a']);
    const wanted = { customerId: 'a', events: 10, perSecond: 10 };
    assert.deepEqual(await stores[0]?.take([wanted], NOW), { ok: true });
    const refused = await stores[1]?.take([wanted], NOW);
    assert.ok(refused?.ok === false && refused.waitMs > 0 && refused.waitMs <= 1000, JSON.stringify(refused));
    for (;;) {
      const result = await stores[1]?.take([wanted], NOW);
      if (result?.ok === true) break;
      await new Promise((resolve) => setTimeout(resolve, Math.min(result?.waitMs ?? 1, 1000)));
    }
    assert.ok((await left('a')) < 10);
  });

  it('are not asked for a customer that was deleted', async (t) => {
    const { stores } = await openInstances(t, []);
    assert.deepEqual(await stores[0]?.take([{ customerId: 'gone', events: 1, perSecond: 1 }], NOW), { ok: true });
  });
});
