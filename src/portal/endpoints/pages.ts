/** The pages of endpoints: the list, one endpoint with its actions, and its forms. */
import { html } from '../../http/html.ts';
import type { Endpoint } from '../../webhooks/endpoint.ts';
import { endpointReader, viewEndpoint } from '../../webhooks/endpoint-schema.ts';
import { pathId, redirectTo } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { attempted } from '../parts/attempted.ts';
import { sentence } from '../parts/sentence.ts';
import { recordPages, removalPages } from '../record-pages.ts';
import { withoutCode } from './challenge.ts';
import { endpointView } from './detail.ts';
import { endpointFields, endpointLayout, shownEndpoint, usedSettings } from './form.ts';
import { endpointListPage } from './list.ts';
import { oauthSection } from './oauth.ts';
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
