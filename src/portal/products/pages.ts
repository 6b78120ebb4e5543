/** The pages of API products: their scopes, and the rules that say which request needs which scope. */

import type { ApiProduct } from '../../access/catalogue.ts';
import { productReader } from '../../access/products.ts';
import { html } from '../../http/html.ts';
import { type PageCall, pathId, redirectTo, type View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { linkButton } from '../parts/button.ts';
import { pageHeader } from '../parts/header.ts';
import { table } from '../parts/table.ts';
import { time } from '../parts/time.ts';
import { recordPages, removalPages } from '../record-pages.ts';
import { builtInBadge, productView } from './detail.ts';
import { PRODUCT_FIELDS, rowTitles } from './form.ts';

const LIST = { href: '/products', label: 'API products' };
const LEAD = 'Its rules are applied to every request, here and behind your proxy.';

export function productPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, services, store } = dependencies;
  const { products } = services;
  const entity = {
    list: LIST,
    noun: 'product',
    nameOf: ({ name }: ApiProduct) => name,
    administration: products,
  };
  return [
    pages.view(LIST.href, async (call) => listView(call, await store.products.all())),
    ...recordPages(pages, {
      ...entity,
      reader: productReader,
      choices: async () => null,
      fields: () => PRODUCT_FIELDS,
      layout: ({ group, field }) => html`${group('The API', null, 'name')}${field('scopes')}${field('rules')}`,
      titles: rowTitles,
      creation: {
        title: 'Add an API product',
        lead: LEAD,
        submit: 'Add the product',
        respond: async ({ acting }, input) => {
          const { id, name } = await products.create(input, acting);
          return redirectTo(`/products/${id}`, `${name} is part of the catalogue.`);
        },
      },
      change: { lead: LEAD, done: ({ name }) => `${name} is saved. The rules apply from the next request on.` },
    }),
    pages.view('/products/{id}', async (call) => {
      const product = await products.get(pathId(call));
      const scopes = product.scopes.map(({ name }) => name);
      return productView(call, product, scopes.length === 0 ? [] : await store.applications.holding(scopes));
    }),
    ...removalPages(pages, entity, {
      text: () => 'Its rules open nothing from the next request on, and its scopes are deleted. This cannot be undone.',
    }),
  ];
}

function listView(call: PageCall, products: readonly ApiProduct[]): View {
  const content = html`${pageHeader({
    title: 'API products',
    lead: 'The APIs that accept tokens. Each has scopes, and rules that say which request needs which scope. A request that no rule matches is refused.',
    actions: [
      linkButton({ href: '/tester', label: 'Who could call this?' }),
      call.may('administrator')
        ? linkButton({ href: '/products/new', label: 'Add a product', kind: 'primary', icon: 'plus' })
        : null,
    ],
  })}${table({
    caption: 'API products',
    columns: [
      { label: 'Product', kind: 'main' },
      { label: 'Scopes', kind: 'number' },
      { label: 'Rules', kind: 'number' },
      { label: 'Changed' },
    ],
    rows: products.map((product) => [
      html`<a href="/products/${product.id}">${product.name}</a> ${product.builtIn ? builtInBadge() : null}`,
      product.scopes.length,
      product.rules.length,
      time(product.updatedAt),
    ]),
    // Never empty: there are always built-in products.
    empty: html``,
  })}`;
  return { title: 'API products', content };
}
