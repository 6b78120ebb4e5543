/** Concurrent attempts at a password gain nothing over attempts one after the other. */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { hashPassword } from '../../src/access/password.ts';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { PASSWORD_MAX_LENGTH } from '../../src/domain/limits.ts';
import { CLIENT_FAILURES_MAX } from '../../src/domain/throttle.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { SESSION_COOKIE, VISITOR_COOKIE } from '../../src/portal/frame/cookies.ts';
import { formToken } from '../../src/portal/frame/forgery.ts';
import { type PortalReply, request } from '../support/portal-requests.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';
import { tryAtOnce } from '../support/side-by-side.ts';

repeatsInSlowTier('postgres');

const PASSWORD = 'seventeen badgers at dawn';
const VISIT = 'A'.repeat(43);

/** Longer than any password: they are wrong without the half second that it takes to hash one. */
function guessesOf(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${'x'.repeat(PASSWORD_MAX_LENGTH)}${at}`);
}

type Guarded = { readonly service: ServiceInProcess; readonly userId: string };

async function start(t: TestContext): Promise<Guarded> {
  const service = await startService(t);
  const passwordHash = await hashPassword(PASSWORD, randomBytes);
  const user = await service.services.users.create({ userName: 'grace', role: 'operator' }, COMMAND_LINE, {
    complete: (made) => ({ ...made, passwordHash }),
  });
  return { service, userId: user.id };
}

function signInAtOnce(t: TestContext, service: ServiceInProcess, passwords: readonly string[]): Promise<PortalReply[]> {
  return tryAtOnce(t, passwords, {
    target: service.services.sessions,
    method: 'signIn',
    triedOf: ([credentials]) => (credentials as { password: string }).password,
    send: (password) =>
      request(`${service.url}/sign-in`, {
        form: { formToken: formToken(VISIT), userName: 'grace', password },
        headers: { cookie: `${VISITOR_COOKIE}=${VISIT}` },
      }),
  });
}

/** The token of a session that is begun with the password. */
async function sessionOf({ services: { sessions } }: ServiceInProcess): Promise<string> {
  const visitor = { address: '127.0.0.1', userAgent: 'a browser' };
  const begun = await sessions.signIn({ customerId: null, userName: 'grace', password: PASSWORD }, visitor);
  return begun?.token ?? assert.fail('not signed in');
}

function isSignedIn({ headers }: PortalReply): boolean {
  return headers.get('set-cookie')?.includes(`${SESSION_COOKIE}=`) === true;
}

describe('sign-ins side by side', () => {
  it('tell ten failures, and nothing that came after them, not even the success', async (t) => {
    const { service, userId } = await start(t);
    const guesses = guessesOf(2 * CLIENT_FAILURES_MAX);
    const replies = await signInAtOnce(t, service, [...guesses, PASSWORD]);
    assert.deepEqual(
      replies.map(({ status }) => status),
      replies.map((_, at) => (at < CLIENT_FAILURES_MAX ? 401 : 429)),
    );
    assert.deepEqual(replies.filter(isSignedIn), []);
    const [failure, refusal, right] = [replies[0], replies[CLIENT_FAILURES_MAX], replies.at(-1)];
    assert.match(failure?.text ?? '', /password is wrong/);
    assert.match(right?.headers.get('retry-after') ?? '', /^\d+$/);
    const said = (reply?: PortalReply): string => reply?.text.replace(/value="[^"]*"|in \d+ seconds/g, '') ?? '';
    assert.equal(said(right), said(refusal));
    assert.deepEqual(await service.services.sessions.ofUser(userId), [], 'the session that was begun lasts');
  });

  it('sign in if the right one is among the first ten', async (t) => {
    const { service, userId } = await start(t);
    const guesses = guessesOf(CLIENT_FAILURES_MAX - 1);
    const replies = await signInAtOnce(t, service, [...guesses, PASSWORD]);
    assert.deepEqual(
      replies.map(({ status }) => status),
      [...guesses.map(() => 401), 303],
    );
    assert.deepEqual(replies.filter(isSignedIn), replies.slice(-1));
    assert.equal((await service.services.sessions.ofUser(userId)).length, 1);
  });
});

describe("one's own password, tried side by side at an open session", () => {
  it('is not revealed by a right attempt after ten wrong ones', async (t) => {
    const { service, userId } = await start(t);
    const token = await sessionOf(service);
    const before = await service.services.users.get(userId);
    const guesses = guessesOf(CLIENT_FAILURES_MAX);
    const next = 'a new one for the spring';
    const replies = await tryAtOnce(t, [...guesses, PASSWORD], {
      target: service.services.sessions,
      method: 'confirm',
      triedOf: ([, password]) => String(password),
      send: (currentPassword) =>
        request(`${service.url}/account/password`, {
          token,
          form: { currentPassword, password: next, passwordAgain: next },
        }),
    });
    assert.deepEqual(
      replies.map(({ status }) => status),
      [...guesses.map(() => 400), 429],
    );
    assert.deepEqual(await service.services.users.get(userId), before);
  });

  it('does not count as wrong if only the new password is mistyped', async (t) => {
    const { service } = await start(t);
    const token = await sessionOf(service);
    for (let at = 0; at <= CLIENT_FAILURES_MAX; at += 1) {
      const form = { currentPassword: PASSWORD, password: 'short', passwordAgain: 'short' };
      assert.equal((await request(`${service.url}/account/password`, { token, form })).status, 400);
    }
  });
});
