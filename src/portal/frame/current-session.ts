/**
 * The session that a request counts for. An administrator of the operator may look at a customer's portal: that is a session of its own in
 * a cookie of its own, which counts only as long as the administrator is signed in.
 */
import type { IncomingMessage } from 'node:http';
import type { Sessions } from '../../access/sessions.ts';
import type { SignedIn } from '../../domain/user.ts';
import type { Opener } from './call.ts';
import type { ReadCookie } from './cookie-values.ts';
import { type Cookies, SESSION_COOKIE, VISITED_COOKIE } from './cookies.ts';

type CurrentSession = {
  /** In the cookie of the session. */
  readonly token: string;
  readonly session: SignedIn;
  readonly opener: Opener | null;
};

/** Null without a session. */
export async function currentSession(
  sessions: Pick<Sessions, 'find'>,
  cookieOf: ReadCookie,
  isBackground: boolean,
): Promise<CurrentSession | null> {
  const token = cookieOf(SESSION_COOKIE);
  const session = token === null ? null : await sessions.find(token, isBackground);
  if (token === null || session === null) return null;
  const visited = cookieOf(VISITED_COOKIE);
  if (visited === null || session.customerId !== null || session.role !== 'administrator')
    return { token, session, opener: null };
  const there = await sessions.find(visited, isBackground);
  if (there === null || there.customerId === null) return { token, session, opener: null };
  const opener = { userId: session.userId, name: session.displayName ?? session.userName, token };
  return { token: visited, session: there, opener };
}

/** Reads the session of a request once for the choice of the portal and for the page that the choice leads to. */
export type SessionReader = {
  /** Keeps it for the page. */
  readFor(request: IncomingMessage, isBackground: boolean): Promise<CurrentSession | null>;
  /** Returns the kept session, once: a form asks again after its body, because the session may have ended by then. */
  read(request: IncomingMessage, isBackground: boolean): Promise<CurrentSession | null>;
};

export function createSessionReader(sessions: Pick<Sessions, 'find'>, cookies: Pick<Cookies, 'of'>): SessionReader {
  const kept = new WeakMap<IncomingMessage, CurrentSession | null>();
  const find = (request: IncomingMessage, isBackground: boolean): Promise<CurrentSession | null> =>
    currentSession(sessions, cookies.of(request), isBackground);
  return {
    readFor: async (request, isBackground) => {
      const session = await find(request, isBackground);
      kept.set(request, session);
      return session;
    },
    read: async (request, isBackground) => {
      const found = kept.get(request);
      if (found === undefined) return find(request, isBackground);
      kept.delete(request);
      return found;
    },
  };
}
