/** `/endpoints/new`, and the change of an endpoint: one form, and what comes of it. */

import { html } from '../../http/html.ts';
import type { Endpoint } from '../../webhooks/endpoint.ts';
import { endpointReader } from '../../webhooks/endpoint-schema.ts';
import { type PageCall, redirectTo, type View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { form } from '../parts/form.ts';
import { type FormState, refusedForm } from '../parts/form-state.ts';
import { pageHeader } from '../parts/header.ts';
import { recordForm } from '../record-form.ts';
import { ENDPOINT_LABELS, endpointFields, endpointForm, newEndpointForm } from './form.ts';
import { endpointBody, endpointPatchOf, withoutSecrets } from './input.ts';
import { createdView } from './receiver.ts';

export function endpointFormPages({ pages, results, services: { endpoints } }: PageDependencies): PageRoute[] {
  return [
    ...pages.form('/endpoints/new', {
      show: async (call) => newView(call, newEndpointForm()),
      respond: (call) =>
        results.once(call, async () => {
          const body = endpointBody(call.form);
          const endpoint = await endpoints.create(endpointReader.create(body), call.acting);
          return (shownTo) => createdView(shownTo, endpoint, body.secret === undefined);
        }),
      invalid: async (call, refusal) => newView(call, refusedForm(withoutSecrets(call.form), refusal)),
    }),
    ...pages.form(
      '/endpoints/{id}/edit',
      recordForm({
        administration: endpoints,
        fill: endpointForm,
        view: changeView,
        refused: (typed, refusal) => refusedForm(withoutSecrets(typed), refusal),
        compared: endpointPatchOf,
        respond: async (call, before) => {
          const { id, name, url, verified, tokenChallenge } = await endpoints.patch(
            before.id,
            endpointReader.patch(endpointPatchOf(call.form)),
            call.acting,
          );
          const isUnproved = tokenChallenge && !verified && (url !== before.url || !before.tokenChallenge);
          return redirectTo(
            `/endpoints/${id}`,
            isUnproved
              ? `${name} is saved. It did not answer the challenge and is off until it does.`
              : `${name} is saved.`,
          );
        },
      }),
    ),
  ];
}

function newView({ csrf }: PageCall, state: FormState): View {
  const title = 'New endpoint';
  const content = html`${pageHeader({
    title,
    crumbs: [{ href: '/endpoints', label: 'Endpoints' }],
    lead: 'An API key and a secret are made for it, and shown with all that the receiver needs.',
  })}${form({
    action: '/endpoints/new',
    csrf,
    form: state,
    content: endpointFields(state, null),
    submit: 'Create the endpoint',
    cancel: '/endpoints',
    labels: ENDPOINT_LABELS,
  })}`;
  return { title, content };
}

function changeView({ csrf }: PageCall, endpoint: Endpoint, state: FormState): View {
  const { id, name } = endpoint;
  const title = `Change ${name}`;
  const path = `/endpoints/${id}`;
  const crumbs = [
    { href: '/endpoints', label: 'Endpoints' },
    { href: path, label: name },
  ];
  const lead = 'Deliveries that wait go out with the new settings. API key and secret are changed by rotation.';
  const content = html`${pageHeader({ title, crumbs, lead })}${form({
    action: `${path}/edit`,
    csrf,
    form: state,
    content: endpointFields(state, endpoint),
    submit: 'Save',
    cancel: path,
    labels: ENDPOINT_LABELS,
  })}`;
  return { title, content };
}
