/** The sign-in page. */
import { type Html, html } from '../../http/html.ts';
import type { OpenCall, View } from '../call.ts';
import { readCookie, SESSION_COOKIE } from '../cookies.ts';
import { submitButton } from '../parts/button.ts';
import { textField } from '../parts/fields.ts';
import { form } from '../parts/form.ts';
import type { FormState } from '../parts/form-state.ts';
import { icon } from '../parts/icon.ts';
import { notice } from '../parts/notice.ts';

type Circumstances = {
  /** Whether the browser keeps the cookie. */
  readonly isSecure: boolean;
  /** Whether the address has a host name, which passkeys need. */
  readonly takesPasskeys: boolean;
};

export function signInView(call: OpenCall, state: FormState, { isSecure, takesPasskeys }: Circumstances): View {
  const wasSignedIn = readCookie(call.request, SESSION_COOKIE) !== null && state.problems.length === 0;
  const content = html`<div class="sign-in"><span class="brand">${icon('gate')}<span>Sallyport</span></span>
<h1>Sign in</h1>
${wasSignedIn ? notice({ tone: 'info', text: 'Your session is over. Sign in again to go on.' }) : null}
${isSecure ? passwordForm(call, state) : NEEDS_HTTPS}
${isSecure && takesPasskeys ? passkeyForm(call, state) : null}
</div>`;
  return { title: 'Sign in', content };
}

function passwordForm(call: OpenCall, state: FormState): Html {
  return form({
    action: '/sign-in',
    csrf: call.csrf,
    form: state,
    submit: 'Sign in',
    title: 'You are not signed in',
    content: html`<input type="hidden" name="next" value="${state.value('next')}">
${textField(state, { name: 'userName', label: 'User name', isRequired: true, autocomplete: 'username' })}
${textField(state, { name: 'password', label: 'Password', type: 'password', isRequired: true, autocomplete: 'current-password' })}`,
  });
}

/** Shown by the script, since passkeys need JavaScript. */
function passkeyForm(call: OpenCall, state: FormState): Html {
  return html`<form method="post" action="/sign-in/passkey" class="form passkey-form" data-passkey="sign-in" data-options="/sign-in/passkey/options" hidden>${call.csrf}<input type="hidden" name="next" value="${state.value('next')}"><input type="hidden" name="response" value=""><p class="or"><span>or</span></p><p class="problem" data-passkey-problem role="alert" hidden></p><div class="buttons form-buttons">${submitButton({ label: 'Sign in with a passkey', kind: 'plain', icon: 'key' })}</div></form>`;
}

const NEEDS_HTTPS = notice({
  tone: 'caution',
  title: 'Signing in needs HTTPS',
  text: html`<p>This page came over plain HTTP, where anybody on the way can read a password, so browsers do not keep the cookie that signing in needs. Open it by <code>https://</code>: with a proxy in front that does TLS, or with <code>SALLYPORT_TLS_CERT_FILE</code> and <code>SALLYPORT_TLS_KEY_FILE</code>. On the machine itself <code>http://localhost</code> will do.</p>`,
});
