/**
 * `/event-catalogue`: the public event types, for the people who write receivers. Nobody has to sign in, as for the catalogue of the API.
 * Internal event types are absent, even for users who are signed in.
 */

import type { EventType } from '../../domain/event.ts';
import { eventCatalogue } from '../../events/catalogue.ts';
import { typeDeclarations } from '../../events/typescript.ts';
import { type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { eventTypeKey } from '../../wire/envelope.ts';
import { hasReceiverPackage, receiverCode } from '../endpoints/receiver-code.ts';
import { addressFor } from '../frame/browser.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { codeBlock, codePanels } from '../parts/details.ts';
import { newForm, textField } from '../parts/fields.ts';
import { pageHeader, section } from '../parts/header.ts';
import { emptyState, listView } from '../parts/list.ts';
import { badge } from '../parts/mark.ts';

export const CATALOGUE_PATH = '/event-catalogue';

export function cataloguePages({
  pages,
  store,
  publicUrl,
}: Pick<PageDependencies, 'pages' | 'store' | 'publicUrl'>): PageRoute<'anyone'>[] {
  const shown = async (): Promise<readonly EventType[]> => eventCatalogue(await store.eventTypes.offered(), 'public');
  return [
    pages.openPage({
      method: 'GET',
      path: CATALOGUE_PATH,
      isForCustomers: true,
      respond: async ({ query }) => {
        const all = await shown();
        const view = catalogueView(all, query);
        return { ...view, content: html`<div class="catalogue">${view.content}${DOWNLOADS}${receiving(all)}</div>` };
      },
    }),
    pages.openPage({
      method: 'GET',
      path: `${CATALOGUE_PATH}/{name}`,
      isForCustomers: true,
      respond: async ({ request, params: { name = '' } }) => {
        const address = addressFor(request, publicUrl());
        const eventType = (await shown()).find((one) => one.name === name);
        if (eventType === undefined) throw new Refusal('not_found', 'there is no such event type');
        return { title: name, content: html`<div class="catalogue">${entry(eventType, address)}</div>` };
      },
    }),
  ];
}

/** By group, as the catalogue of the API has them. */
function catalogueView(all: readonly EventType[], query: URLSearchParams) {
  const text = readText(query, 'q');
  const fitting = all.filter(({ name, description }) => fits(text, name, description));
  const groups = [...Map.groupBy(fitting, ({ group }) => group ?? 'Other events')];
  const results = groups.map(([title, types]) =>
    section({ title, content: html`<ul class="catalogue-list">${types.map(line)}</ul>` }),
  );
  const none = emptyState({
    title: all.length === 0 ? 'No event types yet' : 'No event type fits',
    text: html`<p>${all.length === 0 ? 'The catalogue lists them as soon as there are any.' : 'Try another word.'}</p>`,
  });
  return listView({
    title: 'Event catalogue',
    lead: 'What webhooks can deliver: a sample, the schema, a TypeScript type and code for each event type.',
    path: CATALOGUE_PATH,
    query,
    filters: [textField(newForm({ q: text }), { name: 'q', label: 'Name or description', type: 'search' })],
    results: results.length === 0 ? none : html`${results}`,
  });
}

function fits(text: string | null, ...fields: readonly string[]): boolean {
  return text === null || fields.some((field) => field.toLowerCase().includes(text.toLowerCase()));
}

function line(eventType: EventType): Html {
  const { name, description } = eventType;
  return html`
    <li>
      <a href="${pathOf(name)}"><code>${name}</code></a>
      ${' '}
      <span class="badges">${badges(eventType)}</span>
      ${description === '' ? null : html`<span class="cell-hint">${description}</span>`}
    </li>
  `;
}

function pathOf(name: string): string {
  return `${CATALOGUE_PATH}/${name}`;
}

function badges({ deprecated, encryptionRequired }: EventType): Html[] {
  return [
    ...(deprecated ? [badge('caution', 'deprecated')] : []),
    ...(encryptionRequired ? [badge('info', 'encrypted only', 'key')] : []),
  ];
}

const DOWNLOADS = section({
  title: 'For tools',
  content: html`
    <ul class="catalogue-list">
      <li>
        <a href="/services/api/asyncapi.json">AsyncAPI 3</a>
        <span class="cell-hint">For code generators and documentation tools.</span>
      </li>
      <li>
        <a href="/services/api/event-catalogue.d.ts">TypeScript types</a>
        <span class="cell-hint">
          A type for the data of each event type, and <code>Events</code> for
          <code>createReceiver&lt;Events&gt;</code>.
        </span>
      </li>
      <li>
        <a href="/services/api/event-catalogue">JSON</a>
        <span class="cell-hint">Everything on these pages.</span>
      </li>
    </ul>
  `,
});

function receiving(eventTypes: readonly EventType[]): Html {
  return section({
    title: 'Receive events',
    lead: hasReceiverPackage()
      ? html`
        Every delivery is signed. For TypeScript and JavaScript the package <code>sallyport-receiver</code> does
        everything. For other languages this is the verification.
      `
      : 'Every delivery is signed. This is the verification.',
    content: codePanels('Verify a delivery', receiverCode(eventTypes)),
  });
}

/** The page of one event type. */
function entry(eventType: EventType, address: string | null): Html {
  const { name, description, deprecated, encryptionRequired } = eventType;
  const facts = [
    ...(deprecated ? ['It is deprecated: do not subscribe to it any more. Events of it are still delivered.'] : []),
    ...(encryptionRequired ? ['Its events are always encrypted: the webhook needs a key.'] : []),
  ];
  return html`
    ${pageHeader({
      title: name,
      crumbs: [{ href: CATALOGUE_PATH, label: 'Event catalogue' }],
      badges: badges(eventType),
      lead: html`
        ${description === '' ? null : html`<p>${description}</p>`}
        ${facts.map((fact) => html`<p>${fact}</p>`)}
      `,
    })}
    ${eventTypeSections(eventType, address)}
  `;
}

/**
 * What a receiver of an event type needs: sample, type and code. `address`: of this service, if it is known. `verification` leads to the
 * code for other languages, and `trial` sends the sample.
 */
export function eventTypeSections(
  eventType: EventType,
  address: string | null,
  {
    verification = html`<a href="${CATALOGUE_PATH}">The catalogue</a>`,
    trial = null,
  }: { readonly verification?: Html; readonly trial?: Html | null } = {},
): Html {
  const { name, sample, dataSchema } = eventType;
  const json = (value: unknown): string => JSON.stringify(value, null, 2);
  return html`
    ${section({
      title: 'Sample',
      content:
        sample === null
          ? html`<p class="quiet">There is no sample.</p>`
          : html`
            <div class="stack">
              ${codeBlock({ code: json(sample), label: 'Data' })}
              ${codeBlock({ code: json(recordOf(name, sample)), label: 'A record of a delivery' })}
            </div>
          `,
    })}
    ${trial}
    ${section({
      title: 'Type',
      content: html`
        <div class="stack">
          ${codeBlock({ code: typeDeclarations(eventType).trim(), label: 'TypeScript' })}
          ${
            dataSchema === null
              ? html`<p class="quiet">It has no schema, so nothing is promised about its data.</p>`
              : codeBlock({ code: json(dataSchema), label: 'JSON Schema' })
          }
        </div>
      `,
    })}
    ${section({
      title: 'Receive it',
      lead: hasReceiverPackage()
        ? html`
          With the package <code>sallyport-receiver</code>. ${verification} has the verification for other languages.
        `
        : html`${verification} has the verification of the request, in every language.`,
      content: codePanels(`Receive ${name}`, handlers(eventType, address)),
    })}
  `;
}

/** Contract §5.2. */
function recordOf(name: string, sample: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const correlationId = '0193a1f0-0000-7000-8000-000000000004';
  const messageId = '0193a1f0-0000-7000-8000-000000000003';
  const headers = { messageId, eventType: name, actorId: null, correlationId };
  const value = { headers, [eventTypeKey(name)]: sample };
  return { offset: 168, timestamp: '2026-11-21T05:00:00.000Z', lag: 0.012, correlationId, value };
}

function handlers(
  { name }: EventType,
  address: string | null,
): readonly { readonly label: string; readonly code: string }[] {
  const begin = `const receiver = createReceiver({
  secrets: process.env.WEBHOOK_SECRET ?? '',
  apiKey: process.env.WEBHOOK_API_KEY ?? '',
  onRecords: async (records, delivery) => {
    // Someone tries the receiver with the sample.
    if (delivery.test) return;
    for (const { eventType, messageId, data } of records) {
      if (eventType === ${JSON.stringify(name)}) console.log(messageId, data);
    }
  },
});

createServer(nodeHandler(receiver)).listen(3000);`;
  const imports = `import { createServer } from 'node:http';
import { createReceiver, nodeHandler } from 'sallyport-receiver';
`;
  const typed = begin.replace('createReceiver({', 'createReceiver<Events>({');
  const ofPackage = [
    {
      label: 'TypeScript',
      code:
        `${imports}// curl -o events.d.ts ${address ?? '…'}/services/api/event-catalogue.d.ts\nimport type { Events } from ` +
        `'./events.d.ts';\n\n${typed}`,
    },
    { label: 'JavaScript', code: `${imports}\n${begin}` },
  ];
  return [
    ...(hasReceiverPackage()
      ? ofPackage
      : [
          {
            label: 'JavaScript',
            code: `// After the verification of the request:
for (const { value } of JSON.parse(body).records) {
  const { eventType, messageId } = value.headers;
  if (eventType === ${JSON.stringify(name)}) console.log(messageId, value[${JSON.stringify(eventTypeKey(name))}]);
}`,
          },
        ]),
    {
      label: 'Python',
      code:
        '# After the verification of the request:\nfor record in json.loads(body)["records"]:\n    headers = ' +
        `record["value"]["headers"]\n    if headers["eventType"] == ${JSON.stringify(name)}:\n        ` +
        `print(headers["messageId"], record["value"][${JSON.stringify(eventTypeKey(name))}])`,
    },
  ];
}
