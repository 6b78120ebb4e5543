/** Signing in, with a password or a passkey, and out. */
import type { NewSession, Visitor } from '../../access/sessions.ts';
import type { PortalTheme } from '../../domain/portal-theme.ts';
import { type Attempt, refuseBlocked } from '../../domain/throttle.ts';
import type { User } from '../../domain/user.ts';
import { userNameKey } from '../../domain/user-name.ts';
import { type Html, html } from '../../http/html.ts';
import { networkOf } from '../../http/request.ts';
import type { SignInInvited } from '../../http/routes/invitations.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { addressFor, isTrustworthy, requestOrigin } from '../frame/browser.ts';
import { type OpenCall, ownPath, type Redirect, redirectTo, type View } from '../frame/call.ts';
import type { Flash, ReadCookie } from '../frame/cookie-values.ts';
import {
  clearCookie,
  clearedCustomerVisit,
  readCustomerVisit,
  SESSION_COOKIE,
  setCookie,
  setCustomerVisit,
  VISITED_COOKIE,
  VISITOR_COOKIE,
  writeFlash,
} from '../frame/cookies.ts';
import { PAGE_HEADERS } from '../frame/headers.ts';
import type { PageDependencies, PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { SESSION_ENDED_PATH, SIGN_IN_PATH, signInPathOf } from '../frame/request-context.ts';
import { brandMark } from '../parts/brand.ts';
import { type FormState, newForm, refusedForm, textField } from '../parts/fields.ts';
import { form } from '../parts/form.ts';
import { submitButton } from '../parts/header.ts';
import { PASSKEY_REQUEST_BYTES, SIGN_IN_REQUEST_BYTES, SMALL_FORM_BYTES } from '../parts/limits.ts';
import { icon, notice } from '../parts/mark.ts';
import { readHasCustomers } from '../record/owner.ts';

/** The form of the operator's users. A customer who asks for a page without a session comes here too. */
export function signInPages(dependencies: PageDependencies): PageRoute<'anyone'>[] {
  return signInForms(dependencies, { path: SIGN_IN_PATH, isForCustomers: false, customerIdOf: () => null });
}

type SignInForm = {
  readonly path: string;
  readonly isForCustomers: boolean;
  /** The customer whose users sign in; null: the operator's. */
  customerIdOf(call: OpenCall): string | null;
};

/** A form at `path`, for users of the operator or of one customer. Passkeys of others are refused like unknown ones. */
export function signInForms(
  dependencies: PageDependencies,
  { path, isForCustomers, customerIdOf }: SignInForm,
): PageRoute<'anyone'>[] {
  const { pages, services, publicUrl } = dependencies;
  const { sessions, passkeys } = services;
  const show = async (call: OpenCall, state: FormState): Promise<View> =>
    signInView(call, state, {
      path: pathOf(call),
      isForCustomers,
      isSecure: isTrustworthy(call.request, publicUrl()),
      takesPasskeys: passkeys.isPossible(requestOrigin(call.request)),
      ...(isForCustomers ? { look: call.brand, hasCustomers: true } : await readLook(dependencies)),
    });
  const pathOf = (call: OpenCall): string => signInPathOf(customerIdOf(call));
  const invalid = async (call: OpenCall, refusal: Refusal): Promise<View> =>
    show(call, refusedForm(call.form, refusal));
  const throttled = throttledBy(dependencies);
  const enter = async (call: OpenCall, begun: NewSession): Promise<Redirect> => {
    if (call.session !== null) await sessions.signOut(call.session);
    return { redirect: ownPath(call.form.get('next')), cookies: signedInCookies(begun, call.cookieOf) };
  };
  const open = (definition: Omit<Parameters<typeof pages.openPage>[0], 'isForCustomers'>): PageRoute<'anyone'> =>
    pages.openPage({ ...definition, isForCustomers });

  return [
    open({
      method: 'GET',
      path,
      respond: async (call) => {
        const next = ownPath(call.query.get('next'));
        return call.session === null ? await show(call, newForm({ next })) : redirectTo(next);
      },
    }),
    open({
      method: 'POST',
      path,
      maxBytes: SIGN_IN_REQUEST_BYTES,
      respond: async (call) => {
        const userName = call.form.get('userName') ?? '';
        const password = call.form.get('password') ?? '';
        const customerId = customerIdOf(call);
        const clientId = customerId === null ? userNameKey(userName) : `${customerId}/${userNameKey(userName)}`;
        const network = networkOf(call.remoteAddress);
        const begin = () => sessions.signIn({ customerId, userName, password }, visitorOf(call), network);
        return enter(call, await throttled({ network, clientId }, begin));
      },
      invalid,
    }),
    open({
      method: 'POST',
      path: `${path}/passkey/options`,
      maxBytes: SIGN_IN_REQUEST_BYTES,
      respond: async ({ request, visitor }) => ({
        reply: { status: 200, body: await passkeys.beginSignIn({ origin: requestOrigin(request), visitor }) },
      }),
    }),
    open({
      method: 'POST',
      path: `${path}/passkey`,
      maxBytes: PASSKEY_REQUEST_BYTES,
      // Not counted: nobody guesses a signature, and a count would lock out the passkeys of others behind the same address.
      respond: async (call) => {
        const visitor = visitorOf(call);
        const place = { origin: requestOrigin(call.request), visitor: call.visitor, address: visitor.address };
        const user = await passkeys.verify(place, call.form.get('response') ?? '');
        const isOwn = user !== null && user.customerId === customerIdOf(call);
        const begun = isOwn ? await sessions.begin(user, 'passkey', visitor) : null;
        if (begun === null) throw new Refusal('unauthorized', PASSKEY_REFUSED);
        return enter(call, begun);
      },
      invalid,
    }),
  ];
}

export function signOutPages({ pages, cookies, services: { sessions } }: SharedPageDependencies): PageRoute<'both'>[] {
  return [
    pages.act('/sign-out', 'both', 'viewer', {
      maxBytes: SMALL_FORM_BYTES,
      respond: async ({ request, session, opener, isFramed }) => {
        await sessions.signOut(session, opener?.userId);
        const { userId, customerId, returnUrl } = session;
        // An administrator of the operator leaves the portal of a customer, and stays signed in.
        if (opener !== null)
          return { ...redirectTo(`/customers/${customerId}`), cookies: [clearCookie(VISITED_COOKIE)] };
        const cleared = [clearCookie(SESSION_COOKIE)];
        if (customerId === null || userId !== null)
          return { ...redirectTo(signInPathOf(customerId)), cookies: cleared };
        // The customer's visit stays: a later page is not the operator's sign-in, but says that the session has ended.
        if (returnUrl === null || isFramed) return { ...redirectTo(SESSION_ENDED_PATH), cookies: cleared };
        const set = cookies.placed(cleared, request, false);
        const headers = { ...PAGE_HEADERS, Location: new URL(returnUrl).href, 'Set-Cookie': set };
        return { reply: { status: 303, headers, body: '' } };
      },
    }),
  ];
}

/**
 * Begins a session for the user who has just set a password with an invitation. Only for a form of this site: another site could send the
 * form with its own invitation, to sign a visitor in to an account of its choice. A browser that does not tell where the form comes from,
 * or keeps no cookie over this connection, must sign in separately.
 */
export function createSignInInvited({
  services: { sessions },
  publicUrl,
  cookies,
}: Pick<PageDependencies, 'services' | 'publicUrl' | 'cookies'>): SignInInvited {
  return async (user, { request, remoteAddress }) => {
    if (request.headers['sec-fetch-site'] !== 'same-origin' || !isTrustworthy(request, publicUrl())) return null;
    const cookieOf = cookies.of(request);
    const earlier = cookieOf(SESSION_COOKIE);
    const other = earlier === null ? null : await sessions.find(earlier, true);
    const begun = await sessions.begin(user, 'password', visitorOf({ request, remoteAddress }));
    if (begun === null) return null;
    if (other !== null) await sessions.signOut(other);
    const flash = writeFlash(begun.token, passwordSet(user, addressFor(request, publicUrl())));
    const set = cookies.placed([...signedInCookies(begun, cookieOf), flash], request, false);
    return { status: 303, headers: { ...PAGE_HEADERS, Location: '/', 'Set-Cookie': set }, body: '' };
  };
}

/** People of customers find their form only by its address. */
function passwordSet({ customerId }: Pick<User, 'customerId'>, address: string | null): Flash {
  const text = 'Your password is set, and you are signed in.';
  if (customerId === null || address === null) return { tone: 'positive', text };
  const href = signInPathOf(customerId);
  return { tone: 'positive', text: `${text} Your sign-in page from now on:`, link: { href, label: address + href } };
}

/**
 * Checks a password unless too many failed before, and counts it if it fails. The throttle is asked again afterwards, so that concurrent
 * tries gain nothing. A session that began in between is ended.
 */
function throttledBy({ throttle, clock, services: { sessions } }: PageDependencies) {
  return async (attempt: Attempt, signIn: () => Promise<NewSession | null>): Promise<NewSession> => {
    refuseBlocked(await throttle.blockedForMs(attempt, clock()), tooOften);
    const begun = await signIn();
    if (begun === null) {
      refuseBlocked(await throttle.countFailure(attempt, clock()), tooOften);
      throw new Refusal('unauthorized', PASSWORD_REFUSED);
    }
    const waitMs = await throttle.blockedForMs(attempt, clock());
    if (waitMs !== null) await sessions.signOut(begun.session);
    refuseBlocked(waitMs, tooOften);
    return begun;
  };
}

// The same message whatever is wrong.
const PASSWORD_REFUSED = 'the user name or password is wrong, or the account may not sign in';
const PASSKEY_REFUSED = 'this passkey is not known here or was not shown in time, or its account may not sign in';

/** The browser remembers whose form its user came from. */
function signedInCookies({ token, session }: NewSession, cookieOf: ReadCookie): string[] {
  const { customerId } = session;
  const visit =
    customerId === null
      ? readCustomerVisit(cookieOf) === null
        ? []
        : [clearedCustomerVisit()]
      : [setCustomerVisit({ by: 'user', customerId })];
  return [setCookie(SESSION_COOKIE, token), clearCookie(VISITOR_COOKIE), ...visit];
}

export function visitorOf({ request, remoteAddress }: Pick<OpenCall, 'request' | 'remoteAddress'>): Visitor {
  return { address: remoteAddress, userAgent: request.headers['user-agent'] ?? '' };
}

export function tooOften(seconds: number): string {
  return `that was tried too often: try again in ${seconds} seconds`;
}

type Look = {
  /** Null unless the operator has a name or a logo. */
  readonly look: PortalTheme | null;
  readonly hasCustomers: boolean;
};

/** The form is shown while the database is away. */
async function readLook({ store }: PageDependencies): Promise<Look> {
  const reading = Promise.all([store.settings.portalTheme(), readHasCustomers(store)]);
  const [look, hasCustomers] = await reading.catch(() => [null, false] as const);
  const isNamed = look !== null && (look.name !== null || look.logo !== null);
  return { look: isNamed ? look : null, hasCustomers };
}

type Circumstances = Look & {
  readonly path: string;
  readonly isForCustomers: boolean;
  /** Whether the browser keeps the cookie. */
  readonly isSecure: boolean;
  /** Whether the address has a host name, which passkeys need. */
  readonly takesPasskeys: boolean;
};

function signInView(call: OpenCall, state: FormState, circumstances: Circumstances): View {
  const { path, isForCustomers, isSecure, takesPasskeys, look } = circumstances;
  const shown = withOtherForms(state, circumstances);
  const wasSignedIn = call.cookieOf(SESSION_COOKIE) !== null && state.problems.length === 0;
  const content = html`
    <div class="sign-in">
      <span class="brand">${look === null ? html`${icon('gate')}<span>Sallyport</span>` : brandMark(look)}</span>
      <h1>Sign in</h1>
      ${wasSignedIn ? notice({ tone: 'info', text: 'Your session has expired. Sign in again to continue.' }) : null}
      ${isSecure ? passwordForm(call, shown, circumstances) : isForCustomers ? NEEDS_HTTPS_HERE : NEEDS_HTTPS}
      ${isSecure && takesPasskeys ? passkeyForm(call, state, path) : null}
    </div>
    ${otherWay(call, circumstances)}
  `;
  return { title: 'Sign in', content, brand: look };
}

/** A customer's user may be at the form of the operator. It is said whatever was typed, so that it tells of no account. */
function withOtherForms(state: FormState, { isForCustomers, look, hasCustomers }: Circumstances): FormState {
  if (isForCustomers || !hasCustomers || state.problems.length === 0) return state;
  const of = look?.name == null ? '' : ` of ${look.name}`;
  const way = 'the link in your invitation leads there, even after it was used';
  const problem = `customers${of} sign in on their own page; ${way}`;
  return { ...state, problems: [...state.problems, { field: '', problem }] };
}

/** Most people of customers have no password: the operator's product opens the portal for them. */
function otherWay({ cookieOf }: OpenCall, { isForCustomers, look, hasCustomers }: Circumstances): Html | null {
  if (!hasCustomers) return null;
  const visit = isForCustomers ? null : readCustomerVisit(cookieOf);
  const operator = look?.name ?? null;
  const question = isForCustomers
    ? 'No account of your own here?'
    : `Are you a customer${operator === null ? '' : ` of ${operator}`}?`;
  const way =
    visit === null
      ? html`<a href="${SESSION_ENDED_PATH}">How to open your portal</a>`
      : html`<a href="${signInPathOf(visit.customerId)}">Sign in on the page of your company</a>`;
  return html`<p class="other-way">${question} ${way}</p>`;
}

function passwordForm(call: OpenCall, state: FormState, { path, isForCustomers }: Circumstances): Html {
  return form({
    action: path,
    csrf: call.csrf,
    form: state,
    submit: 'Sign in',
    title: 'Sign-in failed',
    content: html`
      <input type="hidden" name="next" value="${state.value('next')}">
      ${textField(state, { name: 'userName', label: 'User name', isRequired: true, autocomplete: 'username' })}
      ${textField(state, {
        name: 'password',
        label: 'Password',
        type: 'password',
        isRequired: true,
        autocomplete: 'current-password',
      })}
      <p class="hint">Forgotten? An administrator${isForCustomers ? ' of your company' : ''} can invite you again.</p>
    `,
  });
}

/** Shown by the script, since passkeys need JavaScript. */
function passkeyForm(call: OpenCall, state: FormState, path: string): Html {
  return html`
    <form
      method="post"
      action="${path}/passkey"
      class="form passkey-form"
      data-passkey="sign-in"
      data-options="${path}/passkey/options"
      hidden
    >
      ${call.csrf}
      <input type="hidden" name="next" value="${state.value('next')}">
      <input type="hidden" name="response" value="">
      <p class="or"><span>or</span></p>
      <p class="problem" data-passkey-problem role="alert" hidden></p>
      <div class="buttons form-buttons">
        ${submitButton({ label: 'Sign in with a passkey', kind: 'plain', icon: 'key' })}
      </div>
    </form>
  `;
}

const NEEDS_HTTPS = notice({
  tone: 'caution',
  title: 'Signing in needs HTTPS',
  text: html`
    <p>
      This page came over plain HTTP, where anyone on the way can read a password, so browsers do not keep the cookie
      that signing in needs. Open it by <code>https://</code>: with a proxy in front that does TLS, or with
      <code>SALLYPORT_TLS_CERT_FILE</code> and <code>SALLYPORT_TLS_KEY_FILE</code>. On the machine itself
      <code>http://localhost</code> will do.
    </p>
  `,
});

/** Settings of the service are no matter of its customers. */
const NEEDS_HTTPS_HERE = notice({
  tone: 'caution',
  title: 'Signing in needs HTTPS',
  text: 'This page came over plain HTTP, where anyone on the way can read a password. Open it by https://.',
});
