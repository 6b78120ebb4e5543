/** The common beginning of the paths of an API product, and the scopes as customers see them. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { BUILT_IN_PRODUCTS, CUSTOMER_SCOPES } from '../../../src/access/built-in.ts';
import type { ApiProduct } from '../../../src/domain/catalogue.ts';
import { basePath, scopeChoices } from '../../../src/portal/parts/catalogue-choices.ts';
import { newForm } from '../../../src/portal/parts/fields.ts';
import { productsForCustomers } from '../../../src/portal/record/owner.ts';

it('is the longest one that most paths have, without a parameter', () => {
  const cases: readonly (readonly [expected: string | null, ...paths: string[]])[] = [
    ['/shop/v1', '/shop/v1/orders', '/shop/v1/orders/{id}', '/shop/v1/parcels', '/metrics'],
    ['/shop/v1/orders', '/shop/v1/orders/{id}', '/shop/v1/orders/{id}/parcels', '/shop/v1/orders/export'],
    ['/shop/v1', '/shop/v1/{kind}/a', '/shop/v1/{kind}/b', '/shop/v1/{kind}/c'],
    [null, '/shop/orders', '/shop/orders/{id}', '/shop/parcels'],
    [null, '/shop/v1/orders', '/shop/v1/parcels'],
    [null, '/a/b/1', '/a/b/2', '/a/b/3', '/c/d/1', '/c/d/2', '/c/d/3'],
    [null],
  ];
  for (const [expected, ...paths] of cases) {
    assert.equal(basePath(paths.map((path) => ({ path }))), expected, paths.join(' '));
  }
});

it('shows a customer what its portal does, with each pair of scopes side by side', () => {
  const [administration] = BUILT_IN_PRODUCTS;
  const products = [{ ...administration, builtIn: true }] as unknown as ApiProduct[];
  const [shown] = productsForCustomers(products, CUSTOMER_SCOPES);
  assert.equal(shown?.name, 'Webhooks and access');
  const names = shown.scopes.map(({ name }) => name);
  for (const [at, name] of names.entries()) {
    if (name.endsWith(':manage')) assert.equal(names[at - 1], name.replace(':manage', ':view'));
    if (name.endsWith(':manage')) assert.equal(at % 2, 1, name);
  }
  assert.equal(names[names.indexOf('deliveries:replay') - 1], 'deliveries:view');
  assert.deepEqual(names.toSorted(), [...CUSTOMER_SCOPES].toSorted());
  const told = shown.scopes.map(({ description }) => description).join(' ');
  assert.doesNotMatch(told, /delete webhooks and event types/);
  assert.equal(productsForCustomers(products, null)[0]?.name, 'Administration');
});

it('unfolds the scopes of the only product, without its name, until some are chosen', () => {
  const [administration] = BUILT_IN_PRODUCTS;
  const products = productsForCustomers(
    [{ ...administration, builtIn: true }] as unknown as ApiProduct[],
    CUSTOMER_SCOPES,
  );
  const folds = (form: Parameters<typeof newForm>[0], all: readonly ApiProduct[]): [folds: number, open: number] => {
    const text = scopeChoices(newForm(form), 'scopes', all)
      .map(({ markup }) => markup)
      .join('');
    assert.equal(text.includes('choice-product'), all.length > 1);
    return [text.match(/<details/g)?.length ?? 0, text.match(/<details[^>]* open/g)?.length ?? 0];
  };
  const [all, open] = folds({}, products);
  assert.ok(all > 1 && open === all);
  assert.deepEqual(folds({ scopes: ['webhooks:view'] }, products), [all, 1]);
  const shop = { ...products[0], name: 'Shop', builtIn: false, scopes: [{ name: 'orders:view', description: '' }] };
  assert.deepEqual(folds({}, [...products, shop as ApiProduct]), [all + 1, 1]);
});
