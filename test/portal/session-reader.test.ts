/** The choice of the portal and its page read the session of a request once. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { it } from 'node:test';
import type { SignedIn } from '../../src/domain/user.ts';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { createSessionReader } from '../../src/portal/frame/current-session.ts';

it('reads a session once for a page, and again after the body of a form', async () => {
  const session = { customerId: null, role: 'viewer' } as SignedIn;
  const asked: (readonly [string, boolean])[] = [];
  const find = async (token: string, isBackground: boolean): Promise<SignedIn> => {
    asked.push([token, isBackground]);
    return session;
  };
  const cookies = { of: () => (name: string) => (name === SESSION_COOKIE ? 'token' : null) };
  const reader = createSessionReader({ find }, cookies);
  const request = {} as IncomingMessage;
  assert.equal((await reader.readFor(request, false))?.session, session);
  assert.equal((await reader.read(request, false))?.session, session);
  assert.deepEqual(asked, [['token', false]]);
  await reader.read(request, true);
  assert.deepEqual(asked, [
    ['token', false],
    ['token', true],
  ]);
  await reader.read({} as IncomingMessage, true);
  assert.equal(asked.length, 3);
});
