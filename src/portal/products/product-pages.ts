/** The pages of API products: their scopes, and the rules that say which request needs which scope. */

import { productReader } from '../../access/products.ts';
import type { Application } from '../../domain/application.ts';
import type { ApiProduct } from '../../domain/catalogue.ts';
import { RULES_PER_PRODUCT_MAX, SCOPES_PER_PRODUCT_MAX } from '../../domain/limits.ts';
import { type Html, html } from '../../http/html.ts';
import { type PageCall, pathId, redirectTo, type View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import type { FormState } from '../parts/fields.ts';
import { linkButton, pageHeader } from '../parts/header.ts';
import { emptyState, folded, table } from '../parts/list.ts';
import { tags } from '../parts/mark.ts';
import { time } from '../parts/text.ts';
import { type FieldTable, type FormField, rows, text } from '../record/field-table.ts';
import { ownerNames } from '../record/owner.ts';
import { recordPages, removalPages } from '../record/record-pages.ts';
import { heldByScopes, productPage } from './product-view.ts';

const LIST = { href: '/products', label: 'API products' };
const LEAD = 'The rules apply to every request, to Sallyport itself and behind your proxy.';

export function productPages(dependencies: PageDependencies): PageRoute<'operator'>[] {
  const { pages, services, store } = dependencies;
  const { products } = services;
  const entity = {
    for: 'operator' as const,
    list: LIST,
    noun: 'product',
    nameOf: ({ name }: ApiProduct) => name,
    administration: products,
  };
  return [
    pages.view(LIST.href, 'operator', async (call) => listView(call, await store.products.all())),
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
          return redirectTo(`/products/${id}`, `${name} is added. Applications can use its scopes now.`);
        },
      },
      change: {
        lead: LEAD,
        held: partOfSallyport,
        done: ({ name }) => `${name} is saved. The rules apply immediately.`,
      },
    }),
    pages.view('/products/{id}', 'operator', async (call) => {
      const product = await products.get(pathId(call));
      const holders = await holdersOf(store, product);
      return productPage(call, product, { holders, ownerIn: await ownerNames(store, holders) });
    }),
    ...removalPages(pages, entity, {
      text: () =>
        'Its scopes and rules are deleted, and requests that need them are refused immediately. This cannot be undone.',
      held: async (product) => partOfSallyport(product) ?? heldByScopes(await holdersOf(store, product)),
    }),
  ];
}

/** The first applications that have one of its scopes. */
async function holdersOf({ applications }: PageDependencies['store'], { scopes }: ApiProduct): Promise<Application[]> {
  return scopes.length === 0 ? [] : applications.holding(scopes.map(({ name }) => name));
}

function partOfSallyport({ builtIn }: ApiProduct): { readonly title: string; readonly text: string } | null {
  return builtIn
    ? { title: 'Built-in products cannot be changed or deleted.', text: 'Add a product of your own.' }
    : null;
}

function listView(call: PageCall, products: readonly ApiProduct[]): View {
  const own = products.filter((product) => !product.builtIn);
  const builtIn = products.filter((product) => product.builtIn);
  const content = html`
    ${pageHeader({
      title: 'API products',
      lead:
        'The APIs that accept tokens. Each has scopes, and rules that say which request needs which scope. A ' +
        'request that no rule matches is refused.',
      actions: [call.may('administrator') && own.length > 0 ? addButton() : null],
    })}
    ${productTable('Your API products', own, firstProduct(call))}
    <div class="folds">
      ${folded({
        title: 'Built-in products',
        note: 'the APIs of Sallyport itself',
        isOpen: own.length === 0,
        content: productTable('Built-in API products', builtIn, html``),
      })}
    </div>
  `;
  return { title: 'API products', content };
}

function productTable(caption: string, products: readonly ApiProduct[], empty: Html): Html {
  return table({
    caption,
    columns: [
      { label: 'Product', kind: 'main' },
      { label: 'Scopes', phone: 'none' },
      { label: 'Rules', kind: 'number', phone: 'named' },
      { label: 'Changed', phone: 'named' },
    ],
    rows: products.map(({ id, name, scopes, rules, updatedAt }) => [
      html`<a href="/products/${id}">${name}</a>`,
      scopeNames(scopes),
      rules.length,
      time(updatedAt),
    ]),
    empty,
  });
}

function scopeNames(scopes: ApiProduct['scopes']): Html {
  if (scopes.length === 0) return html`<span class="quiet">none</span>`;
  return tags(
    scopes.slice(0, SCOPES_SHOWN).map(({ name }) => name),
    scopes.length - SCOPES_SHOWN,
  );
}

const SCOPES_SHOWN = 4;

function firstProduct(call: PageCall): Html {
  return emptyState({
    title: 'Add your first API product',
    text: 'Name the scopes of your API, and write the rules that say which request needs which scope.',
    action: call.may('administrator') ? addButton() : null,
  });
}

function addButton(): Html {
  return linkButton({ href: '/products/new', label: 'Add a product', kind: 'primary', icon: 'plus' });
}

const RULE_ROWS = rows({
  label: 'Rules',
  hint: html`
    The scope that each request needs. <code>{id}</code> matches one path segment; <code>{rest*}</code> at the end
    matches the rest. If several rules match, the one with the longest literal beginning wins. The user needs the
    permission with the name of the scope, unless the rule names another one.
  `,
  fields: [
    { name: 'methods', label: 'Methods', placeholder: 'GET, PATCH' },
    { name: 'path', label: 'Path', placeholder: '/shop/orders/{id}' },
    { name: 'scope', label: 'Scope', placeholder: 'orders:view' },
    { name: 'permission', label: 'Permission', placeholder: 'same as the scope' },
  ],
  spare: 3,
  max: RULES_PER_PRODUCT_MAX,
});

type Row = Readonly<Record<string, string>>;
type Rule = { readonly methods: readonly string[] };
const readRules = (...sent: Parameters<FormField['read']>): Row[] => RULE_ROWS.read(...sent) as Row[];

const SCOPE_ROWS = rows({
  label: 'Scopes',
  hint: html`
    What a program may do, for example <code>orders:view</code>, with a description. Administrators of
    customers can give their own applications the scopes that are offered.
  `,
  fields: [
    { name: 'name', label: 'Scope', placeholder: 'orders:view' },
    { name: 'description', label: 'What it allows', placeholder: 'See orders.' },
    {
      name: 'offered',
      label: 'Offered to customers',
      choices: [
        { value: '', label: 'No' },
        { value: 'yes', label: 'Yes' },
      ],
    },
  ],
  spare: 2,
  max: SCOPES_PER_PRODUCT_MAX,
});

export const PRODUCT_FIELDS: FieldTable = {
  name: text({ label: 'Name', isRequired: true, hint: 'Shown where people choose scopes.' }),
  scopes: {
    ...SCOPE_ROWS,
    read: (sent, name) =>
      (SCOPE_ROWS.read(sent, name) as Row[]).map(({ offered, ...row }) => (offered ? { ...row, offered: true } : row)),
    fill: (value, name) => {
      const scopes = (value ?? []) as readonly (Row & { readonly offered?: boolean })[];
      return SCOPE_ROWS.fill(
        scopes.map(({ offered, ...scope }) => ({ ...scope, offered: offered === true ? 'yes' : '' })),
        name,
      );
    },
    compare: (sent, name) =>
      (SCOPE_ROWS.read(sent, name) as Row[]).map(
        ({ name: scope, description, offered }) =>
          `${scope}: ${description}${offered === '' ? '' : ' (offered to customers)'}`,
      ),
  },
  rules: {
    ...RULE_ROWS,
    read: (sent, name) =>
      readRules(sent, name).map(({ methods = '', permission, ...row }) => ({
        methods: methods.split(/[\s,]+/).filter((method) => method !== ''),
        ...row,
        ...(permission && { permission }),
      })),
    fill: (value, name) => {
      const rules = (value ?? []) as readonly Rule[];
      return RULE_ROWS.fill(
        rules.map((rule) => ({ ...rule, methods: rule.methods.join(', ') })),
        name,
      );
    },
    compare: (sent, name) =>
      readRules(sent, name).map((row) =>
        Object.values(row)
          .filter((value) => value !== '')
          .join(' '),
      ),
  },
};

/** Names the rows that have a problem, counted from 1: `Rule 2, path:`. */
function rowTitles({ problems }: FormState): Readonly<Record<string, string>> {
  return Object.fromEntries(
    problems.flatMap(({ field }) => {
      const [, list, at, member] = /^(scopes|rules)\[(\d+)\](?:\.(\w+))?/.exec(field) ?? [];
      if (list === undefined) return [];
      const row = `${list === 'rules' ? 'Rule' : 'Scope'} ${Number(at) + 1}`;
      return [[field, member === undefined ? row : `${row}, ${member}:`]];
    }),
  );
}
