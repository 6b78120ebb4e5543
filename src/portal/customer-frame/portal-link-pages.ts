/** Opens portal links (contract §8.10): the first visitor with the link gets a session in the customer's portal. */
import type { NewSession, Sessions } from '../../access/sessions.ts';
import { type OpenedLink, PORTAL_LINKS_PATH } from '../../customers/portal-links.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { isVisit } from '../frame/browser.ts';
import type { OpenCall, View } from '../frame/call.ts';
import {
  clearCookie,
  FRAME_COOKIE,
  RENEWAL_COOKIE,
  SESSION_COOKIE,
  setCookie,
  setCustomerVisit,
  setRenewal,
  VISITOR_COOKIE,
} from '../frame/cookies.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { visitorOf } from '../sign-in/sign-in-pages.ts';
import { wayInPage } from './way-in.ts';

export function portalLinkPages({ pages, services, config }: PageDependencies): PageRoute<'anyone'>[] {
  const hosts = config.portalFrameAncestors;
  return [
    pages.openPage({
      method: 'GET',
      path: `${PORTAL_LINKS_PATH}/{token}`,
      isForCustomers: true,
      // A link may be opened in a frame, and so may the page that says why it cannot be used.
      isFramable: true,
      respond: async (call) => {
        const { request, params, isFramed } = call;
        const token = params.token ?? '';
        if (!isVisit(request)) throw new Refusal('not_found', 'a portal link is opened by a visit');
        // Tries are not counted: nobody guesses 256 random bits, and a count would lock out the links of others behind the same address.
        const begun = await services.portalLinks.open(token, visitorOf(call));
        if (begun === null) return unusableView(call, await services.portalLinks.renewUrlOf(token), hosts);
        // A frame has cookies of its own. Elsewhere the cookie of an operator's session is overwritten, and nobody could end that session.
        if (!isFramed) await endOperatorsSession(services.sessions, call.cookieOf);
        const cookies = [
          setCookie(SESSION_COOKIE, begun.token),
          clearCookie(VISITOR_COOKIE),
          ...(isFramed ? [setCookie(FRAME_COOKIE, '1')] : [visitOf(begun), renewalOf(begun)]),
        ];
        return { redirect: '/', cookies };
      },
    }),
  ];
}

async function endOperatorsSession(sessions: Sessions, cookieOf: OpenCall['cookieOf']): Promise<void> {
  const token = cookieOf(SESSION_COOKIE);
  const earlier = token === null ? null : await sessions.find(token, true);
  if (earlier !== null && earlier.customerId === null) await sessions.signOut(earlier);
}

function visitOf({ session: { customerId } }: NewSession): string {
  return setCustomerVisit({ by: 'link', customerId: customerId ?? '' });
}

/** A frame is renewed by the page around it. */
function renewalOf({ token, renewUrl }: OpenedLink): string {
  return renewUrl === null ? clearCookie(RENEWAL_COOKIE) : setRenewal(token, renewUrl);
}

/** The same for every reason, with the way to a new link if this one was a link. */
function unusableView(call: OpenCall, renewUrl: string | null, hosts: readonly string[]): View {
  const title = call.isFramed ? 'This part could not be opened' : 'This link cannot be used';
  const text = 'Each link works only once and for a short time.';
  return { title, content: wayInPage(call, { title, text, isOfLink: true, renewUrl }, hosts), status: 404 };
}
