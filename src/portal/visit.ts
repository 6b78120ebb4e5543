/** A request as it comes to a page: who sends it, which secret its forms are bound to, and how the browser wants to be answered. */
import type { IncomingMessage } from 'node:http';
import type { SignedIn } from '../access/session.ts';
import { actingInPortal } from '../access/sessions.ts';
import type { Call } from '../http/route.ts';
import { forgeryField, mayAct, type OpenCall, ownPath, type PageCall, type Redirect } from './call.ts';
import { readCookie, THEME_COOKIE } from './cookies.ts';
import { formToken } from './forgery.ts';
import type { Surroundings } from './layout.ts';

/** What is known of a request before its page is asked. `cookie` is the secret that its forms are bound to. */
export type Visit = Surroundings & { readonly cookie: string; readonly isNew: boolean; readonly isPartial: boolean };

/** 32 bytes in Base64url. Whatever else a browser brings is not kept in memory, nor sent back. */
export const VISIT_COOKIE_VALUE: RegExp = /^[A-Za-z0-9_-]{43}$/;

export function visitOf(request: IncomingMessage, session: SignedIn | null, cookie: string, isNew: boolean): Visit {
  const theme = readCookie(request, THEME_COOKIE);
  return {
    session,
    cookie,
    isNew,
    csrf: forgeryField(formToken(cookie)),
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    path: request.url?.split('?', 1)[0] ?? '/',
    url: request.url ?? '/',
    isPartial: request.headers['hx-request'] === 'true' && request.headers['hx-request-type'] !== 'full',
  };
}

export function openCallOf(call: Call, { cookie, session, csrf, theme, url, isPartial }: Visit, now: number): OpenCall {
  const { request, params, query, body, remoteAddress, signal } = call;
  const form = body instanceof URLSearchParams ? body : new URLSearchParams();
  const asked = { request, params, query, form, url, isPartial, now, remoteAddress, signal };
  return { ...asked, csrf, theme, visitor: cookie, session };
}

export function pageCallOf(call: OpenCall, session: SignedIn): PageCall {
  const { userId, userName, displayName, role } = session;
  const user = { id: userId, userName, displayName };
  return { ...call, session, user, role, acting: actingInPortal(session), may: (takes) => mayAct(role, takes) };
}

/** Back to the page afterwards; what was posted is not sent again by itself. */
export function signInFirst(request: IncomingMessage, { url, isPartial }: Visit): Redirect {
  if (request.method === 'POST') return { redirect: '/sign-in' };
  const current = String(request.headers['hx-current-url'] ?? '');
  const seen = isPartial && URL.canParse(current) ? new URL(current) : null;
  const next = ownPath(seen === null ? url : seen.pathname + seen.search);
  return { redirect: next === '/' ? '/sign-in' : `/sign-in?${new URLSearchParams({ next })}` };
}

/** A browser's address line; programs ask for JSON, or do not say. Paths of the API are answered as the API answers. */
export function wantsPage({ method, url = '', headers }: IncomingMessage): boolean {
  return method === 'GET' && !url.startsWith('/services/') && headers.accept?.includes('text/html') === true;
}
