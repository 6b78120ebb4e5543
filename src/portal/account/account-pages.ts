/** The user's own account: password, passkeys, sessions and theme. */

import { CHOSEN_PASSWORD_MAX_LENGTH, CHOSEN_PASSWORD_MIN_LENGTH } from '../../access/limits.ts';
import type { Sessions } from '../../access/sessions.ts';
import { refuseBlocked } from '../../domain/throttle.ts';
import { type Passkey, SESSION_IDLE_MS, SESSION_MS, type Session, type User } from '../../domain/user.ts';
import { type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { addressFor, browserName, requestOrigin } from '../frame/browser.ts';
import { ownPath, type PageCall, redirectTo, type View } from '../frame/call.ts';
import { clearCookie, SESSION_COOKIE, setThemeCookie } from '../frame/cookies.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { signInPathOf } from '../frame/request-context.ts';
import { operatorName, portalName } from '../parts/brand.ts';
import { definitionList } from '../parts/details.ts';
import { type FormState, newForm, refusedForm, textField } from '../parts/fields.ts';
import { confirmPage, errorSummary, form } from '../parts/form.ts';
import { actionButton, linkButton, pageHeader, section, submitButton } from '../parts/header.ts';
import { PASSKEY_REQUEST_BYTES, SIGN_IN_REQUEST_BYTES, SMALL_FORM_BYTES } from '../parts/limits.ts';
import { table } from '../parts/list.ts';
import { badge, notice } from '../parts/mark.ts';
import { roleText } from '../parts/role-texts.ts';
import { lengthText, relativeTime, time } from '../parts/text.ts';
import { signInFact } from '../sign-in/sign-in-address.ts';
import { tooOften } from '../sign-in/sign-in-pages.ts';

const NOBODY_TYPED: AccountForms = { password: newForm(), passkey: newForm() };

export function accountPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services } = dependencies;
  const { sessions, passkeys } = services;
  const placeOf = ({ request, visitor }: PageCall) => ({ origin: requestOrigin(request), visitor });
  const confirm = throttledConfirm(dependencies);
  const show = async (call: PageCall, forms: Partial<AccountForms> = {}): Promise<View> =>
    accountView(
      call,
      { ...NOBODY_TYPED, ...forms },
      {
        sessions: await sessions.ofUser(accountOf(call).id),
        passkeys: await passkeys.ofUser(accountOf(call).id),
        hasPassword: (await services.users.get(accountOf(call).id)).passwordHash !== null,
        takesPasskeys: passkeys.isPossible(placeOf(call).origin),
        address: addressFor(call.request, dependencies.publicUrl()),
      },
    );
  const refused = (call: PageCall, refusal: Parameters<typeof refusedForm>[1]): FormState =>
    refusedForm(call.form, refusal);

  return [
    pages.view('/account', 'both', (call) => (call.user.id === null ? Promise.resolve(linkView(call)) : show(call))),
    pages.act('/account/password', 'both', 'viewer', {
      maxBytes: SIGN_IN_REQUEST_BYTES,
      respond: async (call) => {
        const { session, form } = call;
        const read = (name: string): string => form.get(name) ?? '';
        const chosen = { password: read('password'), passwordAgain: read('passwordAgain') };
        const confirmed = await confirm(accountOf(call).id, read('currentPassword'), 'currentPassword');
        await sessions.changePassword(session, confirmed, chosen);
        return redirectTo('/account', 'Your password is changed. You are signed out everywhere else.');
      },
      invalid: (call, refusal) => show(call, { password: refused(call, refusal) }),
    }),
    pages.act('/account/passkeys/options', 'both', 'viewer', {
      maxBytes: SIGN_IN_REQUEST_BYTES,
      // Everything that can be refused is checked before: a device keeps the passkey that it made, even if it is not added here.
      respond: async (call) => {
        await confirm(accountOf(call).id, call.form.get('ownPassword') ?? '', 'ownPassword');
        const place = { ...placeOf(call), portal: portalName(call.brand) };
        const options = await passkeys.beginRegistration(accountOf(call), place, call.form.get('name') ?? '');
        return { reply: { status: 200, body: options } };
      },
      invalid: (call, refusal) => show(call, { passkey: refused(call, refusal) }),
    }),
    pages.act('/account/passkeys', 'both', 'viewer', {
      maxBytes: PASSKEY_REQUEST_BYTES,
      respond: async (call) => {
        const { form } = call;
        const user = accountOf(call);
        // Someone at an unattended browser must not be able to add a passkey.
        await confirm(user.id, form.get('ownPassword') ?? '', 'ownPassword');
        await passkeys.register(user.id, placeOf(call), form.get('name') ?? '', form.get('response') ?? '');
        return redirectTo('/account', 'The passkey is added. Next time you can sign in with it.');
      },
      invalid: (call, refusal) => show(call, { passkey: refused(call, refusal) }),
    }),
    pages.view('/account/passkeys/{id}/remove', 'both', async (call) => {
      const { params, csrf } = call;
      const passkey = (await passkeys.ofUser(accountOf(call).id)).find(({ id }) => id === params.id);
      if (passkey === undefined) throw new Refusal('not_found', 'there is no such passkey');
      return confirmPage({
        title: `Remove the passkey ${passkey.name}?`,
        crumbs: [{ href: '/account', label: 'Your account' }],
        text: html`<p>It does not sign you in any more. This cannot be undone: the device has to make a new one.</p>`,
        csrf,
        action: `/account/passkeys/${passkey.id}/remove`,
        submit: 'Remove the passkey',
        cancel: '/account',
      });
    }),
    pages.act('/account/passkeys/{id}/remove', 'both', 'viewer', async (call) => {
      await passkeys.remove(accountOf(call).id, call.params.id ?? '');
      return redirectTo('/account', 'The passkey is removed. Delete it on your device too.');
    }),
  ];
}

/** The user's account. Throws 404 for a session that began with a portal link: it belongs to no user. */
function accountOf({ user: { id, userName, displayName } }: PageCall): Pick<User, 'id' | 'userName' | 'displayName'> {
  if (id === null) throw new Refusal('not_found', 'a portal link has no account');
  return { id, userName, displayName };
}

/** Shown in place of an account for a session that began with a portal link. */
function linkView({ role, session, brand, csrf, now, isFramed, opener }: PageCall): View {
  const { label, hint } = roleText(role, true);
  const provider = brand === null ? 'your provider' : operatorName(brand);
  const next =
    opener !== null ? null : isFramed ? 'Then load the page around it again.' : `Then open it again from ${provider}.`;
  const content = html`
    ${pageHeader({
      title: 'Your session',
      lead:
        opener === null && !isFramed
          ? `After signing out, only a new link from ${provider} opens this portal again.`
          : undefined,
    })}
    ${section({
      title: session.customerName,
      actions: [actionButton({ action: '/sign-out', csrf, label: 'Sign out', icon: 'leave' })],
      content: definitionList([
        opener === null
          ? ['You', 'Someone with a portal link', 'The audit log says the same, because a link has no name.']
          : ['You', opener.name],
        ['Role', label, hint],
        [
          'Opened',
          relativeTime(session.createdAt, now),
          opener === null ? `With a link from ${provider}, so without a password.` : undefined,
        ],
        ['Ends', html`${relativeTime(session.expiresAt, now)}, at ${time(session.expiresAt)}`, next ?? undefined],
        [
          'Time zone',
          html`<span data-zone>UTC</span>`,
          'Of the times on these pages. Usage is counted by days in UTC.',
        ],
      ]),
    })}
  `;
  return { title: 'Your session', content };
}

/** Bounds guesses of the password from an unattended browser. */
function throttledConfirm({ throttle, clock, services: { sessions } }: SharedPageDependencies): Sessions['confirm'] {
  return async (userId, password, field) => {
    const attempt = { network: `account ${userId}`, clientId: userId };
    refuseBlocked(await throttle.blockedForMs(attempt, clock()), tooOften);
    try {
      const confirmed = await sessions.confirm(userId, password, field);
      // A correct password beside too many wrong ones counts as a guess.
      refuseBlocked(await throttle.blockedForMs(attempt, clock()), tooOften);
      return confirmed;
    } catch (error) {
      const isWrong = error instanceof Refusal && error.code === 'validation_failed';
      if (isWrong) refuseBlocked(await throttle.countFailure(attempt, clock()), tooOften);
      throw error;
    }
  };
}

export function sessionPages({ pages, services: { sessions } }: SharedPageDependencies): PageRoute<'both'>[] {
  return [
    pages.act('/account/sessions/{id}/end', 'both', 'viewer', async (call) => {
      await sessions.end(accountOf(call).id, call.params.id ?? '');
      return redirectTo('/account', 'That session has ended.');
    }),
    pages.act('/account/sign-out-everywhere', 'both', 'viewer', async (call) => {
      await sessions.endAll(accountOf(call).id, call.acting);
      return { ...redirectTo(signInPathOf(call.session.customerId)), cookies: [clearCookie(SESSION_COOKIE)] };
    }),
  ];
}

export function themePages({ pages }: SharedPageDependencies): PageRoute<'anyone'>[] {
  return [
    pages.openPage({
      method: 'POST',
      path: '/theme',
      maxBytes: SMALL_FORM_BYTES,
      respond: async ({ form }) => {
        const theme = form.get('theme');
        const chosen = theme === 'light' || theme === 'dark' ? theme : 'system';
        return { ...redirectTo(ownPath(form.get('back'))), cookies: [setThemeCookie(chosen)] };
      },
    }),
  ];
}

type AccountForms = { readonly password: FormState; readonly passkey: FormState };
type AccountState = {
  readonly sessions: readonly Session[];
  readonly passkeys: readonly Passkey[];
  readonly hasPassword: boolean;
  /** Whether the address has a host name, which passkeys need. */
  readonly takesPasskeys: boolean;
  /** Of the service; null if it is unknown. */
  readonly address: string | null;
};

function accountView(call: PageCall, forms: AccountForms, state: AccountState): View {
  const { user, role, csrf, session } = call;
  const { label, hint } = roleText(role, session.customerId !== null);
  const content = html`
    ${pageHeader({ title: 'Your account' })}
    ${section({
      title: 'Profile',
      content: definitionList([
        ['User name', user.userName],
        ['Name', user.displayName],
        ['Role', label, hint],
        ...(session.customerId === null
          ? []
          : [['Company', session.customerName] as const, ...signInFact(session.customerId, state.address)]),
      ]),
    })}
    ${section({
      title: 'Password',
      ...(state.hasPassword && { lead: 'Changing it signs you out everywhere else.' }),
      content: state.hasPassword ? passwordForm(csrf, forms.password) : noPassword(call),
    })}
    ${section({ title: 'Passkeys', lead: PASSKEY_LEAD, content: passkeySection(call, forms.passkey, state) })}
    ${section({
      title: 'Sessions',
      lead: SESSION_LEAD,
      actions: [actionButton({ action: '/account/sign-out-everywhere', csrf, label: 'Sign out everywhere' })],
      content: sessionTable(call, state.sessions),
    })}
  `;
  return { title: 'Your account', content };
}

const SESSION_LEAD =
  `A session ends after ${lengthText(SESSION_IDLE_MS)} without a request, ` +
  `and after ${lengthText(SESSION_MS)} at the latest.`;

const PASSKEY_LEAD =
  'Sign in with your fingerprint, face or the PIN of your device in place of the password. A passkey works ' +
  'only at this address, so no other site can ask for it.';

function passwordForm(csrf: Html, state: FormState): Html {
  const hint = `${CHOSEN_PASSWORD_MIN_LENGTH} to ${CHOSEN_PASSWORD_MAX_LENGTH} characters of any kind, spaces too.`;
  const fields = [
    { name: 'currentPassword', label: 'Current password', autocomplete: 'current-password' },
    { name: 'password', label: 'New password', autocomplete: 'new-password', hint },
    { name: 'passwordAgain', label: 'Password again', autocomplete: 'new-password' },
  ];
  const labels = Object.fromEntries(fields.map(({ name, label }) => [name, label]));
  const content = html`${fields.map((field) => textField(state, { ...field, type: 'password', isRequired: true }))}`;
  const title = 'Your password is not changed';
  return form({ action: '/account/password', csrf, form: state, content, submit: 'Change password', labels, title });
}

function passkeySection(
  { csrf, now, may }: PageCall,
  state: FormState,
  { passkeys, takesPasskeys, hasPassword }: AccountState,
): Html {
  const needed = ` A passkey needs a password beside it${may('administrator') ? ': set one above' : ''}.`;
  const list = table({
    caption: 'Your passkeys',
    columns: [
      { label: 'Name', kind: 'main' },
      { label: 'Added', phone: 'named' },
      { label: 'Last used', phone: 'named' },
      { label: 'Address', phone: 'plain' },
      { label: 'Actions', kind: 'actions' },
    ],
    rows: passkeys.map(({ id, name, createdAt, usedAt, host }) => [
      name,
      time(createdAt),
      relativeTime(usedAt, now),
      host,
      linkButton({ href: `/account/passkeys/${id}/remove`, label: 'Remove', longLabel: `Remove the passkey ${name}` }),
    ]),
    empty: html`<p class="quiet">You have none yet.${hasPassword ? null : needed}</p>`,
  });
  const adding = !takesPasskeys ? NEEDS_HOST_NAME : hasPassword ? passkeyForm(csrf, state) : null;
  return html`${list}${adding}`;
}

/** Who has none has nothing to confirm a new one with, so an invitation sets it. */
function noPassword({ may, user, csrf }: PageCall): Html {
  const text = 'You have no password yet.';
  return may('administrator')
    ? html`
      <p>${text}</p>
      <div class="buttons">
        ${actionButton({ action: `/users/${user.id}/invite`, csrf, label: 'Set a password', icon: 'key', kind: 'primary' })}
      </div>
    `
    : html`<p>${text} Ask an administrator for an invitation, a link that sets one.</p>`;
}

/** Shown by the script, since passkeys need JavaScript. */
function passkeyForm(csrf: Html, state: FormState): Html {
  const labels = { name: 'Name', ownPassword: 'Your password' };
  return html`
    <p class="quiet" data-passkey-excuse>Adding a passkey requires JavaScript.</p>
    <form
      method="post"
      action="/account/passkeys"
      class="form"
      novalidate
      data-passkey="register"
      data-options="/account/passkeys/options"
      hidden
    >
      ${csrf}
      <input type="hidden" name="response" value="">
      ${errorSummary(state, labels, 'The passkey is not added')}
      <p class="problem" data-passkey-problem role="alert" hidden></p>
      ${textField(state, {
        name: 'name',
        label: 'Name',
        hint: 'To tell it from others: the device that keeps it, such as Laptop.',
        isRequired: true,
      })}
      ${textField(state, {
        name: 'ownPassword',
        label: 'Your password',
        type: 'password',
        autocomplete: 'current-password',
        isRequired: true,
      })}
      <div class="buttons form-buttons">${submitButton({ label: 'Add a passkey', icon: 'key', kind: 'plain' })}</div>
    </form>
  `;
}

const NEEDS_HOST_NAME = notice({
  tone: 'info',
  text: html`
    Passkeys are tied to a host name, but you opened this page by IP address. Open the portal by a name, such as
    <code>localhost</code>, to add one.
  `,
});

function sessionTable({ session, csrf, now }: PageCall, sessions: readonly Session[]): Html {
  return table({
    caption: 'Your sessions',
    columns: [
      { label: 'Browser', kind: 'main' },
      { label: 'Signed in', phone: 'named' },
      { label: 'Last request', phone: 'named' },
      { label: 'From', phone: 'named' },
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
