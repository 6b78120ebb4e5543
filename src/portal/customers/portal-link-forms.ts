/** The operator's forms about the portal of a customer: make a link for it, and open it. */

import {
  LINK_SESSION_DEFAULT_SECONDS,
  LINK_SESSION_MAX_SECONDS,
  LINK_SESSION_MIN_SECONDS,
  PORTAL_LINK_DEFAULT_SECONDS,
  PORTAL_LINK_MAX_SECONDS,
  PORTAL_LINK_MIN_SECONDS,
  PORTAL_LINKS_PATH,
  portalLinkInput,
} from '../../customers/portal-links.ts';
import type { Customer } from '../../domain/customer.ts';
import { type Html, html } from '../../http/html.ts';
import { unknownAddress } from '../../kernel/refusal.ts';
import { validate } from '../../kernel/validation.ts';
import { addressFor } from '../frame/browser.ts';
import { type PageCall, pathId, refusedTo, type View } from '../frame/call.ts';
import { setCookie, VISITED_COOKIE } from '../frame/cookies.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { type Result, resultOf } from '../frame/results.ts';
import { secretBox } from '../parts/details.ts';
import { type FormState, refusedForm } from '../parts/fields.ts';
import { fieldGroup } from '../parts/form.ts';
import { actionButton, linkButton, pageHeader } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import { customersRoleText, roleText } from '../parts/role-texts.ts';
import { lengthText, time } from '../parts/text.ts';
import { type FormField, fillForm, numberOf, oneOf, readForm, select, text, titlesOf } from '../record/field-table.ts';
import { formView } from '../record/record-pages.ts';
import { visitorOf } from '../sign-in/sign-in-pages.ts';

export function customerLinkPages(dependencies: PageDependencies): PageRoute<'operator'>[] {
  return [...linkFormPages(dependencies), openPage(dependencies)];
}

function linkFormPages({ pages, results, services, publicUrl }: PageDependencies): PageRoute<'operator'>[] {
  const { customers, portalLinks } = services;
  const show = async (call: PageCall, state: FormState): Promise<View> =>
    linkForm(call, await customers.get(pathId(call)), state);
  return pages.form('/customers/{id}/portal-link', 'operator', {
    show: (call) => show(call, fillForm(LINK_FIELDS, LINK_DEFAULTS)),
    respond: async (call) => {
      const customer = await customers.get(pathId(call));
      const url = addressFor(call.request, publicUrl());
      if (url === null) throw unknownAddress(null);
      const input = validate(portalLinkInput, readForm(LINK_FIELDS, call.form));
      return results.once(call, async () => {
        const { token, expiresAt } = await portalLinks.create(customer.id, input, call.acting);
        return madeResult(call, customer, { ...input, link: `${url}${PORTAL_LINKS_PATH}/${token}`, expiresAt });
      });
    },
    invalid: (call, refusal) => show(call, refusedForm(call.form, refusal)),
  });
}

/** A length of time from a short list. */
function seconds({ choices, ...options }: { label: string; hint: string; choices: readonly number[] }): FormField {
  const shown = choices.map((one) => ({ value: String(one), label: lengthText(one * 1000) }));
  return select({ ...options, isRequired: true, choices: shown }, { read: numberOf });
}

const LINK_FIELDS = {
  role: oneOf({
    label: 'Role',
    choices: (['administrator', 'viewer'] as const).map((value) => ({ value, ...customersRoleText(value) })),
  }),
  expiresInSeconds: seconds({
    label: 'The link is valid for',
    choices: [PORTAL_LINK_MIN_SECONDS, PORTAL_LINK_DEFAULT_SECONDS, 3600, PORTAL_LINK_MAX_SECONDS],
    hint: 'Each link works once: make another for the next visit.',
  }),
  sessionSeconds: seconds({
    label: 'The session lasts',
    choices: [LINK_SESSION_MIN_SECONDS, 1800, LINK_SESSION_DEFAULT_SECONDS, 8 * 3600, LINK_SESSION_MAX_SECONDS],
    hint: 'It ends then, however much it is used.',
  }),
  returnUrl: text({
    label: 'Return URL',
    type: 'url',
    isCode: true,
    placeholder: 'https://shop.example/settings',
    hint: 'A page of your product. The portal links back to it, and signing out leads there.',
  }),
  renewUrl: text({
    label: 'Renew URL',
    type: 'url',
    isCode: true,
    placeholder: 'https://shop.example/webhooks',
    hint: 'A page of your product that opens a new link. A browser goes there when the session has ended.',
  }),
};

const LINK_DEFAULTS = {
  role: 'administrator',
  expiresInSeconds: PORTAL_LINK_DEFAULT_SECONDS,
  sessionSeconds: LINK_SESSION_DEFAULT_SECONDS,
};

function crumbsTo({ id, name }: Customer) {
  return [
    { href: '/customers', label: 'Customers' },
    { href: `/customers/${id}`, label: name },
  ];
}

function linkForm({ csrf }: PageCall, customer: Customer, state: FormState): View {
  const path = `/customers/${customer.id}`;
  const field = (name: keyof typeof LINK_FIELDS): Html => LINK_FIELDS[name].draw(state, name);
  return formView({
    title: `Create a portal link for ${customer.name}`,
    crumbs: crumbsTo(customer),
    lead: html`
      Anyone who opens this link can act for ${customer.name}, without a password. Each link works once. Your product
      creates such links with <code>POST /customers/{id}/portal-links</code>.
    `,
    csrf,
    state,
    action: `${path}/portal-link`,
    submit: 'Create the link',
    cancel: path,
    content: html`
      ${field('role')}
      ${fieldGroup('Times', null, [field('expiresInSeconds'), field('sessionSeconds')])}
      ${fieldGroup('Back to your product', null, [field('returnUrl'), field('renewUrl')])}
    `,
    titles: titlesOf(LINK_FIELDS),
  });
}

type Made = {
  readonly link: string;
  readonly expiresAt: number;
  readonly role: 'administrator' | 'viewer';
  readonly sessionSeconds: number;
};

function madeResult({ csrf }: PageCall, customer: Customer, { link, expiresAt, role, sessionSeconds }: Made): Result {
  const path = `/customers/${customer.id}`;
  const title = `Portal link for ${customer.name}`;
  const secret = {
    label: 'Portal link',
    value: link,
    note: 'Anyone who opens this link can act for this customer. Send it over a private channel.',
    renewal: { href: `${path}/portal-link`, label: 'create another link' },
  };
  return resultOf(
    title,
    (showing) =>
      html`
        ${pageHeader({
          title,
          crumbs: crumbsTo(customer),
          actions: [linkButton({ href: path, label: `Back to ${customer.name}` })],
        })}
        ${secretBox(secret, showing)}
        ${notice({
          tone: 'info',
          text: html`
            It works once, until ${time(expiresAt)}; then a session of ${lengthText(sessionSeconds * 1000)} as
            ${roleText(role, true).label}. For the next visit <a href="${path}/portal-link">create another link</a>. To
            see the portal yourself, open it without a link.
          `,
        })}
        <div class="buttons">
          ${actionButton({
            action: `${path}/open`,
            csrf,
            label: 'Open as this customer',
            longLabel: `Open as this customer: ${customer.name}`,
            icon: 'leave',
          })}
        </div>
      `,
  );
}

/** It is opened in the same request. */
const OPENED_SECONDS = PORTAL_LINK_MIN_SECONDS;

/** Opens the portal of a customer in a session of its own, beside that of the administrator. */
function openPage({ pages, services }: PageDependencies): PageRoute<'operator'> {
  const { customers, portalLinks } = services;
  return pages.act('/customers/{id}/open', 'operator', 'administrator', {
    respond: async (call) => {
      const { id } = await customers.get(pathId(call));
      const input = {
        role: 'administrator',
        expiresInSeconds: OPENED_SECONDS,
        sessionSeconds: LINK_SESSION_DEFAULT_SECONDS,
      } as const;
      const { token } = await portalLinks.create(id, input, call.acting);
      const begun = await portalLinks.open(token, visitorOf(call), call.acting.actor);
      if (begun === null) return refusedTo(`/customers/${id}`, 'the customer has just been suspended');
      return { redirect: '/', cookies: [setCookie(VISITED_COOKIE, begun.token)] };
    },
    invalid: async (call, refusal) =>
      refusal.code === 'invalid_state' ? refusedTo(`/customers/${pathId(call)}`, refusal.message) : null,
  });
}
