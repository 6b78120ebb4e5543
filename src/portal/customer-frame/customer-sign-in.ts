/** How users of customers get in: a form a customer, and the page that follows a session without a way back (contract §8.11). */
import { isUuidV7 } from '../../kernel/ids.ts';
import type { OpenCall } from '../frame/call.ts';
import { readCustomerVisit, readRenewal, SESSION_COOKIE, setRenewal } from '../frame/cookies.ts';
import { currentSession } from '../frame/current-session.ts';
import { PAGE_HEADERS } from '../frame/headers.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { SESSION_ENDED_PATH, SIGN_IN_PATH } from '../frame/request-context.ts';
import { signInForms } from '../sign-in/sign-in-pages.ts';
import { keepsCookies, type Why, wayInPage } from './way-in.ts';

/** Replaces every id that no customer can have, so that the form tells nothing about ids. */
const UNKNOWN = 'unknown';

export function customerSignInPages(dependencies: PageDependencies): PageRoute<'anyone'>[] {
  return [
    ...signInForms(dependencies, {
      path: `${SIGN_IN_PATH}/{customerId}`,
      isForCustomers: true,
      customerIdOf: ({ params }) => {
        const id = params.customerId ?? '';
        return isUuidV7(id) ? id : UNKNOWN;
      },
    }),
    sessionEndedPage(dependencies),
  ];
}

/** The way in: after a session, and for a browser that never had one. */
function sessionEndedPage({ pages, cookies, config, services: { sessions } }: PageDependencies): PageRoute<'anyone'> {
  return pages.openPage({
    method: 'GET',
    path: SESSION_ENDED_PATH,
    isForCustomers: true,
    isFramable: true,
    respond: async (call) => {
      const { request, cookieOf, isFramed } = call;
      // A page that frames may show has no session, so it looks for one.
      const hasEnded = (await currentSession(sessions, cookieOf, true)) === null;
      const renewal = isFramed || !hasEnded ? null : readRenewal(cookieOf);
      const token = cookieOf(SESSION_COOKIE);
      // Once: a page that sends the browser back without a new link must not send it round and round.
      if (renewal !== null && token !== null && !renewal.isUsed) {
        const { href } = renewal.url;
        const set = cookies.placed([setRenewal(token, href, true)], request, false);
        return { reply: { status: 303, headers: { ...PAGE_HEADERS, Location: href, 'Set-Cookie': set }, body: '' } };
      }
      const why = reasonOf(call);
      const content = wayInPage(call, why, config.portalFrameAncestors);
      return { title: why.title, content, partial: content };
    },
  });
}

function reasonOf(call: OpenCall): Why {
  if (!keepsCookies(call)) {
    return {
      title: 'This browser cannot show the portal here',
      text:
        'Its session needs a cookie, and this browser keeps none for a page inside another one. Open the portal in a ' +
        'window of its own, or use a newer browser.',
      isFinal: true,
    };
  }
  const isNew = !call.isFramed && readCustomerVisit(call.cookieOf) === null;
  // Signing out deletes the cookie of the session; a session that expires leaves it.
  const hasExpired = call.cookieOf(SESSION_COOKIE) !== null;
  return {
    title: isNew ? 'How to open this portal' : 'Your session has ended',
    text: !isNew && hasExpired ? 'For your safety, a session ends after a while.' : null,
    isAgain: !isNew,
  };
}
