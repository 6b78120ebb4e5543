/** Opens portal links (contract §8): the first visitor with the link gets a session in the customer's portal. */

import type { IncomingHttpHeaders } from 'node:http';
import { refuseBlocked } from '../../access/throttle.ts';
import { PORTAL_LINKS_PATH } from '../../customers/portal-links.ts';
import { networkOf } from '../../http/request.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { clearCookie, SESSION_COOKIE, setCookie, VISITOR_COOKIE } from '../cookies.ts';
import type { PageDependencies, PageRoute } from '../page.ts';
import { tooOften, visitorOf } from '../sign-in.ts';

export function portalLinkPages({ pages, services, throttle, clock }: PageDependencies): PageRoute[] {
  return [
    pages.openPage({
      method: 'GET',
      path: `${PORTAL_LINKS_PATH}/{token}`,
      respond: async (call) => {
        const { request, params, remoteAddress } = call;
        const token = params.token ?? '';
        if (request.method === 'HEAD' || isAhead(request.headers))
          throw new Refusal('not_found', 'a portal link is opened by a visit');
        const attempt = { network: networkOf(remoteAddress), clientId: 'a portal link' };
        refuseBlocked(await throttle.blockedForMs(attempt, clock()), tooOften);
        const begun = await services.portalLinks.open(token, visitorOf(call));
        if (begun === null) {
          refuseBlocked(await throttle.countFailure(attempt, clock()), tooOften);
          throw new Refusal('not_found', 'this link cannot be used: it was opened before, or it has expired');
        }
        const cookies = [setCookie(SESSION_COOKIE, begun.token), clearCookie(VISITOR_COOKIE)];
        return { redirect: '/', cookies };
      },
    }),
  ];
}

/** Browsers fetch links ahead, which must not use them up. Older ones say so in other headers. */
function isAhead(headers: IncomingHttpHeaders): boolean {
  return ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /prefetch|preview/.test(String(headers[name] ?? '')),
  );
}
