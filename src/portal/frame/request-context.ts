/** The context of a request to a page: who sends it, the secret that its forms are bound to, and whether a part of the page is enough. */
import type { IncomingMessage } from 'node:http';
import { actingInPortal } from '../../access/sessions.ts';
import type { SignedIn } from '../../domain/user.ts';
import type { Call } from '../../http/route.ts';
import { forgeryField, mayAct, type OpenCall, ownPath, type PageCall, type Redirect } from './call.ts';
import type { ReadCookie } from './cookie-values.ts';
import { FRAME_COOKIE, readCookie, readCustomerVisit, THEME_COOKIE } from './cookies.ts';
import { formToken } from './forgery.ts';
import type { Openings } from './headers.ts';
import type { Surroundings } from './layout.ts';

export const SIGN_IN_PATH = '/sign-in';
export const SESSION_ENDED_PATH = '/session-ended';

/** The sign-in page of a customer's users, or of the operator's with null. */
export function signInPathOf(customerId: string | null): string {
  return customerId === null ? SIGN_IN_PATH : `${SIGN_IN_PATH}/${customerId}`;
}

/** The facts before the page answers. `cookie` is the secret that its forms are bound to. */
export type PageContext = Surroundings & {
  readonly cookie: string;
  readonly isNew: boolean;
  readonly isPartial: boolean;
  readonly openings: Openings;
};

/** The values that the pages around a request decide. */
export type Circumstances = Pick<PageContext, 'brand' | 'opener' | 'openings' | 'cookieOf' | 'now'> & {
  /** The origins that may show a customer's portal in a frame. */
  readonly frameAncestors: readonly string[];
};

/** 32 bytes in Base64url. Any other value is neither kept in memory nor sent back. */
export const VISITOR_COOKIE_VALUE: RegExp = /^[A-Za-z0-9_-]{43}$/;

export function requestContextOf(
  request: IncomingMessage,
  session: SignedIn | null,
  cookie: string,
  isNew: boolean,
  { brand, opener, openings, cookieOf, now, frameAncestors }: Circumstances,
): PageContext {
  const theme = readCookie(request, THEME_COOKIE);
  return {
    session,
    brand,
    opener,
    openings,
    cookieOf,
    now,
    frameAncestors: isInFrame(request, cookieOf) ? frameAncestors : [],
    cookie,
    isNew,
    csrf: forgeryField(formToken(cookie)),
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    path: request.url?.split('?', 1)[0] ?? '/',
    url: request.url ?? '/',
    isPartial: request.headers['hx-request'] === 'true' && request.headers['hx-request-type'] !== 'full',
  };
}

/** Whether the portal is inside a page of someone else. Requests from its script carry only the cookie. */
function isInFrame({ headers }: IncomingMessage, cookieOf: ReadCookie): boolean {
  return headers['sec-fetch-dest'] === 'iframe' || cookieOf(FRAME_COOKIE) !== null;
}

export function openCallOf(
  call: Call,
  { cookie, cookieOf, session, opener, csrf, theme, url, isPartial, brand, frameAncestors }: PageContext,
  now: number,
): OpenCall {
  const { request, params, query, body, remoteAddress, signal } = call;
  const form = body instanceof URLSearchParams ? body : new URLSearchParams();
  const asked = { request, params, query, form, url, isPartial, now, remoteAddress, signal };
  return {
    ...asked,
    csrf,
    theme,
    visitor: cookie,
    cookieOf,
    session,
    opener,
    brand,
    isFramed: frameAncestors.length > 0,
    frameAncestors,
  };
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
    acting: actingInPortal(session, offered, call.opener?.userId ?? null),
    may: (takes) => mayAct(role, takes),
  };
}

/** After signing in, the browser returns to the page. A form is not sent again. */
export function signInFirst(
  request: IncomingMessage,
  { url, isPartial, frameAncestors, cookieOf }: PageContext,
): Redirect {
  const visit = readCustomerVisit(cookieOf);
  // Nobody types a password into a frame, and a portal link is not opened twice.
  if (frameAncestors.length > 0 || visit?.by === 'link') return { redirect: SESSION_ENDED_PATH };
  const form = signInPathOf(visit?.customerId ?? null);
  if (request.method === 'POST') return { redirect: form };
  const current = String(request.headers['hx-current-url'] ?? '');
  const seen = isPartial && URL.canParse(current) ? new URL(current) : null;
  const next = ownPath(seen === null ? url : seen.pathname + seen.search);
  return { redirect: next === '/' ? form : `${form}?${new URLSearchParams({ next })}` };
}

/** Whether a browser asks for a page. Programs ask for JSON or for nothing in particular. Paths of the API get the API's answers. */
export function wantsPage({ method, url = '', headers }: IncomingMessage): boolean {
  return method === 'GET' && !url.startsWith('/services/') && headers.accept?.includes('text/html') === true;
}
