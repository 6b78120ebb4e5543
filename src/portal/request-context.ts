/** The context of a request to a page: who sends it, the secret that its forms are bound to, and whether a part of the page is enough. */
import type { IncomingMessage } from 'node:http';
import { actingInPortal } from '../access/sessions.ts';
import type { SignedIn } from '../access/user.ts';
import type { Call } from '../http/route.ts';
import { forgeryField, mayAct, type OpenCall, ownPath, type PageCall, type Redirect } from './call.ts';
import { readCookie, THEME_COOKIE } from './cookies.ts';
import { formToken } from './forgery.ts';
import type { Surroundings } from './layout.ts';

/** What is known before the page answers. `cookie` is the secret that its forms are bound to. */
export type RequestContext = Surroundings & {
  readonly cookie: string;
  readonly isNew: boolean;
  readonly isPartial: boolean;
};

/** 32 bytes in Base64url. Any other value is neither kept in memory nor sent back. */
export const VISITOR_COOKIE_VALUE: RegExp = /^[A-Za-z0-9_-]{43}$/;

export function requestContextOf(
  request: IncomingMessage,
  session: SignedIn | null,
  cookie: string,
  isNew: boolean,
): RequestContext {
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

export function openCallOf(
  call: Call,
  { cookie, session, csrf, theme, url, isPartial }: RequestContext,
  now: number,
): OpenCall {
  const { request, params, query, body, remoteAddress, signal } = call;
  const form = body instanceof URLSearchParams ? body : new URLSearchParams();
  const asked = { request, params, query, form, url, isPartial, now, remoteAddress, signal };
  return { ...asked, csrf, theme, visitor: cookie, session };
}

/** `offered`: the scopes that administrators of customers hold. */
export function pageCallOf(call: OpenCall, session: SignedIn, offered: readonly string[]): PageCall {
  const { userId, userName, displayName, role } = session;
  const user = { id: userId, userName, displayName };
  return {
    ...call,
    session,
    user,
    role,
    acting: actingInPortal(session, offered),
    may: (takes) => mayAct(role, takes),
  };
}

/** After signing in, the browser returns to the page. A form is not sent again. */
export function signInFirst(request: IncomingMessage, { url, isPartial }: RequestContext): Redirect {
  if (request.method === 'POST') return { redirect: '/sign-in' };
  const current = String(request.headers['hx-current-url'] ?? '');
  const seen = isPartial && URL.canParse(current) ? new URL(current) : null;
  const next = ownPath(seen === null ? url : seen.pathname + seen.search);
  return { redirect: next === '/' ? '/sign-in' : `/sign-in?${new URLSearchParams({ next })}` };
}

/** Whether a browser asks for a page. Programs ask for JSON or for nothing in particular. Paths of the API get the API's answers. */
export function wantsPage({ method, url = '', headers }: IncomingMessage): boolean {
  return method === 'GET' && !url.startsWith('/services/') && headers.accept?.includes('text/html') === true;
}
