/** The pages of endpoints: the list, one endpoint with what can be done with it, and its forms. */
import { html } from '../../http/html.ts';
import type { Endpoint } from '../../webhooks/endpoint.ts';
import { pathId, redirectTo } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { attempted } from '../parts/attempted.ts';
import { confirmPage } from '../parts/confirm.ts';
import { sentence } from '../parts/sentence.ts';
import { recordForm } from '../record-form.ts';
import { stillUsedView } from '../webhooks/uses.ts';
import { withoutCode } from './challenge.ts';
import { endpointView } from './detail.ts';
import { endpointListPage } from './list.ts';
import { endpointFormPages } from './new.ts';
import { oauthSection } from './oauth.ts';
import { receiverPage } from './receiver.ts';
import { rotationPages } from './rotation.ts';

export function endpointPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, services, store, testOauth } = dependencies;
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

  return [
    endpointListPage(dependencies),
    ...endpointFormPages(dependencies),
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
    ...pages.form(
      '/endpoints/{id}/delete',
      recordForm({
        administration: endpoints,
        view: async ({ csrf }, { id, name }, form) => {
          const path = `/endpoints/${id}`;
          const uses = await usesOf(id);
          const title = `Delete the endpoint ${name}?`;
          const crumbs = [
            { href: '/endpoints', label: 'Endpoints' },
            { href: path, label: name },
          ];
          if (uses !== null) {
            return stillUsedView({
              title,
              crumbs,
              uses,
              all: `/webhooks?endpoint=${id}`,
              back: path,
              remedy: 'Delete them first, or have them send elsewhere.',
            });
          }
          return confirmPage({
            ...{ title, crumbs, form, csrf, action: `${path}/delete`, submit: 'Delete the endpoint', cancel: path },
            text: 'Its address, API key, secret and settings are deleted, and there is no way back. The audit log keeps what was done with it.',
          });
        },
        respond: async ({ acting }, { id, name }) =>
          attempted(
            '/endpoints',
            `The endpoint ${name} is deleted.`,
            () => endpoints.remove(id, acting),
            `/endpoints/${id}`,
          ),
      }),
    ),
  ];
}

function verdictOf({ name, lastVerification, enabled }: Endpoint) {
  const error = lastVerification?.error ?? null;
  if (error !== null)
    return { tone: 'negative', text: `${name} failed the challenge. ${sentence(withoutCode(error))}` } as const;
  return { tone: 'positive', text: `${name} answered rightly${enabled ? ' and is enabled' : ''}.` } as const;
}
