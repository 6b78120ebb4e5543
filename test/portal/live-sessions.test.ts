/** Live pages end with their session, for every reason, also while events arrive. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { SESSION_IDLE_MS, SESSION_MS } from '../../src/domain/user.ts';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { cleanUp } from '../support/cleanup.ts';
import { succeeded } from '../support/client.ts';
import { connect, makeEventType, startJourney } from '../support/journey.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { changeBeside, type ServiceInProcess } from '../support/service.ts';

repeatsInSlowTier('postgres');

const TYPE = 'order.created';
const PASSWORD = 'seventeen badgers at dawn';
const SIGNED_OUT = 'event: signed-out\ndata:\n\n';

type Session = Awaited<ReturnType<typeof newSession>>;
type Live = {
  /** All that has come so far. */
  text(): string;
  /** All that came, once the server has ended the stream. */
  readonly ended: Promise<string>;
  /** Resolves with the next piece that comes. */
  next(): Promise<unknown>;
};

/** Opens a live page and resolves once its first event has come. */
async function watch(t: TestContext, { url }: ServiceInProcess, { token }: Session): Promise<Live> {
  const asked = get(`${url}/deliveries/live`, { headers: { cookie: `${SESSION_COOKIE}=${token}` }, agent: false });
  cleanUp(t, () => asked.destroy());
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  response.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  // At the end of the test it breaks off instead.
  response.on('error', () => {});
  const ended = new Promise<string>((resolve) => response.once('end', () => resolve(text)));
  const next = (): Promise<unknown> => once(response, 'data');
  await next();
  return { text: () => text, ended, next };
}

/** A service in which attempts are made all the time. */
async function busy(t: TestContext): Promise<ServiceInProcess> {
  const { service, admin, receiver } = await startJourney(t, { logLevel: 'warn' });
  await makeEventType(admin, TYPE);
  await connect({ admin, receiver }, [TYPE], { webhook: { maxBatchRecords: 1 } });
  const timer = setInterval(() => void service.services.publish({ type: TYPE, data: {} }, COMMAND_LINE), 50);
  cleanUp(t, () => clearInterval(timer));
  return service;
}

type End = (service: ServiceInProcess, session: Session, t: TestContext) => Promise<unknown>;
const ENDS: readonly [what: string, end: End][] = [
  ['signs out', ({ url }, { token }) => request(`${url}/sign-out`, { token, form: {} })],
  [
    'is signed out from another browser',
    ({ services }, { userId, sessionId }) => services.sessions.end(userId, sessionId),
  ],
  ['signs out everywhere', ({ url }, { token }) => request(`${url}/account/sign-out-everywhere`, { token, form: {} })],
  ['gets another role', ({ admin }, { userId }) => succeeded(admin.patch(`users/${userId}`, { role: 'viewer' }))],
  ['is deactivated', ({ admin }, { userId }) => succeeded(admin.patch(`users/${userId}`, { active: false }))],
  ['is deleted', ({ admin }, { userId }) => admin.delete(`users/${userId}`)],
  [
    'sets a password with an invitation',
    async ({ services }, { userId }) => {
      const { token } = await services.invitations.invite(userId, COMMAND_LINE);
      await services.invitations.accept(token, { password: PASSWORD, passwordAgain: PASSWORD });
    },
  ],
  ['has been idle for too long', async ({ advance }) => advance(SESSION_IDLE_MS)],
  ['has been signed in for too long', async ({ advance }) => advance(SESSION_MS)],
  [
    'is deactivated by another process',
    (service, { userId }, t) =>
      changeBeside(t, service, 'UPDATE user_account SET active = FALSE WHERE id = @userId', { userId }),
  ],
  [
    'loses its sessions to another process',
    (service, { userId }, t) => changeBeside(t, service, 'DELETE FROM session WHERE user_id = @userId', { userId }),
  ],
];

describe('a live page with continuous events', () => {
  for (const [what, end] of ENDS) {
    it(`ends when its user ${what}, and streams of others continue`, async (t) => {
      const service = await busy(t);
      const session = await newSession(service, 'operator');
      const live = await watch(t, service, session);
      const bystander = what.startsWith('has been')
        ? null
        : await watch(t, service, await newSession(service, 'viewer'));
      await end(service, session, t);
      assert.equal((await live.ended).endsWith(SIGNED_OUT), true);
      await bystander?.next();
      assert.equal(bystander?.text().includes(SIGNED_OUT) ?? false, false);
    });
  }

  it('continues while the session is used, and does not keep the session alive', async (t) => {
    const service = await busy(t);
    const session = await newSession(service, 'viewer');
    const live = await watch(t, service, session);
    for (let time = 0; time < 3; time += 1) {
      service.advance(SESSION_IDLE_MS / 2);
      assert.equal((await request(`${service.url}/account`, { token: session.token })).status, 200);
      await live.next();
    }
    service.advance(SESSION_IDLE_MS);
    assert.equal((await live.ended).endsWith(SIGNED_OUT), true);
  });
});
