/** Two concurrent products, from here or from another process, never take the same paths or scopes. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ApiProduct } from '../../src/domain/catalogue.ts';
import { holdLock } from '../support/lock-holder.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, openTestServices, type TestServices } from '../support/services.ts';
import { NOW, onSqlite } from '../support/store.ts';

repeats('postgres');

type Fields = Readonly<Record<string, unknown>>;
const rule = (path: string, scope: string): Fields => ({ methods: ['GET'], path, scope });
const SHOP = { name: 'Shop', scopes: [{ name: 'shop:view' }], rules: [rule('/orders/{id}', 'shop:view')] };
const SAME_PATH = { name: 'Depot', scopes: [{ name: 'depot:view' }], rules: [rule('/orders/{order}', 'depot:view')] };
const SAME_SCOPE = { name: 'Till', scopes: [{ name: 'shop:view' }], rules: [rule('/tills/{id}', 'shop:view')] };
const ANOTHER = { name: 'Bank', scopes: [{ name: 'bank:view' }], rules: [rule('/accounts/{id}', 'bank:view')] };

const written = async ({ rows }: TestServices): Promise<unknown[]> =>
  (await rows('SELECT name FROM product WHERE NOT built_in ORDER BY id')).map(({ name }) => name);

/** Each work's outcome: `written`, or the code and the fields that it was refused with. */
async function outcomes(works: readonly Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(works);
  return settled.map((outcome) => {
    if (outcome.status === 'fulfilled') return 'written';
    const { code, details } = outcome.reason as { code: string; details: readonly { field: string }[] };
    return [code, ...details.map(({ field }) => field)].join(' ');
  });
}

/** Puts a product in beside all checks, as it may be in a database from before there were any. */
async function putUnchecked(s: TestServices, { name, scopes, rules }: typeof SHOP): Promise<void> {
  const described = scopes.map((scope) => ({ ...scope, description: '' }));
  const product = { id: s.ids.uuid(), name, scopes: described, rules, builtIn: false, createdAt: NOW, updatedAt: NOW };
  await s.store.products.insert(product as unknown as ApiProduct, s.entry());
}

describe('concurrent products', () => {
  const seconds: readonly [what: string, second: typeof SHOP, refusal: string][] = [
    ['the same paths', SAME_PATH, 'conflict rules[0].path'],
    ['the same scope', SAME_SCOPE, 'conflict scopes[0].name'],
  ];
  for (const [what, second, refusal] of seconds) {
    it(`are not both created with ${what}`, async (t) => {
      const s = await openTestServices(t);
      const works = [SHOP, second].map((body) => s.products.create(body, ACTOR));
      const ended = await outcomes(works);
      // On PostgreSQL either may come first.
      assert.deepEqual(ended.toSorted(), [refusal, 'written']);
      assert.deepEqual(await written(s), [ended[0] === 'written' ? 'Shop' : second.name]);
    });

    it(`are not both changed to ${what}`, async (t) => {
      const s = await openTestServices(t);
      const { id: one } = await s.products.create({ name: 'One' }, ACTOR);
      const { id: two } = await s.products.create({ name: 'Two' }, ACTOR);
      const works = [s.products.patch(one, SHOP, ACTOR), s.products.patch(two, second, ACTOR)];
      const ended = await outcomes(works);
      assert.deepEqual(ended.toSorted(), [refusal, 'written']);
      assert.deepEqual(await written(s), ended[0] === 'written' ? ['Shop', 'Two'] : ['One', second.name]);
    });

    onSqlite(`are not both written with ${what} where one comes from another process`, async (t: TestContext) => {
      const s = await openTestServices(t);
      const other = await holdLock(t, s.path, insertSql(s));
      const created = outcomes([s.products.create(second, ACTOR)]);
      await other.release();
      assert.deepEqual(await created, [refusal]);
      assert.deepEqual(await written(s), ['Shop']);
    });
  }

  it('are all written if they do not conflict', async (t) => {
    const s = await openTestServices(t);
    const bodies = Array.from({ length: 12 }, (_, n) => ({
      name: `Product ${n}`,
      scopes: [{ name: `s${n}:view` }],
      rules: [rule(`/p${n}/{id}`, `s${n}:view`)],
    }));
    await Promise.all(bodies.map((body) => s.products.create(body, ACTOR)));
    assert.equal((await written(s)).length, 12);
  });
});

describe('products that conflict already', () => {
  it('do not block other products, and are refused themselves', async (t) => {
    const s = await openTestServices(t);
    await putUnchecked(s, SHOP);
    await putUnchecked(s, SAME_PATH);
    const { id } = await s.products.create(ANOTHER, ACTOR);
    await s.products.patch(id, { name: 'Savings bank' }, ACTOR);
    const depot = (await s.store.products.all()).find(({ name }) => name === 'Depot');
    await refused(() => s.products.patch(depot?.id ?? '', { name: 'Store' }, ACTOR), {
      code: 'conflict',
      fields: ['rules[0].path'],
    });
    await s.products.patch(depot?.id ?? '', { rules: [] }, ACTOR);
  });
});

/** The statement with which another process creates the shop. */
function insertSql({ ids }: TestServices): string {
  const [scopes, rules] = [JSON.stringify([{ name: 'shop:view', description: '' }]), JSON.stringify(SHOP.rules)];
  return `INSERT INTO product (id, name, built_in, scopes, rules, created_at, updated_at)
    VALUES ('${ids.uuid()}', 'Shop', 0, '${scopes}', '${rules}', ${NOW}, ${NOW})`;
}
