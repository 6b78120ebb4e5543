/** Signing in, with a password or a passkey, and out. */
import type { NewSession, Visitor } from '../../access/sessions.ts';
import { type Attempt, createThrottle, refuseBlocked } from '../../access/throttle.ts';
import { userNameKey } from '../../access/user-name.ts';
import { networkOf } from '../../http/request.ts';
import {
  CHALLENGES_MAX,
  PASSKEY_REQUEST_BYTES,
  SIGN_IN_REQUEST_BYTES,
  SMALL_FORM_BYTES,
} from '../../kernel/limits/portal.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { isTrustworthy, originOf } from '../browser.ts';
import { type OpenCall, ownPath, type Redirect, redirectTo, type View } from '../call.ts';
import { clearCookie, SESSION_COOKIE, setCookie, VISITOR_COOKIE } from '../cookies.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { type FormState, newForm, refusedForm } from '../parts/form-state.ts';
import { signInView } from './view.ts';

export function signInPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, services, publicUrl } = dependencies;
  const { sessions, passkeys } = services;
  const show = (call: OpenCall, state: FormState): View =>
    signInView(call, state, {
      isSecure: isTrustworthy(call.request, publicUrl()),
      takesPasskeys: passkeys.isPossible(originOf(call.request)),
    });
  const invalid = async (call: OpenCall, refusal: Refusal): Promise<View> =>
    show(call, refusedForm(call.form, refusal));
  const throttled = throttledBy(dependencies);
  /** Each challenge counts like a failure: many of them would push out the challenges of others. */
  const questions = createThrottle(CHALLENGES_MAX);
  const enter = async (call: OpenCall, who: string, prove: Proof, refused: string): Promise<Redirect> => {
    const begun = await throttled({ network: networkOf(call.remoteAddress), clientId: who }, prove, refused);
    if (call.session !== null) await sessions.end(call.session.userId, call.session.id);
    return signedIn(begun, ownPath(call.form.get('next')));
  };

  return [
    pages.openPage({
      method: 'GET',
      path: '/sign-in',
      respond: async (call) => {
        const next = ownPath(call.query.get('next'));
        return call.session === null ? show(call, newForm({ next })) : redirectTo(next);
      },
    }),
    pages.openPage({
      method: 'POST',
      path: '/sign-in',
      maxBytes: SIGN_IN_REQUEST_BYTES,
      respond: (call) => {
        const userName = call.form.get('userName') ?? '';
        const password = call.form.get('password') ?? '';
        return enter(
          call,
          userNameKey(userName),
          () => sessions.signIn({ userName, password }, visitorOf(call)),
          PASSWORD_REFUSED,
        );
      },
      invalid,
    }),
    pages.openPage({
      method: 'POST',
      path: '/sign-in/passkey/options',
      maxBytes: SIGN_IN_REQUEST_BYTES,
      respond: async ({ request, visitor, remoteAddress, now }) => {
        refuseBlocked(questions.countFailure({ network: networkOf(remoteAddress), clientId: visitor }, now), tooOften);
        return { reply: { status: 200, body: await passkeys.beginSignIn({ origin: originOf(request), visitor }) } };
      },
    }),
    pages.openPage({
      method: 'POST',
      path: '/sign-in/passkey',
      maxBytes: PASSKEY_REQUEST_BYTES,
      respond: (call) => {
        const place = { origin: originOf(call.request), visitor: call.visitor };
        const prove: Proof = async () => {
          const visitor = visitorOf(call);
          const user = await passkeys.verify({ ...place, address: visitor.address }, call.form.get('response') ?? '');
          return user === null ? null : sessions.begin(user, 'passkey', visitor);
        };
        return enter(call, 'a passkey', prove, PASSKEY_REFUSED);
      },
      invalid,
    }),
    pages.page({
      method: 'POST',
      path: '/sign-out',
      role: 'viewer',
      maxBytes: SMALL_FORM_BYTES,
      respond: async ({ session }) => {
        await sessions.end(session.userId, session.id);
        return { ...redirectTo('/sign-in'), cookies: [clearCookie(SESSION_COOKIE)] };
      },
    }),
  ];
}

/** Null for an invalid proof. */
type Proof = () => Promise<NewSession | null>;

/**
 * Checks a proof unless too many failed before, and counts it if it fails. The throttle is asked again afterwards, so that concurrent
 * tries gain nothing. A session that began meanwhile is ended.
 */
function throttledBy({ throttle, clock, services: { sessions } }: PageDependencies) {
  return async (attempt: Attempt, prove: Proof, refused: string): Promise<NewSession> => {
    refuseBlocked(throttle.blockedForMs(attempt, clock()), tooOften);
    const begun = await prove();
    if (begun === null) {
      refuseBlocked(throttle.countFailure(attempt, clock()), tooOften);
      throw new Refusal('unauthorized', refused);
    }
    const waitMs = throttle.blockedForMs(attempt, clock());
    if (waitMs !== null) await sessions.end(begun.session.userId, begun.session.id);
    refuseBlocked(waitMs, tooOften);
    return begun;
  };
}

// Each the same for whatever is wrong.
const PASSWORD_REFUSED = 'the user name or password is wrong, or the account may not sign in';
const PASSKEY_REFUSED = 'this passkey is not known here or was not shown in time, or its account may not sign in';

/** Redirects into the portal with a new cookie. */
function signedIn({ token }: NewSession, next: string): Redirect {
  return { redirect: next, cookies: [setCookie(SESSION_COOKIE, token), clearCookie(VISITOR_COOKIE)] };
}

function visitorOf({ request, remoteAddress }: OpenCall): Visitor {
  return { address: remoteAddress, userAgent: request.headers['user-agent'] ?? '' };
}

export function tooOften(seconds: number): string {
  return `that was tried too often: try again in ${seconds} seconds`;
}
