/** The call that the page with a new client secret shows. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { WithSecret } from '../../../src/access/applications.ts';
import type { ApiProduct } from '../../../src/domain/catalogue.ts';
import { registeredResult, usageSections } from '../../../src/portal/applications/secret-pages.ts';
import type { PageCall } from '../../../src/portal/frame/call.ts';

const made = {
  application: { id: '1', name: 'Shop', clientId: 'spc_1', scopes: ['orders:view'] },
  clientSecret: 'sps_1',
} as unknown as WithSecret;

function exampleFor(...rules: readonly Partial<ApiProduct['rules'][number]>[]): string | null {
  const whole = rules.map((rule) => ({ methods: ['GET'], scope: 'orders:view', ...rule }));
  const products = [{ rules: whole, builtIn: false }] as unknown as ApiProduct[];
  const around = { owner: null, publicUrl: 'https://edge.example', products };
  const { markup } = registeredResult({} as PageCall, made, around).first;
  return /api\.example(\/\S*)\n?<\/code>/.exec(markup)?.[1] ?? null;
}

it('keeps its lines on a phone', () => {
  const products = [
    { rules: [{ methods: ['GET'], path: '/orders', scope: 'orders:view' }] },
  ] as unknown as ApiProduct[];
  const { markup } = usageSections(made.application, products, 'https://edge.example');
  assert.equal(markup.match(/class="program"/g)?.length, 2);
});

it('is one that runs as it is: a path without parameters that its scopes allow, or none', () => {
  assert.equal(exampleFor({ path: '/orders/{id}' }, { path: '/orders' }), '/orders');
  assert.equal(exampleFor({ path: '/orders/{id}' }), null);
  assert.equal(exampleFor({ path: '/orders', methods: ['POST'] }, { path: '/stock', scope: 'stock:view' }), null);
});
