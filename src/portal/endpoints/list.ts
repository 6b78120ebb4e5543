/** `/endpoints`: the list of endpoints, with warnings. */
import { type Html, html } from '../../http/html.ts';
import { NO_USES, type Uses } from '../../store/directory.ts';
import type { Endpoint } from '../../webhooks/endpoint.ts';
import type { PageCall } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { linkButton } from '../parts/button.ts';
import { textField } from '../parts/fields.ts';
import { newForm } from '../parts/form-state.ts';
import { listView, readListed } from '../parts/list.ts';
import { emptyState, nothingFound, table } from '../parts/table.ts';
import { relativeTime } from '../parts/time.ts';
import { readText } from '../query.ts';
import { usesList } from '../webhooks/uses.ts';
import { endpointBadges, endpointWarnings, type Warning } from './standing.ts';

const PATH = '/endpoints';

export function endpointListPage({ pages, store }: PageDependencies): PageRoute {
  return pages.view(PATH, async (call) => {
    const { query } = call;
    const text = readText(query, 'q');
    const filter = text === null ? {} : { text };
    const { items, cursor, nextCursor } = await readListed(
      query,
      (after, limit) => store.directory.endpoints(filter, after, limit),
      ({ id }) => id,
    );
    const uses = await store.uses.ofEndpoints(items.map(({ id }) => id));
    const isFiltered = text !== null || cursor !== null;
    const isEmpty = items.length === 0 && !isFiltered;
    return listView({
      title: 'Endpoints',
      lead: 'The HTTPS addresses that deliveries go to, and how requests prove that they come from you.',
      actions: [call.may('administrator') && !isEmpty ? newButton() : null],
      ...{ path: PATH, query, nextCursor },
      filters: isEmpty
        ? []
        : [textField(newForm({ q: text }), { name: 'q', label: 'Name or address', type: 'search' })],
      results: endpointTable(call, items, uses, isFiltered),
    });
  });
}

function endpointTable(
  call: PageCall,
  endpoints: readonly Endpoint[],
  uses: ReadonlyMap<string, Uses>,
  isFiltered: boolean,
): Html {
  return table({
    caption: 'Endpoints',
    columns: [
      { label: 'Name and address', kind: 'main' },
      { label: 'State' },
      { label: 'Last challenge' },
      { label: 'Webhooks' },
      { label: 'To look at' },
    ],
    rows: endpoints.map((endpoint) => {
      const used = uses.get(endpoint.id) ?? NO_USES;
      return [
        html`<a href="${PATH}/${endpoint.id}">${endpoint.name}</a><span class="cell-hint">${endpoint.url}</span>`,
        html`<span class="badges">${endpointBadges(endpoint)}</span>`,
        lastChallenge(endpoint, call.now),
        usesList(used, `/webhooks?endpoint=${endpoint.id}`),
        warningsCell(endpointWarnings(endpoint, used, call.now)),
      ];
    }),
    empty: isFiltered ? nothingFound(PATH, 'endpoints') : firstEndpoint(call),
  });
}

function warningsCell(warnings: readonly Warning[]): Html {
  if (warnings.length === 0) return html`<span class="quiet">nothing</span>`;
  return html`${warnings.map(({ text }) => html`<p class="cell-hint">${text}</p>`)}`;
}

function lastChallenge({ lastVerification, tokenChallenge }: Endpoint, now: number): Html {
  if (lastVerification === null) return html`<span class="quiet">${tokenChallenge ? 'never' : 'not asked for'}</span>`;
  const { verified, at } = lastVerification;
  return html`${verified ? badge('positive', 'answered', 'check') : badge('caution', 'failed')} <span class="cell-hint">${relativeTime(at, now)}</span>`;
}

function firstEndpoint(call: PageCall): Html {
  return emptyState({
    title: 'Where shall deliveries go?',
    text: html`<p>An endpoint is an HTTPS address of a customer. It comes with an API key and a secret: every request carries the one and is signed with the other, so that the receiver knows who sent it.</p><ol class="steps"><li><strong>Create the endpoint</strong> with its address.</li><li>Give the customer the API key and the secret, with code that checks them.</li><li>Create a webhook that says which events go there.</li></ol>`,
    action: call.may('administrator') ? newButton() : html`<p class="quiet">An administrator can create one.</p>`,
  });
}

function newButton(): Html {
  return linkButton({ href: `${PATH}/new`, label: 'New endpoint', kind: 'primary', icon: 'plus' });
}
