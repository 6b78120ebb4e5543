/** Ending the user's own sessions: one, or all of them. */
import { redirectTo } from '../call.ts';
import { clearCookie, SESSION_COOKIE } from '../cookies.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';

export function sessionPages({ pages, services: { sessions } }: PageDependencies): PageRoute[] {
  return [
    pages.page({
      method: 'POST',
      path: '/account/sessions/{id}/end',
      role: 'viewer',
      respond: async ({ user, params }) => {
        await sessions.end(user.id, params.id ?? '');
        return redirectTo('/account', 'That session is over.');
      },
    }),
    pages.page({
      method: 'POST',
      path: '/account/sign-out-everywhere',
      role: 'viewer',
      respond: async ({ user, acting }) => {
        await sessions.endAll(user.id, acting);
        return { ...redirectTo('/sign-in'), cookies: [clearCookie(SESSION_COOKIE)] };
      },
    }),
  ];
}
