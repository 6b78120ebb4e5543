/** The common beginning of the paths of an API product. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { basePath } from '../../../src/portal/parts/catalogue-choices.ts';

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
