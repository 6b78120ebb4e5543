/** Makes a session of the portal without its sign-in form, as a cookie for a browser. */
import assert from 'node:assert/strict';
import type { PortalRole } from '../../src/access/user.ts';
import { SESSION_COOKIE } from '../../src/portal/cookies.ts';
import { COMMAND_LINE } from '../../src/resources/acting.ts';
import type { ServiceInProcess } from './service.ts';

let accounts = 0;

/** The cookie of a new session of a new account. */
export async function sessionCookie(
  { services, url }: Pick<ServiceInProcess, 'services' | 'url'>,
  role: PortalRole,
  displayName?: string,
): Promise<{ name: string; value: string; url: string; secure: true; httpOnly: true; sameSite: 'Lax' }> {
  accounts += 1;
  const user = await services.users.create(
    { userName: `${role}-${accounts}`, role, displayName: displayName ?? `${role} ${accounts}` },
    COMMAND_LINE,
  );
  const begun = await services.sessions.begin(user, 'password', { address: '127.0.0.1', userAgent: 'a test' });
  assert.ok(begun);
  // A cookie for secure connections is set by an address that is one; the browser takes the loopback address for one too.
  const secureUrl = url.replace('http:', 'https:');
  return { name: SESSION_COOKIE, value: begun.token, url: secureUrl, secure: true, httpOnly: true, sameSite: 'Lax' };
}
