/** The writes of one instance count on the other one from the next call on. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { describe, type TestContext } from 'node:test';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { CLIENT_FAILURES_MAX } from '../../src/domain/throttle.ts';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { FORGERY_FIELD, formToken } from '../../src/portal/frame/forgery.ts';
import { cleanUp } from '../support/cleanup.ts';
import { createClient, EMPLOYEES, TOKEN, tokenFor } from '../support/client.ts';
import { onInstances, startInstances } from '../support/instances.ts';
import { connect, makeEventType, startJourney } from '../support/journey.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';
import { ACTOR } from '../support/services.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

const PASSWORD = 'correct horse battery staple';

describe('two instances', () => {
  onInstances('refuse a token that the other one revoked', async (t) => {
    const [one, other] = await startInstances(t);
    const { clientId, clientSecret } = one.credentials;
    const token = await tokenFor(one.url, one.credentials);
    const client = createClient(other.url, token);
    assert.equal((await client.get('users')).status, 200);
    const revoked = await fetch(`${one.url}/services/api/oauth2/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret }),
    });
    assert.equal(revoked.status, 200);
    assert.equal((await client.get('users')).status, 401);
  });

  onInstances('refuse the tokens of a user that the other one deactivated', async (t) => {
    const [one, other] = await startInstances(t);
    const user = await one.services.users.create({ userName: 'kim', permissions: ['employees:view'] }, ACTOR);
    const made = await one.services.applications.create(
      { name: 'Shop', userId: user.id, scopes: ['employees:view'] },
      ACTOR,
    );
    const token = await tokenFor(one.url, {
      ...one.credentials,
      clientId: made.application.clientId,
      clientSecret: made.clientSecret,
    });
    const client = createClient(other.url, token);
    assert.equal((await client.get(EMPLOYEES)).status, 200);
    await one.services.users.patch(user.id, { active: false }, ACTOR);
    assert.equal((await client.get(EMPLOYEES)).status, 401);
  });

  onInstances('apply a rule that the other one added or removed', async (t) => {
    const [one, other] = await startInstances(t);
    const rule = { methods: ['GET'], path: '/services/api/x/files/{id}', scope: 'files:view' };
    const input = { name: 'Files', scopes: [{ name: 'files:view' }], rules: [rule] };
    const product = await one.services.products.create(input, ACTOR);
    const user = await one.services.users.create({ userName: 'kim', permissions: ['files:view'] }, ACTOR);
    const made = await one.services.applications.create(
      { name: 'Shop', userId: user.id, scopes: ['files:view'] },
      ACTOR,
    );
    const { clientId } = made.application;
    const credentials = { ...one.credentials, clientId, clientSecret: made.clientSecret };
    const token = await tokenFor(one.url, credentials);
    const ask = async (): Promise<number> => {
      const headers = {
        authorization: `Bearer ${token}`,
        'x-forwarded-method': 'GET',
        'x-forwarded-uri': '/services/api/x/files/1',
      };
      return (await fetch(`${other.url}/services/api/oauth2/forward-auth`, { headers })).status;
    };
    assert.equal(await ask(), 200);
    for (let round = 0; round < 5; round += 1) {
      await one.services.products.patch(product.id, { rules: [] }, ACTOR);
      assert.equal(await ask(), 401);
      await one.services.products.patch(product.id, { rules: [rule] }, ACTOR);
      assert.equal(await ask(), 200);
    }
  });

  onInstances('end a session for each other', async (t) => {
    const [one, other] = await startInstances(t);
    const { token, userId, sessionId } = await newSession(one, 'viewer');
    assert.equal((await request(`${other.url}/webhooks`, { token })).status, 200);
    await one.services.sessions.end(userId, sessionId);
    assert.equal((await request(`${other.url}/webhooks`, { token })).status, 303);
  });

  onInstances('count failures together, and block a client on both', async (t) => {
    const instances = await startInstances(t);
    const [one] = instances;
    const { clientId } = one.credentials;
    const guess = (at: number) =>
      fetch(`${instances[at % 2]?.url}${TOKEN}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ clientId, clientSecret: `guess ${at}`, grantType: 'client_credentials' }),
      });
    const replies = await Promise.all(Array.from({ length: 40 }, (_, at) => guess(at)));
    assert.equal(replies.filter(({ status }) => status === 400).length, CLIENT_FAILURES_MAX);
    for (const at of [0, 1]) assert.equal((await guess(at)).status, 429);
  });

  onInstances('process a form once, and show its secret once', async (t) => {
    const [one, other] = await startInstances(t);
    const { token } = await newSession(one, 'administrator');
    const chosen = { accessTokenValiditySeconds: '3600', scopes: 'employees:view' };
    const fields = { name: 'Shop', actsAs: 'new', accountName: 'shop', ...chosen };
    const form = { [FORGERY_FIELD]: formToken(token), ...fields };
    const send = ({ url }: { readonly url: string }) => request(`${url}/applications/new`, { token, form });
    const replies = [...(await Promise.all([send(one), send(other)])), await send(other)];
    const places = new Set(replies.map(({ status, headers }) => `${status} ${headers.get('location')}`));
    assert.equal(places.size, 1, [...places].join());
    const [place = ''] = places;
    const visits = [one, other].map(({ url }) => request(url + place.slice('303 '.length), { token }));
    const pages = (await Promise.all(visits)).map(({ status, text }) => `${status} ${/sps_\w{20,}/.test(text)}`);
    assert.deepEqual(pages.toSorted(), ['200 false', '200 true']);
    const stranger = await newSession(other, 'administrator');
    assert.equal((await request(other.url + place.slice('303 '.length), { token: stranger.token })).status, 404);
    const made = (await one.services.applications.list('', 100)).filter(({ name }) => name === 'Shop');
    assert.equal(made.length, 1);
  });

  onInstances('accept an invitation once', async (t) => {
    const [one, other] = await startInstances(t);
    const user = await one.services.users.create({ userName: 'kim', role: 'viewer' }, ACTOR);
    const { token } = await one.services.invitations.invite(user.id, ACTOR);
    const accept = ({ url }: { readonly url: string }) =>
      fetch(`${url}/invitations/${token}`, {
        method: 'POST',
        body: new URLSearchParams({ password: PASSWORD, passwordAgain: PASSWORD }),
      });
    const replies = await Promise.all([accept(one), accept(other)]);
    const good = replies.filter(({ status }) => status < 400);
    assert.equal(good.length, 1, replies.map(({ status }) => status).join());
  });

  onInstances('show each other’s attempts on live pages', async (t) => {
    const { service: one, admin, receiver } = await startJourney(t);
    const other = await startService(t, { after: one });
    await makeEventType(admin, 'order.created');
    await connect({ admin, receiver }, ['order.created']);
    const streams = await Promise.all([one, other].map((service) => openTail(t, service)));
    // Ends once both pages have shown an attempt; the suite's time limit ends it otherwise.
    const shown = Promise.all(streams.map(({ attempted }) => attempted));
    const timer = setInterval(() => void one.services.publish({ type: 'order.created', data: {} }, COMMAND_LINE), 200);
    cleanUp(t, () => clearInterval(timer));
    await shown;
    const rows = streams[1]?.text().match(/id="attempt-[^"]+"/g) ?? [];
    assert.equal(new Set(rows).size, rows.length);
  });

  onInstances('end the live pages of a session that ended on the other one', async (t) => {
    const [one, other] = await startInstances(t);
    const session = await newSession(one, 'viewer');
    const { ended } = await openTail(t, other, session.token);
    await one.services.sessions.end(session.userId, session.sessionId);
    assert.match(await ended, /event: signed-out/);
  });
});

/** Opens the live list of attempts. */
async function openTail(t: TestContext, service: ServiceInProcess, given?: string) {
  const token = given ?? (await newSession(service, 'viewer')).token;
  const headers = { cookie: `${SESSION_COOKIE}=${token}` };
  const asked = get(`${service.url}/deliveries/live`, { headers, agent: false });
  cleanUp(t, () => asked.destroy());
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  const { promise: attempted, resolve } = Promise.withResolvers<void>();
  response.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    if (text.includes('id="attempt-')) resolve();
  });
  response.on('error', () => {});
  const ended = new Promise<string>((done) => response.once('end', () => done(text)));
  return { text: () => text, attempted, ended };
}
