/** The page of the user's own account. */

import type { Passkey, Session } from '../../access/user.ts';
import { type Html, html } from '../../http/html.ts';
import { CHOSEN_PASSWORD_MAX_LENGTH, CHOSEN_PASSWORD_MIN_LENGTH } from '../../kernel/limits/limits.ts';
import { browserName } from '../browser.ts';
import type { PageCall, View } from '../call.ts';
import { badge } from '../parts/badge.ts';
import { actionButton, linkButton, submitButton } from '../parts/button.ts';
import { definitionList } from '../parts/details.ts';
import { textField } from '../parts/fields.ts';
import { errorSummary, form } from '../parts/form.ts';
import type { FormState } from '../parts/form-state.ts';
import { pageHeader, section } from '../parts/header.ts';
import { notice } from '../parts/notice.ts';
import { table } from '../parts/table.ts';
import { relativeTime, time } from '../parts/time.ts';

export type AccountForms = { readonly password: FormState; readonly passkey: FormState };
export type AccountState = {
  readonly sessions: readonly Session[];
  readonly passkeys: readonly Passkey[];
  /** Whether the address has a host name, which passkeys need. */
  readonly takesPasskeys: boolean;
};

export function accountView(call: PageCall, forms: AccountForms, state: AccountState): View {
  const { user, role, csrf } = call;
  const content = html`${pageHeader({ title: 'Your account' })}
${section({
  title: 'Who you are',
  content: definitionList([
    ['User name', user.userName],
    ['Name', user.displayName],
    ['Role', role, ROLES[role]],
  ]),
})}
${section({ title: 'Password', lead: 'Changing it signs you out everywhere else.', content: passwordForm(csrf, forms.password) })}
${section({ title: 'Passkeys', lead: PASSKEY_LEAD, content: passkeySection(call, forms.passkey, state) })}
${section({
  title: 'Where you are signed in',
  lead: 'A session ends after half an hour without a request, and after twelve hours in any case.',
  actions: [actionButton({ action: '/account/sign-out-everywhere', csrf, label: 'Sign out everywhere' })],
  content: sessionTable(call, state.sessions),
})}`;
  return { title: 'Your account', content };
}

const ROLES = {
  viewer: 'Sees everything, changes nothing.',
  operator: 'Sees everything, and acts on webhooks and deliveries.',
  administrator: 'May do everything.',
} as const;

const PASSKEY_LEAD =
  'Sign in with your fingerprint, face or the PIN of your device in place of the password. A passkey works at this address alone, so no other site can ask for it.';

function passwordForm(csrf: Html, state: FormState): Html {
  const hint = `${CHOSEN_PASSWORD_MIN_LENGTH} to ${CHOSEN_PASSWORD_MAX_LENGTH} characters of any kind, spaces too.`;
  const fields = [
    { name: 'currentPassword', label: 'Current password', autocomplete: 'current-password' },
    { name: 'password', label: 'New password', autocomplete: 'new-password', hint },
    { name: 'passwordAgain', label: 'The same again', autocomplete: 'new-password' },
  ];
  const labels = Object.fromEntries(fields.map(({ name, label }) => [name, label]));
  const content = html`${fields.map((field) => textField(state, { ...field, type: 'password', isRequired: true }))}`;
  const title = 'Your password is not changed';
  return form({ action: '/account/password', csrf, form: state, content, submit: 'Change password', labels, title });
}

function passkeySection({ csrf, now }: PageCall, state: FormState, { passkeys, takesPasskeys }: AccountState): Html {
  const list = table({
    caption: 'Your passkeys',
    columns: [
      { label: 'Name', kind: 'main' },
      { label: 'Added' },
      { label: 'Last used' },
      { label: 'Address' },
      { label: 'Actions', kind: 'actions' },
    ],
    rows: passkeys.map(({ id, name, createdAt, usedAt, host }) => [
      name,
      time(createdAt),
      relativeTime(usedAt, now),
      host,
      linkButton({ href: `/account/passkeys/${id}/remove`, label: 'Remove', longLabel: `Remove the passkey ${name}` }),
    ]),
    empty: html`<p class="quiet">You have none yet.</p>`,
  });
  return html`${list}${takesPasskeys ? passkeyForm(csrf, state) : NEEDS_HOST_NAME}`;
}

/** Shown by the script, since passkeys need JavaScript. */
function passkeyForm(csrf: Html, state: FormState): Html {
  const labels = { name: 'Name', ownPassword: 'Your password' };
  return html`<p class="quiet" data-passkey-excuse>Adding one takes a browser with JavaScript.</p><form method="post" action="/account/passkeys" class="form" novalidate data-passkey="register" data-options="/account/passkeys/options" hidden>${csrf}<input type="hidden" name="response" value="">${errorSummary(state, labels, 'The passkey is not added')}<p class="problem" data-passkey-problem role="alert" hidden></p>${textField(state, { name: 'name', label: 'Name', hint: 'To tell it from others: the device that keeps it, such as Laptop.', isRequired: true })}${textField(state, { name: 'ownPassword', label: 'Your password', type: 'password', autocomplete: 'current-password', isRequired: true })}<div class="buttons form-buttons">${submitButton({ label: 'Add a passkey', icon: 'key', kind: 'plain' })}</div></form>`;
}

const NEEDS_HOST_NAME = notice({
  tone: 'info',
  text: html`Passkeys belong to a host name, and this address is a number. Open the portal by a name, such as <code>localhost</code>, to add one.`,
});

function sessionTable({ session, csrf, now }: PageCall, sessions: readonly Session[]): Html {
  return table({
    caption: 'Your sessions',
    columns: [
      { label: 'Browser', kind: 'main' },
      { label: 'Signed in' },
      { label: 'Last request' },
      { label: 'From' },
      { label: 'Actions', kind: 'actions' },
    ],
    rows: sessions.map(({ id, userAgent, createdAt, seenAt, address, method }) => [
      html`${browserName(userAgent)} ${id === session.id ? badge('positive', 'this one') : null}`,
      html`${time(createdAt)}<span class="cell-hint">with a ${method}</span>`,
      relativeTime(seenAt, now),
      address,
      id === session.id
        ? null
        : actionButton({
            action: `/account/sessions/${id}/end`,
            csrf,
            label: 'Sign out',
            longLabel: `Sign out ${browserName(userAgent)} at ${address}`,
          }),
    ]),
    empty: html`<p class="quiet">None.</p>`,
  });
}
