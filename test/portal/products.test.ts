/** The page of a large API product: its parts are folded, and a filter finds scopes and rules. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { BUILT_IN_PRODUCTS } from '../../src/access/built-in.ts';
import { areasOf } from '../../src/portal/parts/catalogue-areas.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

it('folds a large product in parts, and its filter finds scopes and rules', async (t) => {
  const service = await startService(t);
  const { token } = await newSession(service, 'viewer');
  const [administration] = BUILT_IN_PRODUCTS;
  assert.ok(administration !== undefined);
  const pageOf = async (query: string): Promise<string> =>
    (await request(`${service.url}/products/${administration.id}${query}`, { token })).text;
  const foldsOf = (text: string) => [...text.matchAll(/<details class="folded"( open)?>/g)];
  const whole = await pageOf('');
  assert.ok(foldsOf(whole).length > 1);
  assert.ok(foldsOf(whole).every(([, open], at) => (open === undefined) === at > 0));
  for (const { name } of administration.scopes) assert.ok(whole.includes(`<code>${name}</code>`), name);
  const found = await pageOf('?q=GIVE-UP');
  assert.deepEqual(
    foldsOf(found).map(([, open]) => open),
    [' open'],
  );
  assert.match(found, /<code>deliveries:replay<\/code>/);
  assert.doesNotMatch(found, /<code>users:view<\/code>/);
  assert.match(await pageOf('?q=nothing-like-it'), /No scopes and rules fit these filters\./);
});

it('divides the scopes of a product by their resources, unless that gives no overview', () => {
  const scope = (name: string) => ({ name, description: '' });
  const titlesOf = (...names: readonly string[]) =>
    areasOf({ scopes: names.map(scope), builtIn: false }).map(({ title, scopes }) => [title, scopes.length]);
  assert.deepEqual(titlesOf('orders:view', 'parcels:view'), [[null, 2]]);
  const verbs = ['view', 'create', 'edit', 'delete', 'refund'];
  const pairs = ['orders', 'parcels'].flatMap((resource) => verbs.map((verb) => `${resource}:${verb}`));
  assert.deepEqual(titlesOf(...pairs), [
    ['orders', 5],
    ['parcels', 5],
  ]);
  const many = Array.from({ length: 30 }, (_, at) => `resource-${at}:view`);
  assert.deepEqual(titlesOf(...many), [[null, 30]]);
  for (const { scopes } of BUILT_IN_PRODUCTS) {
    const divided = areasOf({ scopes, builtIn: true }).flatMap((area) => area.scopes);
    assert.deepEqual(divided.toSorted(byName), [...scopes].toSorted(byName));
  }
});

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
