/**
 * `/event-catalogue`: the public event types, for the people who write receivers. Nobody has to sign in, as for the catalogue of the API.
 * Internal event types are absent, even for users who are signed in. A customer's session has them in its portal, also in a frame.
 */

import type { EventType } from '../../domain/event.ts';
import { NO_THEME } from '../../domain/portal-theme.ts';
import { eventCatalogue } from '../../events/catalogue.ts';
import { type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { downloadList } from '../documentation/download-pages.ts';
import { hasReceiverPackage, receiverCode } from '../endpoints/receiver-code.ts';
import { addressFor } from '../frame/browser.ts';
import { type OpenCall, redirectTo } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { fits, readText } from '../frame/query.ts';
import { SESSION_ENDED_PATH } from '../frame/request-context.ts';
import { brandMark } from '../parts/brand.ts';
import { copyable, programPanels } from '../parts/details.ts';
import { newForm, textField } from '../parts/fields.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { emptyState, folded, listView } from '../parts/list.ts';
import { badge } from '../parts/mark.ts';
import { groupsOf } from './type-groups.ts';
import { eventTypeSections } from './type-sections.ts';

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
      respond: async (call) => {
        if (call.isFramed) return redirectTo(SESSION_ENDED_PATH);
        const all = await shown();
        const address = isOperators(call) ? addressFor(call.request, publicUrl()) : null;
        const view = catalogueView(all, call.query, address);
        const content = html`${view.content}${catalogueDownloads(null)}${receiving(all)}`;
        return { ...view, content: html`<div class="catalogue">${publicHeader(call)}${content}</div>` };
      },
    }),
    pages.openPage({
      method: 'GET',
      path: `${CATALOGUE_PATH}/{name}`,
      isForCustomers: true,
      respond: async (call) => {
        if (call.isFramed) return redirectTo(SESSION_ENDED_PATH);
        const { name = '' } = call.params;
        const eventType = (await shown()).find((one) => one.name === name);
        if (eventType === undefined) throw new Refusal('not_found', 'there is no such event type');
        const content = entry(eventType, addressFor(call.request, publicUrl()), isOperators(call));
        return { title: name, content: html`<div class="catalogue">${publicHeader(call)}${content}</div>` };
      },
    }),
  ];
}

const EVENT_TYPES = { href: '/event-types', label: 'Event types' };

/** Whether the operator looks at it, whose pages of event types lead here. */
function isOperators({ session }: OpenCall): boolean {
  return session !== null && session.customerId === null;
}

/** Whose catalogue it is, and the way into the portal. The portal of a session has a header of its own. */
function publicHeader({ session, brand }: OpenCall): Html | null {
  if (session !== null) return null;
  return html`
    <header class="public-header">
      <a class="brand" href="${CATALOGUE_PATH}">${brandMark(brand ?? NO_THEME)}</a>
      ${linkButton({ href: SESSION_ENDED_PATH, label: 'Open your portal' })}
    </header>
  `;
}

/** By group, as the catalogue of the API has them. `address`: for the operator, who gives it to others. */
function catalogueView(all: readonly EventType[], query: URLSearchParams, address: string | null) {
  const text = readText(query, 'q');
  const fitting = all.filter(({ name, description }) => fits(text, name, description));
  const results = groupsOf(fitting, all, text !== null).map(({ title, types, fold }) => {
    const content = html`<ul class="catalogue-list">${types.map(line)}</ul>`;
    return fold === null
      ? section({ title, content })
      : folded({
          title,
          ...fold,
          content: html`<div class="section"><div class="section-body">${content}</div></div>`,
        });
  });
  const none = emptyState({
    title: all.length === 0 ? 'No event types yet' : 'No event type fits',
    text: html`<p>${all.length === 0 ? 'The catalogue lists them as soon as there are any.' : 'Try another word.'}</p>`,
  });
  return listView({
    title: 'Event catalogue',
    ...(address !== null && { crumbs: [EVENT_TYPES] }),
    lead: html`
      What webhooks can deliver: a sample, the schema, a TypeScript type and code for each event type.
      ${address === null ? null : html`<p>Everybody can read it: ${copyable(address + CATALOGUE_PATH, 'address')}</p>`}
    `,
    path: CATALOGUE_PATH,
    query,
    filters: [textField(newForm({ q: text }), { name: 'q', label: 'Name or description', type: 'search' })],
    results: results.length === 0 ? none : html`${results}`,
  });
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

/** As files: the portal around a link has no page for them. `guide`: where the package is. */
export function catalogueDownloads(guide: string | null): Html {
  const receiver = html`<code>createReceiver&lt;Events&gt;</code>`;
  const used =
    guide === null
      ? html`${receiver} of <code>sallyport-receiver</code>`
      : html`${receiver} of the package in the <a href="${guide}">Guide</a>`;
  return section({
    title: 'For tools',
    content: html`
    <ul class="catalogue-list">
      <li>
        <a href="/services/api/asyncapi.json" download>AsyncAPI 3</a>
        <span class="cell-hint">For code generators and documentation tools.</span>
      </li>
      <li>
        <a href="/services/api/event-catalogue.d.ts" download>TypeScript types</a>
        <span class="cell-hint">
          A type for the data of each event type${hasReceiverPackage() ? html`, and <code>Events</code> for ${used}` : null}.
        </span>
      </li>
      <li>
        <a href="/services/api/event-catalogue" download="event-catalogue.json">JSON</a>
        <span class="cell-hint">Everything on these pages.</span>
      </li>
    </ul>
  `,
  });
}

function receiving(eventTypes: readonly EventType[]): Html {
  return section({
    title: 'Receive events',
    lead: hasReceiverPackage()
      ? html`
        Every delivery is signed. The code below verifies it. In TypeScript and JavaScript it is a whole program, with the
        package <code>sallyport-receiver</code>. For other languages, whole programs are among the downloads below.
      `
      : 'Every delivery is signed. This is the verification. Whole programs are below.',
    content: html`
      <div class="stack">
        ${programPanels('Verify a delivery', receiverCode(businessFirst(eventTypes)))}${downloadList()}
      </div>
    `,
  });
}

/** The example shows the first few: those of the service itself, such as `webhook.failed`, come last. */
function businessFirst(eventTypes: readonly EventType[]): readonly EventType[] {
  return eventTypes.toSorted((a, b) => Number(a.builtIn) - Number(b.builtIn));
}

/** The page of one event type. */
function entry(eventType: EventType, address: string | null, isOperators: boolean): Html {
  const { name, description, deprecated, encryptionRequired } = eventType;
  const facts = [
    ...(deprecated ? ['It is deprecated: do not subscribe to it any more. Events of it are still delivered.'] : []),
    ...(encryptionRequired ? ['Its events are always encrypted: the webhook needs a key.'] : []),
  ];
  return html`
    ${pageHeader({
      title: name,
      crumbs: [...(isOperators ? [EVENT_TYPES] : []), { href: CATALOGUE_PATH, label: 'Event catalogue' }],
      actions: isOperators
        ? [linkButton({ href: `${EVENT_TYPES.href}/${eventType.id}`, label: 'Open the event type' })]
        : [],
      badges: badges(eventType),
      lead: html`
        ${description === '' ? null : html`<p>${description}</p>`}
        ${facts.map((fact) => html`<p>${fact}</p>`)}
      `,
    })}
    ${eventTypeSections(eventType, address, { verification: html`<a href="${CATALOGUE_PATH}">The catalogue</a>` })}
  `;
}
