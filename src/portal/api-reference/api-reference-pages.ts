/** `/api-reference`: the calls that a customer's programs may make, for the people who write them. */
import type { ApiDocument } from '../../http/api-document.ts';
import type { CustomersApi } from '../../http/customers-api.ts';
import { type Html, html } from '../../http/html.ts';
import { TOKEN_PATH } from '../../http/route.ts';
import { contentsOf, type Heading } from '../documentation/contents.ts';
import { OPENAPI_DOWNLOAD } from '../documentation/download-pages.ts';
import { addressFor } from '../frame/browser.ts';
import type { PageCall } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { API_REFERENCE_PATH, type ApiCall, apiCallsOf, callLinks, callTitle } from '../parts/api-calls.ts';
import { operatorName } from '../parts/brand.ts';
import { opens } from '../parts/catalogue-choices.ts';
import { copyable, definitionList } from '../parts/details.ts';
import { newForm, textField } from '../parts/fields.ts';
import { section } from '../parts/header.ts';
import { folded, listView, nothingFound, table } from '../parts/list.ts';
import { icon } from '../parts/mark.ts';
import { hasWords } from '../parts/text.ts';
import { productsForCustomers } from '../record/owner.ts';
import { callView, codeOf, scopeAnchor } from './calls.ts';
import { createSchemaFields, inline } from './schema-fields.ts';

export function apiReferencePages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, store, offered, customersApi, publicUrl } = dependencies;
  return [
    pages.view(API_REFERENCE_PATH, 'both', async (call) => {
      const isCustomers = store.customerId !== null;
      const address = addressFor(call.request, publicUrl());
      const document = customersApi(address);
      const products = productsForCustomers(await store.products.all(), offered());
      const builtIn = products.filter((product) => product.builtIn).flatMap(({ scopes }) => scopes);
      const own = products.filter((product) => !product.builtIn);
      const text = readText(call.query, 'q');
      const parts =
        text === null
          ? wholePage(call, { document, address: address ?? UNKNOWN, isCustomers, builtIn, own })
          : foundParts(call, text, { document, address: address ?? UNKNOWN, builtIn, own });
      return listView({
        title: 'API reference',
        lead: isCustomers
          ? 'The calls that your programs can make.'
          : 'The calls that the programs of customers can make. Their people see the same in their portal.',
        actions: [DOWNLOAD],
        path: API_REFERENCE_PATH,
        query: call.query,
        filters: [
          textField(newForm({ q: text }), {
            name: 'q',
            label: 'Call, path or scope',
            type: 'search',
            placeholder: 'webhook, replay, deliveries:view',
          }),
        ],
        results:
          parts.headings.length === 0
            ? nothingFound(API_REFERENCE_PATH, 'calls')
            : html`
              <div class="doc-page is-wide">
                ${contentsOf(parts.headings)}
                <div class="doc-main">${parts.content}</div>
              </div>
            `,
      });
    }),
  ];
}

type Shown = {
  readonly document: CustomersApi;
  /** Without a slash at its end. */
  readonly address: string;
  readonly builtIn: readonly Scope[];
  readonly own: readonly OwnProduct[];
};

type Parts = { readonly content: Html; readonly headings: readonly Heading[] };

function wholePage(call: PageCall, { isCustomers, ...shown }: Shown & { readonly isCustomers: boolean }): Parts {
  const { document, address, builtIn, own } = shown;
  const { calls, headings } = callsOf(document, address);
  return {
    headings: [...FIRST, ...(own.length === 0 ? [] : [OWN]), ...headings, ERRORS],
    content: html`
      ${start(call, address, isCustomers)}
      ${scopes(builtIn, apiCallsOf(document))}
      ${own.length === 0 ? null : ownApis(call, own)}
      ${calls}
      ${errors(document)}
    `,
  };
}

/** The calls with all words of the text, their scopes, and the scopes of other APIs with the words. No headings: there is none. */
function foundParts(call: PageCall, text: string, { document, address, builtIn, own }: Shown): Parts {
  const found = apiCallsOf(document).filter((one) => hasWords(textOf(one), text));
  const others = own.flatMap((product) => {
    const scopes = product.scopes.filter(({ name, description }) => hasWords(`${name} ${description}`, text));
    return scopes.length === 0 ? [] : [{ ...product, scopes }];
  });
  const needed = builtIn.filter(({ name }) => found.some(({ scope }) => scope === name));
  const { calls, headings } = draw(document, address, found, found.length <= UNFOLDED_MAX);
  return {
    headings: [
      ...headings,
      ...(needed.length === 0 ? [] : [SCOPES]),
      ...(others.length === 0 ? [] : [OWN]),
      ...(found.length === 0 ? [] : [ERRORS]),
    ],
    content: html`
      ${calls}
      ${needed.length === 0 ? null : scopes(needed, found)}
      ${others.length === 0 ? null : ownApis(call, others)}
      ${found.length === 0 ? null : errors(document)}
    `,
  };
}

/** So few calls that a filter finds are unfolded. */
const UNFOLDED_MAX = 3;

function textOf(call: ApiCall): string {
  const { method, path, operation, scope } = call;
  return `${callTitle(call)} ${method} ${path} ${scope ?? ''} ${operation.operationId}`;
}

/** Before the first request that tells it. */
const UNKNOWN = 'https://…';

const DOWNLOAD = html`
  <a class="button button-plain" href="${OPENAPI_DOWNLOAD}" download>${icon('download')}<span>OpenAPI document</span></a>
`;

const SCOPES: Heading = { heading: 'Scopes', anchor: 'scopes', depth: 2 };
const FIRST: readonly Heading[] = [
  { heading: 'Get a token', anchor: 'token', depth: 2 },
  { heading: 'Conventions', anchor: 'conventions', depth: 2 },
  SCOPES,
];
const OWN: Heading = { heading: 'Further APIs', anchor: 'own-apis', depth: 2 };
const ERRORS: Heading = { heading: 'Errors', anchor: 'errors', depth: 2 };

function start(call: PageCall, address: string, isCustomers: boolean): Html {
  const register =
    isCustomers && call.may('administrator')
      ? html`<a href="/applications/new">Register an application</a>`
      : html`An administrator registers an <a href="/applications">application</a>`;
  return html`
    ${section({
      title: 'Get a token',
      id: 'token',
      content: html`
        ${definitionList([
          ['Base URL', copyable(address, 'base URL'), 'Before every path of this page.'],
          ['Token URL', copyable(address + TOKEN_PATH, 'token URL')],
        ])}
        <div class="doc"><ol>
          <li>
            <p>${register}, with the scopes of the calls that it makes. The page after it shows a client id and a secret.</p>
          </li>
          <li>
            <p>Exchange both for a token:</p>
            ${codeOf(tokenCommand(address), 'Copy the command')}
          </li>
          <li>
            <p>Send the <code>access_token</code> of the response with each call, until <code>expires_in</code> seconds are over:</p>
            ${codeOf(firstCall(address), 'Copy the command')}
          </li>
        </ol></div>
      `,
    })}
    ${section({
      title: 'Conventions',
      id: 'conventions',
      content: html`
        <div class="doc"><ul>
          <li>Requests and responses are JSON in UTF-8. Ids are UUIDs.</li>
          <li>
            Times are ISO 8601 in UTC with milliseconds: <code>2026-11-21T05:00:00.000Z</code>. Only the <code>timeStamp</code> of a
            refusal has another form.
          </li>
          <li>
            Lists come in pages: <code>limit</code> is the number of items, and <code>nextCursor</code> of one page is the
            <code>cursor</code> of the next.
          </li>
          <li>Unknown fields and parameters are refused. Later versions may add fields to responses.</li>
          <li>The OpenAPI document has what this page leaves out, such as the patterns of texts.</li>
        </ul></div>
      `,
    })}
  `;
}

function tokenCommand(address: string): string {
  return `curl ${address}${TOKEN_PATH} \\\n  -u "$CLIENT_ID:$CLIENT_SECRET" \\\n  -d grant_type=client_credentials`;
}

function firstCall(address: string): string {
  return `curl '${address}/services/api/x/edge/v1/deliveries?limit=5' \\\n  -H "Authorization: Bearer $TOKEN"`;
}

type OwnProduct = ReturnType<typeof productsForCustomers>[number];
type Scope = { readonly name: string; readonly description: string };

function scopes(offered: readonly Scope[], calls: readonly ApiCall[]): Html {
  const rows = offered.map(({ name, description }) => [
    html`<code id="${scopeAnchor(name)}">${name}</code><span class="cell-hint">${description}</span>`,
    callLinks(calls, name),
  ]);
  return section({
    title: 'Scopes',
    id: 'scopes',
    lead: 'A token opens the calls of its scopes.',
    isPlain: true,
    content: folded({
      title: 'All scopes',
      note: 'with the calls of each',
      content: table({
        caption: 'Scopes',
        columns: [
          { label: 'Scope', kind: 'main' },
          { label: 'Opens', phone: 'plain' },
        ],
        rows,
      }),
    }),
  });
}

/** Of the company that the customer deals with. They have hosts of their own, and no description here. */
function ownApis(call: PageCall, products: readonly OwnProduct[]): Html {
  const rows = products.flatMap((product) =>
    product.scopes.map(({ name, description }) => [
      html`<code>${name}</code><span class="cell-hint">${description}</span>`,
      product.name,
      opens(product, name, { isFolding: true }),
    ]),
  );
  const whose = call.brand === null ? 'Your own APIs' : `Further APIs of ${operatorName(call.brand)}`;
  return section({
    title: OWN.heading,
    id: 'own-apis',
    lead: `${whose}, with the same tokens. They have hosts of their own.`,
    isPlain: true,
    content: table({
      caption: OWN.heading,
      columns: [
        { label: 'Scope', kind: 'main' },
        { label: 'API', phone: 'plain' },
        { label: 'Opens', phone: 'plain' },
      ],
      rows,
    }),
  });
}

type Drawn = { readonly calls: Html; readonly headings: readonly Heading[] };

/** All calls. The same for everyone at one address, so they are drawn once for each document. */
const drawn = new WeakMap<CustomersApi, Drawn>();

function callsOf(document: CustomersApi, address: string): Drawn {
  const known = drawn.get(document) ?? draw(document, address, apiCallsOf(document), false);
  drawn.set(document, known);
  return known;
}

/** The titles of the groups, in their order. */
const GROUPS: Readonly<Record<string, string>> = {
  oauth: 'Access tokens',
  'event-types': 'Event types',
  events: 'Events',
  webhooks: 'Webhooks',
  deliveries: 'Deliveries',
  endpoints: 'Endpoints',
  keys: 'PGP keys',
  applications: 'Applications',
  users: 'Users',
  audit: 'Audit log',
  usage: 'Usage',
};

function draw(document: CustomersApi, address: string, calls: readonly ApiCall[], isOpen: boolean): Drawn {
  const around = { document, fields: createSchemaFields(document), address };
  const place = ({ name }: { readonly name: string }): number => {
    const at = Object.keys(GROUPS).indexOf(name);
    return at === -1 ? Number.MAX_SAFE_INTEGER : at;
  };
  const groups = document.tags
    .toSorted((a, b) => place(a) - place(b))
    .map(({ name, description }) => ({
      anchor: `calls-${name}`,
      heading: GROUPS[name] ?? name,
      description,
      own: calls.filter(({ operation }) => operation.tags[0] === name),
    }))
    .filter(({ own }) => own.length > 0);
  const sections = groups.map(({ anchor, heading, description, own }) =>
    section({
      title: heading,
      id: anchor,
      lead: inline(description),
      content: html`<div class="api-calls">${own.map((call) => callView(call, around, isOpen))}</div>`,
    }),
  );
  return {
    calls: html`${sections}`,
    headings: groups.flatMap(({ anchor, heading, own }) => [
      { heading, anchor, depth: 2 },
      ...own.map((call) => ({ heading: callTitle(call), anchor: call.operation.operationId, depth: 3 })),
    ]),
  };
}

function errors({ components }: ApiDocument): Html {
  const shared = Object.values(components.responses).map(({ description = '', content }) => {
    const [example] = Object.values(Object.values(content ?? {})[0]?.examples ?? {});
    const value = example?.value as { readonly status?: string } | undefined;
    return { status: value?.status ?? '', description, value };
  });
  const [sample] = shared;
  return section({
    title: ERRORS.heading,
    id: 'errors',
    lead: 'Every refusal has this body. Name its errorId when you ask for help.',
    content: html`
      <div class="doc">
        ${sample?.value === undefined ? null : codeOf(JSON.stringify(sample.value, null, 2), 'Copy the body')}
      </div>
      ${table({
        caption: 'Errors',
        columns: [
          { label: 'Status', kind: 'main' },
          { label: 'Meaning', phone: 'plain' },
        ],
        rows: shared.map(({ status, description }) => [html`<code>${status}</code>`, inline(description)]),
      })}
    `,
  });
}
