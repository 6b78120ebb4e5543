/**
 * The session that a request counts for. An administrator of the operator may look at a customer's portal: that is a session of its own in
 * a cookie of its own, which counts only as long as the administrator is signed in.
 */
import type { Sessions } from '../../access/sessions.ts';
import type { SignedIn } from '../../domain/user.ts';
import type { Opener } from './call.ts';
import type { ReadCookie } from './cookie-values.ts';
import { SESSION_COOKIE, VISITED_COOKIE } from './cookies.ts';

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
  return { token: visited, session: there, opener: { name: session.displayName ?? session.userName, token } };
}
