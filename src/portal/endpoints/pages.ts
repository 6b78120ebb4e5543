/** The pages of endpoints: the list, one endpoint with its actions, and its forms. */
import { type Html, html } from '../../http/html.ts';
import { NO_USES, type Uses } from '../../store/directory.ts';
import type { Endpoint } from '../../webhooks/endpoint.ts';
import { endpointReader, viewEndpoint } from '../../webhooks/endpoint-schema.ts';
import { attempted, type PageCall, pathId, redirectTo } from '../call.ts';
import type { PageDependencies, PageRoute } from '../page.ts';
import { newForm, textField } from '../parts/fields.ts';
import { linkButton } from '../parts/header.ts';
import { emptyState, listView, nothingFound, readListed, table } from '../parts/list.ts';
import { badge } from '../parts/mark.ts';
import { relativeTime, sentence } from '../parts/text.ts';
import { readText } from '../query.ts';
import { recordPages, removalPages, usesList } from '../record-pages.ts';
import { withoutCode } from './challenge.ts';
import { endpointBadges, endpointView, endpointWarnings, oauthSection, type Warning } from './detail.ts';
import { endpointFields, endpointLayout, endpointSettings, shownEndpoint, usedSettings } from './form.ts';
import { createdView, receiverPage } from './receiver.ts';
import { rotationPages } from './rotation.ts';

export function endpointPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, results, services, store, clock, testOauth } = dependencies;
  const { endpoints } = services;
  const usesOf = async (id: string) => (await store.uses.ofEndpoints([id])).get(id) ?? null;

  const enabling = (verb: 'enable' | 'disable'): PageRoute =>
    pages.page({
      method: 'POST',
      path: `/endpoints/{id}/${verb}`,
      role: 'administrator',
      respond: async (call) => {
        const path = `/endpoints/${pathId(call)}`;
        const done = verb === 'enable' ? 'Deliveries are sent here.' : 'Nothing is sent here any more.';
        return attempted(path, done, () => endpoints.patch(pathId(call), { enabled: verb === 'enable' }, call.acting));
      },
    });

  const entity = {
    list: { href: '/endpoints', label: 'Endpoints' },
    noun: 'endpoint',
    nameOf: ({ name }: Endpoint) => name,
    administration: endpoints,
    settings: (endpoint: Endpoint) => endpointSettings(endpoint, clock()),
  };

  return [
    endpointListPage(dependencies),
    ...recordPages(pages, {
      ...entity,
      reader: endpointReader,
      choices: async () => null,
      fields: endpointFields,
      layout: endpointLayout,
      adjust: (body, before) => usedSettings(body, before === null),
      shown: (endpoint) => shownEndpoint(viewEndpoint(endpoint, clock())),
      creation: {
        title: 'New endpoint',
        lead: 'An API key and a secret are made for it, and shown with all that the receiver needs.',
        submit: 'Create the endpoint',
        respond: (call, input) =>
          results.once(call, async () => {
            const endpoint = await endpoints.create(input, call.acting);
            return (shownTo) => createdView(shownTo, endpoint, input.secret === undefined);
          }),
      },
      change: {
        lead: 'Deliveries that wait go out with the new settings. API key and secret are changed by rotation.',
        done: ({ name, url, verified, tokenChallenge }, before) =>
          tokenChallenge && !verified && (url !== before.url || !before.tokenChallenge)
            ? `${name} is saved. It did not answer the challenge and is off until it does.`
            : `${name} is saved.`,
      },
    }),
    receiverPage(dependencies),
    ...rotationPages(dependencies),
    pages.view('/endpoints/{id}', async (call) => {
      const endpoint = await endpoints.get(pathId(call));
      return endpointView(call, endpoint, await usesOf(endpoint.id), null);
    }),
    pages.page({
      method: 'POST',
      path: '/endpoints/{id}/verify',
      role: 'operator',
      respond: async (call) => {
        const endpoint = await endpoints.verify(pathId(call), call.acting);
        return { ...redirectTo(`/endpoints/${endpoint.id}#challenge`), flash: verdictOf(endpoint) };
      },
    }),
    pages.page({
      method: 'POST',
      path: '/endpoints/{id}/test-oauth',
      role: 'operator',
      respond: async (call) => {
        const result = await testOauth(pathId(call));
        const endpoint = await endpoints.get(pathId(call));
        const view = endpointView(call, endpoint, await usesOf(endpoint.id), result);
        return { ...view, partial: oauthSection(call, endpoint, result) ?? html`` };
      },
    }),
    enabling('enable'),
    enabling('disable'),
    ...removalPages(pages, entity, {
      text: () =>
        'Its address, API key, secret and settings are deleted, and there is no way back. The audit log keeps what was done with it.',
      uses: ({ id }) => usesOf(id),
      used: {
        all: ({ id }) => `/webhooks?endpoint=${id}`,
        remedy: 'Delete them first, or have them send elsewhere.',
      },
    }),
  ];
}

function verdictOf({ name, lastVerification, enabled }: Endpoint) {
  const error = lastVerification?.error ?? null;
  if (error !== null)
    return { tone: 'negative', text: `${name} failed the challenge. ${sentence(withoutCode(error))}` } as const;
  return { tone: 'positive', text: `${name} answered rightly${enabled ? ' and is enabled' : ''}.` } as const;
}

const PATH = '/endpoints';

function endpointListPage({ pages, store }: PageDependencies): PageRoute {
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
