/** `/guide`: what the programs of a customer need, with the values of one of its endpoints filled in. */
import { currentApiKey, type Endpoint } from '../../domain/endpoint.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import { readAsset } from '../../kernel/assets.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import { downloadList } from '../documentation/download-pages.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { codePanels, copyable, definitionList } from '../parts/details.ts';
import { newForm, selectField } from '../parts/fields.ts';
import { linkButton, pageHeader, section, submitButton } from '../parts/header.ts';
import { CHOICES_MAX } from '../parts/limits.ts';
import { table } from '../parts/list.ts';
import { markdown, type Resolve } from '../parts/markdown.ts';
import { GUIDE_PATH, guideText } from './guide-text.ts';
import { receiverCode } from './receiver-pages.ts';

export function guidePages({ pages, store, publicUrl }: SharedPageDependencies): PageRoute<'both'>[] {
  return [
    pages.view(GUIDE_PATH, 'both', async ({ query, now }) => {
      const { lexer } = await import('marked');
      const asked = readText(query, 'endpoint') ?? '';
      // The operator comes here from the page of an endpoint.
      const names = store.customerId === null ? [] : await store.directory.endpointNames(store.customerId, CHOICES_MAX);
      const id = isUuidV7(asked) ? asked : names[0]?.id;
      const endpoint = id === undefined ? null : await store.endpoints.get(id);
      const webhooks = endpoint === null ? [] : await store.webhooks.ofEndpoint(endpoint.id);
      const apiKey = endpoint === null ? '' : currentApiKey(endpoint, now).reveal();
      const text = guideText(readAsset('hand-out'), {
        endpoint: endpoint === null ? null : { url: endpoint.url, apiKey },
        address: publicUrl(),
      });
      const title = 'Guide';
      const content = html`
        ${pageHeader({ title, lead: 'How a program receives events, with the values of its endpoint filled in.' })}
        ${names.length < 2 ? null : endpointChoice(names, endpoint)}
        ${endpoint === null ? (store.customerId === null ? NONE_CHOSEN : NO_ENDPOINT) : values(endpoint, apiKey, webhooks)}
        ${programs()}
        <article class="doc">${markdown(lexer(text), resolve)}</article>
      `;
      return { title, content };
    }),
  ];
}

const NO_ENDPOINT = section({
  title: 'Your endpoint',
  content: html`
    <p>You have no endpoint yet. The examples below are of somebody else.</p>
    <p>${linkButton({ href: '/endpoints/new', label: 'Add an endpoint', icon: 'plus' })}</p>
  `,
});

/** The operator has the endpoints of all customers. */
const NONE_CHOSEN = section({
  title: 'The endpoint',
  content: html`
    <p>
      This guide fills in the values of an endpoint. Open the endpoint, then <em>Receiver set-up</em> and
      <em>The whole guide</em>. The examples below have placeholders.
    </p>
    <p>${linkButton({ href: '/endpoints', label: 'Choose an endpoint', icon: 'endpoint' })}</p>
  `,
});

/** The programs are on this page. Other pages of the documentation are the operator's. */
const resolve: Resolve = (href) => {
  if (href.startsWith('#') || href.startsWith('https://')) return href;
  return /^(how-to\/receive|receivers\/)/.test(href) ? '#programs' : null;
};

function endpointChoice(
  names: readonly { readonly id: string; readonly name: string }[],
  endpoint: Endpoint | null,
): Html {
  return html`
    <form method="get" action="${GUIDE_PATH}" class="filters" data-submits-choice>
      <div class="filter-fields">
        ${selectField(newForm({ endpoint: endpoint?.id }), {
          name: 'endpoint',
          label: 'Endpoint',
          isRequired: true,
          choices: names.map(({ id, name }) => ({ value: id, label: name })),
        })}
      </div>
      <div class="buttons">${submitButton({ label: 'Show', kind: 'plain' })}</div>
    </form>
  `;
}

function values(endpoint: Endpoint, apiKey: string, webhooks: readonly Webhook[]): Html {
  const { id, name, url } = endpoint;
  return section({
    title: 'The endpoint',
    content: html`
      <div class="stack">
        ${definitionList([
          ['Name', html`<a href="/endpoints/${id}">${name}</a>`],
          ['Address', copyable(url, 'address'), 'POST requests are sent here.'],
          ['API key', copyable(apiKey, 'API key'), 'In x-api-key of every request.'],
          [
            'Secret',
            html`
              Shown once, when the endpoint was created. If it is lost,
              <a href="/endpoints/${id}">rotate it</a>.
            `,
          ],
        ])}
        ${table({
          caption: 'What your webhooks send',
          columns: [{ label: 'Webhook', kind: 'main' }, { label: 'Events' }, { label: 'What arrives' }],
          rows: webhooks.map((webhook) => [
            html`<a href="/webhooks/${webhook.id}">${webhook.name}</a>`,
            html`<code>${webhook.eventTypes.join(', ')}</code>`,
            whatArrives(webhook, endpoint),
          ]),
          empty: html`<p class="quiet">No webhook sends to this endpoint yet.</p>`,
        })}
      </div>
    `,
  });
}

/** The form of a request: its records, its signature, and the encoding of its body. */
export function whatArrives(
  {
    standardWebhooks,
    encryptionKeyName,
    maxBatchRecords,
  }: Pick<Webhook, 'standardWebhooks' | 'encryptionKeyName' | 'maxBatchRecords'>,
  { oauthTokenUrl, contentEncoding }: Pick<Endpoint, 'oauthTokenUrl' | 'contentEncoding'>,
): Html {
  const lines = [
    maxBatchRecords === 1 ? html`One record in each request.` : html`Up to ${maxBatchRecords} records in each request.`,
    oauthTokenUrl === null
      ? html`<code>authorization: HMAC-SHA256 …</code> signs the request.`
      : html`<code>authorization: Bearer …</code> has a token of your OAuth server.`,
    ...(standardWebhooks
      ? [
          html`<code>webhook-id</code>, <code>webhook-timestamp</code> and <code>webhook-signature</code> are those of Standard Webhooks.`,
        ]
      : []),
    ...(encryptionKeyName !== null
      ? [
          html`
            The body is encrypted with your key ${encryptionKeyName}: <code>x-content-encrypted: true</code>,
            <code>x-pgp-key-name</code>.
          `,
        ]
      : []),
    ...(contentEncoding === 'gzip'
      ? [
          encryptionKeyName === null
            ? html`The body is compressed: <code>content-encoding: gzip</code>.`
            : html`It is compressed before that: <code>x-original-encoding: gzip</code>.`,
        ]
      : []),
  ];
  return html`<ul class="uses">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

function programs(): Html {
  return section({
    title: 'Programs',
    id: 'programs',
    lead: html`
      For TypeScript and JavaScript, the package <code>sallyport-receiver</code> does everything. For other languages
      this is the verification. The programs below also answer challenges, decrypt and decompress.
    `,
    content: html`<div class="stack">${codePanels('Verify a delivery', receiverCode())}${downloadList()}</div>`,
  });
}
