/** Rotating the authentication of an endpoint, immediately or later, so that the receiver can accept both until then. */
import { currentAuthentication, type Endpoint } from '../../domain/endpoint.ts';
import { html } from '../../http/html.ts';
import { isObject, validate } from '../../kernel/validation.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import { AUTHENTICATION_MEMBERS } from '../../webhooks/endpoint-authentication.ts';
import { rotateAuthenticationInput } from '../../webhooks/endpoint-schema.ts';
import { type PageCall, pathId, redirectTo, type View } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { type FormState, refusedForm } from '../parts/fields.ts';
import { fieldGroup } from '../parts/form.ts';
import { type FieldTable, fillForm, readForm, titlesOf, withoutSecrets } from '../record/field-table.ts';
import { ownedCrumbs, ownedName, readOwner } from '../record/owner.ts';
import { recordForm } from '../record/record-form.ts';
import { formView, heldView } from '../record/record-pages.ts';
import { authenticationFields } from './authentication-fields.ts';
import { waitsUntil } from './endpoint-detail.ts';
import { endpointSettings } from './endpoint-form.ts';
import { ENDPOINTS } from './receiver-pages.ts';
import { activationField, DAY_SECONDS, scheduledNotice } from './rotation-pages.ts';

const ACTION = 'rotate-authentication';

export function authenticationPages({
  pages,
  services: { endpoints },
  store,
  clock,
}: SharedPageDependencies): PageRoute<'both'>[] {
  return pages.form(
    `/endpoints/{id}/${ACTION}`,
    'both',
    recordForm<Endpoint>({
      administration: endpoints,
      settings: (endpoint) => endpointSettings(endpoint, clock()),
      fill: (endpoint) =>
        fillForm(fieldsOf(endpoint, clock()), {
          activateAfterSeconds: DAY_SECONDS,
          authentication: currentNames(endpoint, clock()),
        }),
      view: async (call, endpoint, state) => rotationView(call, endpoint, await readOwner(store, endpoint), state),
      refused: (typed, refusal, endpoint) => refusedForm(withoutSecrets(fieldsOf(endpoint, clock()), typed), refusal),
      respond: async (call, before) => {
        const { authentication, ...rest } = readForm(fieldsOf(before, call.now), call.form);
        const method = currentAuthentication(before, call.now)?.method;
        const given = { ...(isObject(authentication) && authentication), method };
        const input = validate(rotateAuthenticationInput, { ...rest, authentication: given });
        const endpoint = await endpoints.rotateAuthentication(pathId(call), input, call.acting);
        const done =
          waitsUntil(endpoint.nextAuthenticationAt, call.now) === null
            ? 'The new authentication is sent from now on.'
            : 'The new authentication is scheduled.';
        return redirectTo(`/endpoints/${endpoint.id}/settings#credentials`, done);
      },
    }),
  );
}

/** Basic calls it the user name. */
function currentNames(endpoint: Endpoint, now: number) {
  const name = currentAuthentication(endpoint, now)?.name;
  return { userName: name, name };
}

/** The fields of the current method; another method is set with *Change*. */
function fieldsOf(endpoint: Endpoint, now: number): FieldTable {
  const method = currentAuthentication(endpoint, now)?.method;
  const all = authenticationFields(null);
  const members = method === undefined ? [] : Object.values(AUTHENTICATION_MEMBERS[method]);
  const own = members.flatMap((member) => {
    const field = all[`authentication.${member}`];
    return field === undefined ? [] : [[`authentication.${member}`, field] as const];
  });
  return {
    activateAfterSeconds: activationField('new authentication', now),
    ...Object.fromEntries(own),
  };
}

const NONE = {
  title: 'Its requests are signed.',
  text: 'There are no other credentials to replace. The signature has a secret, which you replace with a new secret.',
};

function rotationView({ csrf, now }: PageCall, endpoint: Endpoint, owner: OwnerName | null, state: FormState): View {
  const { id, name } = endpoint;
  const title = `New authentication for ${ownedName(name, owner)}`;
  const crumbs = ownedCrumbs(ENDPOINTS, owner, { href: `/endpoints/${id}`, label: name });
  if (currentAuthentication(endpoint, now) === null) return heldView({ title, crumbs, back: `/endpoints/${id}` }, NONE);
  const waits = waitsUntil(endpoint.nextAuthenticationAt, now);
  const table = fieldsOf(endpoint, now);
  const [when, ...fields] = Object.entries(table).map(([field, one]) => one.draw(state, field));
  return formView({
    title,
    crumbs,
    lead: 'Until the new one is sent, the receiver should accept both.',
    csrf,
    state,
    titles: titlesOf(table),
    above: scheduledNotice('authentication', 'set', waits),
    action: `/endpoints/${id}/${ACTION}`,
    content: html`
      ${when ?? null}
      ${fieldGroup('Authentication', null, fields)}
    `,
    submit: 'Set the new authentication',
    cancel: `/endpoints/${id}/settings`,
  });
}
