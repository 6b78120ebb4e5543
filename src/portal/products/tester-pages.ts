/** `/tester`: who could make a request now, and why others could not. The URL holds the question. */
import { NEAR_READ, NEAR_SHOWN, type Nearest, type Reach, reachOf, readNear } from '../../access/reach.ts';
import type { ApiProduct } from '../../domain/catalogue.ts';
import { type Html, html } from '../../http/html.ts';
import type { View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { definitionList } from '../parts/details.ts';
import { newForm, selectField, textField } from '../parts/fields.ts';
import { section } from '../parts/header.ts';
import { emptyState, listView, table, withQuery } from '../parts/list.ts';
import { badge, notice } from '../parts/mark.ts';
import { capital, countOf, countText } from '../parts/text.ts';
import { type RecordOwners, readOwners } from '../record/owner.ts';

const PATH = '/tester';
const NOBODY: Nearest = { near: [], isWhole: true };
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

export function testerPages({ pages, services: { products }, store }: PageDependencies): PageRoute<'operator'>[] {
  return [
    pages.view(PATH, 'operator', async ({ query }) => {
      const method = query.get('method') ?? 'GET';
      const path = readText(query, 'path');
      const reach = path === null ? null : await reachOf({ catalogue: products.compiled(), store }, method, path);
      const nearest = reach === null || reach.rule === null ? NOBODY : await readNear(store, reach.rule);
      const examples = path === null ? examplesOf(await store.products.all()) : [];
      const holders = reach === null || reach.rule === null ? [] : reach.applications;
      const ids = [...holders, ...nearest.near].map(({ id }) => id);
      return testerView({
        method,
        path,
        query,
        reach,
        nearest,
        examples,
        owners: await readOwners(store, 'application', ids),
      });
    }),
  ];
}

type Question = {
  readonly method: string;
  readonly path: string | null;
  readonly query: URLSearchParams;
  readonly reach: Reach | null;
  readonly nearest: Nearest;
  /** For a page without a question. */
  readonly examples: readonly Example[];
  /** Of these applications. */
  readonly owners: RecordOwners;
};

function testerView({ method, path, query, reach, nearest, examples, owners }: Question): View {
  const state = newForm({ method, path });
  return listView({
    title: 'Who could call this?',
    lead:
      'Enter a request as a client would send it. The page shows the rule that applies, and which applications can ' +
      'make this request now. No request is sent.',
    path: PATH,
    query,
    submit: 'Check',
    filters: [
      selectField(state, {
        name: 'method',
        label: 'Method',
        choices: METHODS.map((value) => ({ value, label: value })),
      }),
      textField(state, { name: 'path', label: 'Path', isCode: true, placeholder: '/shop/orders/17' }),
    ],
    layout: 'stack',
    results: reach === null ? explanation(examples) : html`${answer(reach, owners)}${nearTable(nearest, owners)}`,
  });
}

type Example = { readonly method: string; readonly path: string };

const EXAMPLES = 4;

/** Requests that rules let pass, of the operator's own products first: requests that read. */
function examplesOf(products: readonly ApiProduct[]): Example[] {
  const paths = products
    .toSorted((a, b) => Number(a.builtIn) - Number(b.builtIn))
    .flatMap(({ rules, builtIn }) =>
      rules.filter(({ methods, path }) => methods.includes('GET') && !(builtIn && path.includes('{'))),
    )
    .map(({ path }) => path.replace(/\{[^}]+\}/g, '17'));
  return [...new Set(paths)].slice(0, EXAMPLES).map((path) => ({ method: 'GET', path }));
}

function explanation(examples: readonly Example[]): Html {
  const links = examples.map(
    ({ method, path }) => html`
      <li><a href="${withQuery(PATH, new URLSearchParams({ method, path }), {})}"><code>${method} ${path}</code></a></li>
    `,
  );
  return emptyState({
    title: 'Check a request',
    text: html`
      <p>
        A request is allowed if a rule of an API product names its method and path, the token has the scope of that
        rule, and the user that the application acts as has its permission.
      </p>
      ${links.length === 0 ? null : html`<p>For example:</p><ul class="empty-examples">${links}</ul>`}
    `,
  });
}

function answer(reach: Reach, owners: RecordOwners): Html {
  if (reach.rule === null) {
    return notice({
      tone: 'negative',
      title: 'Nobody',
      text: `${capital(reach.reason)}.`,
    });
  }
  const { pattern, productName, scope, permission, params } = reach.rule;
  const passing = reach.applications.filter(({ obstacle }) => obstacle === null).length;
  const parameters = Object.entries(params).map(([name, value]) => html`<code>${name}</code> = <code>${value}</code> `);
  return html`
    ${section({
      title: passing === 0 ? 'Nobody may call this now' : `${countOf(passing, 'application')} may call this`,
      content: definitionList([
        ['Rule', html`<code>${pattern}</code>`, `of the API product ${productName}`],
        ['Scope of the token', html`<code>${scope}</code>`],
        ['Permission of the user', html`<code>${permission}</code>`],
        ...(parameters.length === 0 ? [] : [['In the path', html`${parameters}`] as const]),
      ]),
    })}
    ${table({
      caption: 'Applications that hold the scope',
      columns: [
        { label: 'Application', kind: 'main' },
        { label: 'Acts as', phone: 'named' },
        { label: 'May it?', phone: 'state' },
      ],
      rows: reach.applications.map(({ id, name, clientId, userName, obstacle }) => [
        html`
          <a href="/applications/${id}">${name}</a>
          ${owners.hintAmong(id)}
          <span class="cell-hint"><code>${clientId}</code></span>
        `,
        userName,
        obstacle === null
          ? badge('positive', 'yes', 'check')
          : html`${badge('negative', 'no')} <span class="cell-hint">${obstacle}</span>`,
      ]),
      empty: emptyState({
        title: 'No application holds the scope',
        text: html`
          <p>Give <code>${scope}</code> to an application, and its permission to the user that it acts as.</p>
        `,
      }),
    })}
  `;
}

function nearTable({ near, isWhole }: Nearest, owners: RecordOwners): Html | null {
  if (near.length === 0) return null;
  return section({
    title: 'Other applications',
    lead: isWhole
      ? `Applications without the scope, at most ${NEAR_SHOWN}: the ones that lack the least.`
      : `The applications that lack the least, among the oldest ${countText(NEAR_READ)} without the scope. Newer ones were not read.`,
    isPlain: true,
    content: table({
      caption: 'Applications without the scope',
      columns: [
        { label: 'Application', kind: 'main' },
        { label: 'Acts as', phone: 'named' },
        { label: 'What is missing', phone: 'plain' },
      ],
      rows: near.map(({ id, name, clientId, userName, missing }) => [
        html`
          <a href="/applications/${id}">${name}</a>
          ${owners.hintAmong(id)}
          <span class="cell-hint"><code>${clientId}</code></span>
        `,
        userName,
        missing.join(', '),
      ]),
    }),
  });
}
