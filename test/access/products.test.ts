import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BUILT_IN_PRODUCTS, BUILT_IN_SCOPES } from '../../src/access/built-in.ts';
import { installBuiltInProducts, viewProduct } from '../../src/access/products.ts';
import { conflictsOf, matchRule, problemsOf } from '../../src/domain/catalogue.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeApplication, openTestServices, type TestServices } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

repeatsInSlowTier('postgres');

const SHOP = {
  name: 'Shop',
  scopes: [{ name: 'orders:view', description: 'See orders.' }, { name: 'orders:edit' }],
  rules: [
    { methods: ['GET'], path: '/shop/orders/{id}', scope: 'orders:view' },
    { methods: ['PUT', 'DELETE'], path: '/shop/orders/{id}', scope: 'orders:edit', permission: 'orders.write' },
  ],
};
const scopeFor = ({ products }: TestServices, method: string, path: string): string | null =>
  matchRule(products.compiled(), method, path)?.scope ?? null;

describe('products', () => {
  it('are read as they were written, and the gate’s catalogue follows every change immediately', async (t) => {
    const s = await openTestServices(t);
    const { id, ...view } = viewProduct(await s.products.create(SHOP, ACTOR));
    const at = '2026-11-21T05:00:00.000Z';
    assert.deepEqual(view, {
      ...SHOP,
      scopes: [SHOP.scopes[0], { name: 'orders:edit', description: '' }],
      builtIn: false,
      createdAt: at,
      updatedAt: at,
    });
    assert.equal(scopeFor(s, 'PUT', '/shop/orders/5'), 'orders:edit');
    await s.products.patch(id, { rules: [{ methods: ['GET'], path: '/shop/orders', scope: 'orders:view' }] }, ACTOR);
    assert.deepEqual([scopeFor(s, 'GET', '/shop/orders'), scopeFor(s, 'PUT', '/shop/orders/5')], ['orders:view', null]);
    await s.products.remove(id, ACTOR);
    assert.equal(scopeFor(s, 'GET', '/shop/orders'), null);
  });

  it('changed by another process count after a refresh', async (t) => {
    const s = await openTestServices(t);
    await s.store.products.insert(
      { ...SHOP, id: s.ids.uuid(), scopes: [], builtIn: false, createdAt: NOW, updatedAt: NOW },
      s.entry(),
    );
    assert.equal(scopeFor(s, 'GET', '/shop/orders/5'), null);
    await s.products.refresh();
    assert.equal(scopeFor(s, 'GET', '/shop/orders/5'), 'orders:view');
  });

  const bad: readonly [what: string, more: Record<string, unknown>, fields: readonly string[]][] = [
    ['no name', { name: '' }, ['name']],
    ['a scope that is no scope name', { scopes: [{ name: 'orders' }], rules: [] }, ['scopes[0].name']],
    ['a scope declared twice', { scopes: [{ name: 'a:b' }, { name: 'a:b' }], rules: [] }, ['scopes[1].name']],
    ['a scope without a name', { scopes: [{ description: 'x' }] }, ['scopes[0].name']],
    ['an unknown member of a scope', { scopes: [{ name: 'a:b', x: 1 }] }, ['scopes[0].x']],
    [
      'a rule for a scope of no product',
      { rules: [{ methods: ['GET'], path: '/a', scope: 'no:such' }] },
      ['rules[0].scope'],
    ],
    [
      'a rule for another product’s scope',
      { rules: [{ methods: ['GET'], path: '/a', scope: 'employees:view' }] },
      ['rules[0].scope'],
    ],
    ['a rule without methods', { rules: [{ methods: [], path: '/a', scope: 'orders:view' }] }, ['rules[0].methods']],
    [
      'a method in lower case',
      { rules: [{ methods: ['get'], path: '/a', scope: 'orders:view' }] },
      ['rules[0].methods[0]'],
    ],
    [
      'a path that is no pattern',
      { rules: [{ methods: ['GET'], path: 'a/{', scope: 'orders:view' }] },
      ['rules[0].path'],
    ],
    [
      'a path with a rest in the middle',
      { rules: [{ methods: ['GET'], path: '/{a*}/b', scope: 'orders:view' }] },
      ['rules[0].path'],
    ],
    [
      'a permission that is no name',
      { rules: [{ methods: ['GET'], path: '/a', scope: 'orders:view', permission: 'a b' }] },
      ['rules[0].permission'],
    ],
    ['scopes as a text', { scopes: 'orders:view' }, ['scopes']],
    ['the mark of what is built in', { builtIn: true }, ['builtIn']],
  ];
  for (const [what, more, fields] of bad) {
    it(`are refused with ${what}`, async (t) => {
      const s = await openTestServices(t);
      const { id } = await s.products.create(SHOP, ACTOR);
      await leavingNothing(s, async () => {
        await refused(() => s.products.create({ ...SHOP, name: 'Other', scopes: [], rules: [], ...more }, ACTOR), {
          code: 'validation_failed',
        });
        await refused(() => s.products.patch(id, more, ACTOR), { code: 'validation_failed', fields });
      });
      assert.equal(scopeFor(s, 'PUT', '/shop/orders/5'), 'orders:edit');
    });
  }

  const conflicting: readonly [what: string, more: Record<string, unknown>, fields: readonly string[], says: string][] =
    [
      [
        'a rule for the same paths as another product’s',
        { rules: [{ methods: ['POST', 'DELETE'], path: '/shop/orders/{number}', scope: 'b:x' }] },
        ['rules[0].path'],
        'product Shop',
      ],
      [
        'a rule for the paths of a built-in product',
        { rules: [{ methods: ['GET'], path: '/services/api/x/users/v1/employees', scope: 'b:x' }] },
        ['rules[0].path', 'rules[0].path'],
        'is built in',
      ],
      [
        'a rule that would win over one of a built-in product',
        {
          rules: [
            { methods: ['GET'], path: '/shop/{x}', scope: 'b:x' },
            { methods: ['POST'], path: '/services/api/x/edge/v1/applications/{id}/regenerate-secret', scope: 'b:x' },
          ],
        },
        ['rules[1].path'],
        'is built in',
      ],
      [
        'a scope of another product',
        { scopes: [{ name: 'b:x' }, { name: 'orders:view' }] },
        ['scopes[1].name'],
        'product Shop',
      ],
      [
        'a scope of a built-in product',
        { scopes: [{ name: 'users:manage' }] },
        ['scopes[0].name'],
        'product Administration',
      ],
      ['the name of another product', { name: 'Shop' }, ['name'], 'is taken'],
      ['the name of a built-in product', { name: 'Employees' }, ['name'], 'is taken'],
    ];
  for (const [what, more, fields, says] of conflicting) {
    it(`are refused with ${what}, which is named`, async (t) => {
      const s = await openTestServices(t);
      await s.products.create(SHOP, ACTOR);
      const body = { name: 'Other', scopes: [{ name: 'b:x' }], ...more };
      await leavingNothing(s, () => refused(() => s.products.create(body, ACTOR), { code: 'conflict', fields, says }));
      assert.equal(scopeFor(s, 'DELETE', '/shop/orders/5'), 'orders:edit');
    });
  }

  it('are refused with two rules of their own for the same paths', async (t) => {
    const s = await openTestServices(t);
    const rules = [...SHOP.rules, { methods: ['GET'], path: '/shop/orders/{other}', scope: 'orders:edit' }];
    await refused(() => s.products.create({ ...SHOP, rules }, ACTOR), { code: 'conflict', fields: ['rules[2].path'] });
  });

  it('name no more than 20 of the rules that conflict', async (t) => {
    const s = await openTestServices(t);
    const one = { methods: ['GET'], path: '/shop/carts', scope: 'orders:view' };
    const fields = Array.from({ length: 20 }, (_, at) => `rules[${at + 1}].path`);
    const rules = Array.from({ length: 100 }, () => one);
    await refused(() => s.products.create({ ...SHOP, rules }, ACTOR), { code: 'conflict', fields });
  });

  it('keep scopes that an application holds, and are kept themselves, the application being named', async (t) => {
    const s = await openTestServices(t);
    const { id } = await s.products.create(SHOP, ACTOR);
    const { application } = await makeApplication(s, { scopes: ['orders:view'] });
    const named = `application ${application.name} (${application.id})`;
    await leavingNothing(s, async () => {
      await refused(() => s.products.remove(id, ACTOR), { code: 'in_use', says: named });
      await refused(() => s.products.patch(id, { scopes: [SHOP.scopes[1]], rules: [] }, ACTOR), {
        code: 'in_use',
        says: named,
        fields: ['scopes'],
      });
    });
    await s.products.patch(id, { scopes: [SHOP.scopes[0]], rules: [] }, ACTOR);
    await s.applications.patch(application.id, { scopes: [] }, ACTOR);
    await s.products.remove(id, ACTOR);
    await refused(() => s.products.get(id), { code: 'not_found' });
  });
});

describe('the built-in products', () => {
  it('have no problems, conflict with nothing, and share no scope', () => {
    for (const product of BUILT_IN_PRODUCTS) assert.deepEqual(problemsOf(product), []);
    assert.deepEqual(conflictsOf(BUILT_IN_PRODUCTS), []);
    assert.equal(new Set(BUILT_IN_SCOPES).size, BUILT_IN_SCOPES.length);
  });

  it('cannot be changed or deleted', async (t) => {
    const s = await openTestServices(t);
    for (const { id, name } of BUILT_IN_PRODUCTS) {
      await leavingNothing(s, async () => {
        await refused(() => s.products.patch(id, { name: 'Mine' }, ACTOR), { code: 'read_only', says: name });
        await refused(() => s.products.remove(id, ACTOR), { code: 'read_only', says: name });
      });
    }
  });

  it('are written at a start only if they changed, keep their createdAt, and leave other products unchanged', async (t) => {
    const s = await openTestServices(t);
    const shop = await s.products.create(SHOP, ACTOR);
    const before = s.database.commits();
    await installBuiltInProducts(s.store, NOW + 5);
    assert.equal(s.database.commits(), before);
    await s.database.commit([{ sql: "UPDATE product SET rules = '[]' WHERE name = 'Employees'", params: {} }]);
    await installBuiltInProducts(s.store, NOW + 9);
    const all = new Map((await s.store.products.all()).map((product) => [product.name, product]));
    const { createdAt, updatedAt, rules } = all.get('Employees') ?? assert.fail();
    assert.deepEqual([createdAt, updatedAt, rules.length], [NOW, NOW + 9, 4]);
    assert.equal(all.get('Administration')?.updatedAt, NOW);
    assert.deepEqual(all.get('Shop'), shop);
  });
});
