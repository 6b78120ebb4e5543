/** The user's own account: password, passkeys and sessions. */
import type { Sessions } from '../../access/sessions.ts';
import { refuseBlocked } from '../../access/throttle.ts';
import { html } from '../../http/html.ts';
import { PASSKEY_REQUEST_BYTES, SIGN_IN_REQUEST_BYTES } from '../../kernel/limits/portal.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { originOf } from '../browser.ts';
import { type PageCall, redirectTo, type View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { confirmPage } from '../parts/confirm.ts';
import { type FormState, newForm, refusedForm } from '../parts/form-state.ts';
import { tooOften } from '../sign-in/pages.ts';
import { type AccountForms, accountView } from './view.ts';

const NOBODY_TYPED: AccountForms = { password: newForm(), passkey: newForm() };

export function accountPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, services } = dependencies;
  const { sessions, passkeys } = services;
  const placeOf = ({ request, visitor }: PageCall) => ({ origin: originOf(request), visitor });
  const confirm = throttledConfirm(dependencies);
  const show = async (call: PageCall, forms: Partial<AccountForms> = {}): Promise<View> =>
    accountView(
      call,
      { ...NOBODY_TYPED, ...forms },
      {
        sessions: await sessions.ofUser(call.user.id),
        passkeys: await passkeys.ofUser(call.user.id),
        takesPasskeys: passkeys.isPossible(placeOf(call).origin),
      },
    );
  const refused = (call: PageCall, refusal: Parameters<typeof refusedForm>[1]): FormState =>
    refusedForm(call.form, refusal);

  return [
    pages.view('/account', (call) => show(call)),
    pages.page({
      method: 'POST',
      path: '/account/password',
      role: 'viewer',
      maxBytes: SIGN_IN_REQUEST_BYTES,
      respond: async ({ session, form }) => {
        const read = (name: string): string => form.get(name) ?? '';
        const chosen = { password: read('password'), passwordAgain: read('passwordAgain') };
        const confirmed = await confirm(session.userId, read('currentPassword'), 'currentPassword');
        await sessions.changePassword(session, confirmed, chosen);
        return redirectTo('/account', 'Your password is changed. You are signed out everywhere else.');
      },
      invalid: (call, refusal) => show(call, { password: refused(call, refusal) }),
    }),
    pages.page({
      method: 'POST',
      path: '/account/passkeys/options',
      role: 'viewer',
      maxBytes: SIGN_IN_REQUEST_BYTES,
      // Everything that can be refused is checked before: a device keeps the passkey that it made, even if it is not added here.
      respond: async (call) => {
        await confirm(call.user.id, call.form.get('ownPassword') ?? '', 'ownPassword');
        const options = await passkeys.beginRegistration(call.user, placeOf(call), call.form.get('name') ?? '');
        return { reply: { status: 200, body: options } };
      },
      invalid: (call, refusal) => show(call, { passkey: refused(call, refusal) }),
    }),
    pages.page({
      method: 'POST',
      path: '/account/passkeys',
      role: 'viewer',
      maxBytes: PASSKEY_REQUEST_BYTES,
      respond: async (call) => {
        const { form, user } = call;
        // Somebody at an unattended browser must not be able to add a passkey.
        await confirm(user.id, form.get('ownPassword') ?? '', 'ownPassword');
        await passkeys.register(user.id, placeOf(call), form.get('name') ?? '', form.get('response') ?? '');
        return redirectTo('/account', 'The passkey is added. Next time you can sign in with it.');
      },
      invalid: (call, refusal) => show(call, { passkey: refused(call, refusal) }),
    }),
    pages.view('/account/passkeys/{id}/remove', async ({ user, params, csrf }) => {
      const passkey = (await passkeys.ofUser(user.id)).find(({ id }) => id === params.id);
      if (passkey === undefined) throw new Refusal('not_found', 'there is no such passkey');
      return confirmPage({
        title: `Remove the passkey ${passkey.name}?`,
        crumbs: [{ href: '/account', label: 'Your account' }],
        text: html`<p>It does not sign you in any more. This cannot be undone: the device has to make a new one.</p>`,
        ...{ csrf, action: `/account/passkeys/${passkey.id}/remove`, submit: 'Remove the passkey', cancel: '/account' },
      });
    }),
    pages.page({
      method: 'POST',
      path: '/account/passkeys/{id}/remove',
      role: 'viewer',
      respond: async ({ user, params }) => {
        await passkeys.remove(user.id, params.id ?? '');
        return redirectTo('/account', 'The passkey is removed. Take it away on your device, too.');
      },
    }),
  ];
}

/** Bounds guesses of the password from an unattended browser. */
function throttledConfirm({ throttle, clock, services: { sessions } }: PageDependencies): Sessions['confirm'] {
  return async (userId, password, field) => {
    const attempt = { network: 'account', clientId: userId };
    refuseBlocked(throttle.blockedForMs(attempt, clock()), tooOften);
    try {
      const confirmed = await sessions.confirm(userId, password, field);
      // It was a guess as any other if those beside it were wrong.
      refuseBlocked(throttle.blockedForMs(attempt, clock()), tooOften);
      return confirmed;
    } catch (error) {
      const isWrong = error instanceof Refusal && error.code === 'validation_failed';
      if (isWrong) refuseBlocked(throttle.countFailure(attempt, clock()), tooOften);
      throw error;
    }
  };
}
