/** Creates a session of the portal without the sign-in form. */
import assert from 'node:assert/strict';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import type { PortalRole } from '../../src/domain/user.ts';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import type { ServiceInProcess } from './service.ts';

let accounts = 0;

/** Creates an account with a session. Returns the session's cookie for a browser. */
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
  // A `Secure` cookie can be set only for an https URL. The browser also sends it to the loopback address over http.
  const secureUrl = url.replace('http:', 'https:');
  return { name: SESSION_COOKIE, value: begun.token, url: secureUrl, secure: true, httpOnly: true, sameSite: 'Lax' };
}
