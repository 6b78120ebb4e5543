/** `/event-types`: the list of event types with their webhooks. */

import type { EventType } from '../../events/event.ts';
import { type Html, html } from '../../http/html.ts';
import { NO_USES, type Uses } from '../../store/directory.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { linkButton } from '../parts/button.ts';
import { textField } from '../parts/fields.ts';
import { newForm } from '../parts/form-state.ts';
import { listView } from '../parts/list.ts';
import { notice } from '../parts/notice.ts';
import { nothingFound, table } from '../parts/table.ts';
import { readText } from '../query.ts';
import { usesList } from '../webhooks/uses.ts';

const PATH = '/event-types';

/** All on one page, because there are few. */
export function eventTypeListPage({ pages, store }: PageDependencies): PageRoute {
  return pages.view(PATH, async (call) => {
    const { query } = call;
    const text = readText(query, 'q');
    const all = await store.eventTypes.all();
    const shown = all.filter(({ name, description }) => fits(text, name, description)).sort(byName);
    const uses = await store.uses.ofEventTypes(shown.map(({ name }) => name));
    return listView({
      title: 'Event types',
      lead: 'The kinds of things that happen. A webhook subscribes to them by name, by category, or to all.',
      actions: [call.may('administrator') ? newButton() : null],
      ...{ path: PATH, query },
      above: all.every(({ builtIn }) => builtIn) ? firstEventType() : null,
      filters: [textField(newForm({ q: text }), { name: 'q', label: 'Name or description', type: 'search' })],
      results: listTable(shown, uses),
    });
  });
}

function fits(text: string | null, ...fields: readonly string[]): boolean {
  return text === null || fields.some((field) => field.toLowerCase().includes(text.toLowerCase()));
}

/** Custom types first, then the built-in ones. */
function byName(a: EventType, b: EventType): number {
  return Number(a.builtIn) - Number(b.builtIn) || (a.name < b.name ? -1 : 1);
}

function listTable(eventTypes: readonly EventType[], uses: ReadonlyMap<string, Uses>): Html {
  return table({
    caption: 'Event types',
    columns: [{ label: 'Name', kind: 'main' }, { label: 'Rules' }, { label: 'Webhooks that get it' }],
    rows: eventTypes.map((eventType) => [
      html`<a href="${PATH}/${eventType.id}"><code>${eventType.name}</code></a>${eventType.description === '' ? null : html`<span class="cell-hint">${eventType.description}</span>`}`,
      html`<span class="badges">${eventTypeBadges(eventType)}</span>`,
      usesList(uses.get(eventType.name) ?? NO_USES, '/webhooks'),
    ]),
    empty: nothingFound(PATH, 'event types'),
  });
}

export function eventTypeBadges({ builtIn, encryptionRequired, dataSchema }: EventType): Html[] {
  return [
    ...(builtIn ? [badge('neutral', 'built in')] : []),
    ...(encryptionRequired ? [badge('info', 'encrypted only', 'key')] : []),
    ...(dataSchema === null ? [] : [badge('info', 'checked by a schema', 'check')]),
  ];
}

function firstEventType(): Html {
  return notice({
    tone: 'info',
    title: 'These are built in. What happens in your product?',
    text: html`<p>Name it as <code>category.name</code>, such as <code>order.created</code>: a webhook can then take <code>order.*</code> as a whole. Publish with <code>POST /services/api/x/edge/v1/events</code>, or with <code>sallyport event publish</code>.</p>`,
  });
}

function newButton(): Html {
  return linkButton({ href: `${PATH}/new`, label: 'New event type', kind: 'primary', icon: 'plus' });
}
