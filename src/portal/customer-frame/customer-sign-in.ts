/** How users of customers get in: a form a customer, and the page that follows a session without a way back (contract §8). */
import { html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import { clearCookie, FRAME_COOKIE, RENEWAL_COOKIE, readCustomerVisit, readRenewal } from '../frame/cookies.ts';
import { currentSession } from '../frame/current-session.ts';
import { PAGE_HEADERS } from '../frame/headers.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { SESSION_ENDED_PATH, SIGN_IN_PATH } from '../frame/request-context.ts';
import { brandMark } from '../parts/brand.ts';
import { linkButton } from '../parts/header.ts';
import { signInForms } from '../sign-in/sign-in-pages.ts';

/** Replaces every id that no customer can have, so that the form tells nothing about ids. */
const UNKNOWN = 'unknown';

export function customerSignInPages(dependencies: PageDependencies): PageRoute<'anyone'>[] {
  return [
    ...signInForms(dependencies, {
      path: `${SIGN_IN_PATH}/{customerId}`,
      customerIdOf: ({ params }) => {
        const id = params.customerId ?? '';
        return isUuidV7(id) ? id : UNKNOWN;
      },
    }),
    sessionEndedPage(dependencies),
  ];
}

/** The script tells the page around a frame that the session has ended. */
function sessionEndedPage({ pages, cookies, services: { sessions } }: PageDependencies): PageRoute<'anyone'> {
  return pages.openPage({
    method: 'GET',
    path: SESSION_ENDED_PATH,
    isForCustomers: true,
    isFramable: true,
    respond: async ({ request, cookieOf, brand, isFramed }) => {
      // A page that frames may show has no session, so it looks for one.
      const hasEnded = (await currentSession(sessions, cookieOf, true)) === null;
      const renewal = isFramed || !hasEnded ? null : readRenewal(cookieOf);
      // Once: a page that sends the browser back without a new link must not send it round and round.
      if (renewal !== null) {
        const set = cookies.placed([clearCookie(RENEWAL_COOKIE)], request, false);
        const headers = { ...PAGE_HEADERS, Location: renewal.href, 'Set-Cookie': set };
        return { reply: { status: 303, headers, body: '' } };
      }
      const visit = readCustomerVisit(cookieOf);
      // The link has set it, and it outlives the session.
      const keepsCookies = !isFramed || cookieOf(FRAME_COOKIE) !== null;
      const text = !keepsCookies
        ? 'Its session needs a cookie, and this browser keeps none for a page inside another one. Open the portal ' +
          'in a window of its own, or use a newer browser.'
        : isFramed
          ? 'Reload the page around this one to continue.'
          : 'Open this portal again from where you came from.';
      const form =
        isFramed || visit === null
          ? null
          : html`
            <p class="quiet">Do you have an account of your own here?</p>
            <p>${linkButton({ href: `${SIGN_IN_PATH}/${visit.customerId}`, label: 'Sign in' })}</p>
          `;
      const title = keepsCookies ? 'Your session has ended' : 'This browser cannot show the portal here';
      const content = html`
        <div class="sign-in" data-session-ended>
          ${isFramed || brand === null ? null : html`<span class="brand">${brandMark(brand)}</span>`}
          <h1>${title}</h1>
          <p>${text}</p>
          ${form}
        </div>
      `;
      return { title, content, partial: content };
    },
  });
}
