/** The pages of API products: what scopes there are, and which request takes which. */

import type { ApiProduct } from '../../access/catalogue.ts';
import { productReader } from '../../access/products.ts';
import { html } from '../../http/html.ts';
import { type PageCall, redirectTo, type View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { attempted } from '../parts/attempted.ts';
import { linkButton } from '../parts/button.ts';
import { confirmPage } from '../parts/confirm.ts';
import { form } from '../parts/form.ts';
import { type FormState, newForm, refusedForm } from '../parts/form-state.ts';
import { pageHeader } from '../parts/header.ts';
import { table } from '../parts/table.ts';
import { time } from '../parts/time.ts';
import { recordForm } from '../record-form.ts';
import { builtInBadge, productView } from './detail.ts';
import { comparedProduct, productBody, productFields, productForm, productLabels } from './form.ts';

const LIST = { href: '/products', label: 'API products' };

export function productPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, services, store } = dependencies;
  const { products } = services;
  const found = (call: PageCall): Promise<ApiProduct> => products.get(call.params.id ?? '');
  return [
    pages.view(LIST.href, async (call) => listView(call, await store.products.all())),
    ...pages.form('/products/new', {
      show: async (call) => formView(call, newForm(), null),
      respond: async ({ form: typed, acting }) => {
        const { id, name } = await products.create(productReader.create(productBody(typed)), acting);
        return redirectTo(`/products/${id}`, `${name} is part of the catalogue.`);
      },
      invalid: async (call, refusal) => formView(call, refusedForm(call.form, refusal), null),
    }),
    pages.view('/products/{id}', async (call) => {
      const product = await found(call);
      const scopes = product.scopes.map(({ name }) => name);
      return productView(call, product, scopes.length === 0 ? [] : await store.applications.holding(scopes));
    }),
    ...pages.form(
      '/products/{id}/edit',
      recordForm({
        administration: products,
        fill: productForm,
        view: (call, product, state) => formView(call, state, product),
        compared: comparedProduct,
        respond: async ({ form: typed, acting }, before) => {
          const { id, name } = await products.patch(before.id, productReader.patch(productBody(typed)), acting);
          return redirectTo(`/products/${id}`, `${name} is saved. The rules count from the next request on.`);
        },
      }),
    ),
    ...pages.form(
      '/products/{id}/delete',
      recordForm({
        administration: products,
        view: ({ csrf }, { id, name }, form) => {
          const path = `/products/${id}`;
          return confirmPage({
            title: `Delete the API product ${name}?`,
            crumbs: [LIST, { href: path, label: name }],
            text: 'Its rules open nothing from the next request on, and its scopes are gone. There is no way back.',
            ...{ form, csrf, action: `${path}/delete`, submit: 'Delete the product', cancel: path },
          });
        },
        respond: async ({ acting }, { id, name }) =>
          attempted(LIST.href, `${name} is deleted.`, () => products.remove(id, acting), `/products/${id}`),
      }),
    ),
  ];
}

function listView(call: PageCall, products: readonly ApiProduct[]): View {
  const content = html`${pageHeader({
    title: 'API products',
    lead: 'The APIs that tokens open: each has scopes, and rules that say which request takes which scope. What no rule names is refused.',
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
    // The built-in ones are always there.
    empty: html``,
  })}`;
  return { title: 'API products', content };
}

function formView({ csrf }: PageCall, state: FormState, product: ApiProduct | null): View {
  const title = product === null ? 'Add an API product' : `Change ${product.name}`;
  const path = product === null ? LIST.href : `/products/${product.id}`;
  const crumbs = product === null ? [LIST] : [LIST, { href: path, label: product.name }];
  const content = html`${pageHeader({ title, crumbs, lead: 'Its rules are asked for every request, here and behind your proxy.' })}${form(
    {
      action: product === null ? '/products/new' : `${path}/edit`,
      csrf,
      form: state,
      content: productFields(state),
      submit: product === null ? 'Add the product' : 'Save',
      cancel: path,
      labels: productLabels(state),
    },
  )}`;
  return { title, content };
}
