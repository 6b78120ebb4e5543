/** Sessions in a customer's portal and what follows them: a new link from the host, and the operator's own session. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { RENEWAL_COOKIE, SESSION_COOKIE, VISITED_COOKIE } from '../../../src/portal/frame/cookies.ts';
import { refusalOf, succeeded } from '../../support/client.ts';
import { created, makeCustomer } from '../../support/customers.ts';
import { newSession, type PortalReply, request } from '../../support/portal-requests.ts';
import { startService } from '../../support/service.ts';

const RENEW = 'https://shop.example/webhooks?from=portal';

/** The cookies of a reply, by their names. A deleted one is empty. */
function cookiesOf({ headers }: PortalReply): Map<string, string> {
  const pairs = headers.getSetCookie().map((cookie) => /^([^=]+)=([^;]*)/.exec(cookie)?.slice(1, 3) ?? []);
  return new Map(pairs.map(([name = '', value = '']) => [name, value]));
}

function sent(cookies: ReadonlyMap<string, string>): { readonly headers: { readonly cookie: string } } {
  const pairs = [...cookies].filter(([, value]) => value !== '').map(([name, value]) => `${name}=${value}`);
  return { headers: { cookie: pairs.join('; ') } };
}

async function start(t: TestContext) {
  const service = await startService(t, { env: { SALLYPORT_PORTAL_FRAME_ANCESTORS: 'https://shop.example' } });
  const customer = await makeCustomer(service);
  const link = (more: object) =>
    created<{ url: string }>(service.admin, `customers/${customer.id}/portal-links`, { role: 'viewer', ...more });
  return { service, customer, link };
}

describe('a session that ended', () => {
  it('leads to the renewUrl of its link, once', async (t) => {
    const { service, link } = await start(t);
    const { url } = await link({ sessionSeconds: 300, renewUrl: RENEW });
    const cookies = cookiesOf(await request(url));
    assert.notEqual(cookies.get(RENEWAL_COOKIE) ?? '', '');
    const page = await request(`${service.url}/webhooks`, sent(cookies));
    assert.equal(page.status, 200);
    assert.match(
      page.text,
      /Open until <time [^>]*>[^<]*<\/time>\. <a href="https:\/\/shop\.example\/webhooks\?from=portal"/,
    );
    assert.match(page.headers.get('content-security-policy') ?? '', /form-action 'self' https:\/\/shop\.example;/);
    assert.equal((await request(`${service.url}/session-ended`, sent(cookies))).status, 200, 'it has not ended');

    service.advance(301_000);
    const ended = await request(`${service.url}/webhooks`, sent(cookies));
    assert.deepEqual([ended.status, ended.headers.get('location')], [303, '/session-ended']);
    const renewed = await request(`${service.url}/session-ended`, sent(cookies));
    assert.deepEqual([renewed.status, renewed.headers.get('location')], [303, RENEW]);
    const after = new Map([...cookies, ...cookiesOf(renewed)]);
    const again = await request(`${service.url}/session-ended`, sent(after));
    assert.equal(again.status, 200);
    assert.ok(again.text.includes(`href="${RENEW}"`), 'the page leads there by a button');
    // A link that was opened before says the same.
    const used = await request(url, sent(after));
    assert.equal(used.status, 404);
    assert.ok(used.text.includes(`href="${RENEW}"`));
  });

  it('is told ten minutes before, with the way to a new one', async (t) => {
    const { service, link } = await start(t);
    const { url } = await link({ sessionSeconds: 3600, renewUrl: RENEW });
    const cookies = cookiesOf(await request(url));
    const barOf = async () => {
      const { text } = await request(`${service.url}/webhooks`, sent(cookies));
      return /<div class="visit-bar"[^>]*><p>(.*?)<\/p>/s.exec(text)?.[1];
    };
    assert.equal(await barOf(), undefined);
    service.advance(49 * 60_000);
    assert.equal(await barOf(), undefined);
    service.advance(2 * 60_000);
    assert.match(
      (await barOf()) ?? '',
      /^This session ends at <time .*<\/time>\. <a href="https:\/\/shop\.example\/webhooks\?from=portal"/,
    );
  });

  it('leads nowhere without a renewUrl, in a frame, after signing out, or by a cookie of someone else', async (t) => {
    const { service, link } = await start(t);
    const statusOf = async (cookies: ReadonlyMap<string, string>, headers = {}) => {
      const { headers: own } = sent(cookies);
      return (await request(`${service.url}/session-ended`, { headers: { ...own, ...headers } })).status;
    };
    const renewing = cookiesOf(await request((await link({ sessionSeconds: 300, renewUrl: RENEW })).url));
    const plain = cookiesOf(await request((await link({ sessionSeconds: 300 })).url));
    const menuOf = async (headers = {}) => {
      const { headers: own } = sent(plain);
      const { text } = await request(`${service.url}/webhooks`, { headers: { ...own, ...headers } });
      return /Open until .*?<\/time>\. (.*?)<\/span>/.exec(text)?.[1];
    };
    assert.equal(await menuOf(), 'Then open it again from your provider.');
    assert.equal(await menuOf({ 'sec-fetch-dest': 'iframe' }), 'Then load the page around it again.');
    service.advance(301_000);
    assert.equal(await statusOf(plain), 200);
    const foreign = new Map([...plain, [RENEWAL_COOKIE, renewing.get(RENEWAL_COOKIE) ?? '']]);
    assert.equal(await statusOf(foreign), 200, 'sealed for another session');
    assert.equal(await statusOf(new Map([...renewing, [SESSION_COOKIE, '']])), 200, 'signed out');
    assert.equal(await statusOf(renewing, { 'sec-fetch-dest': 'iframe' }), 200, 'in a frame');
    assert.equal(await statusOf(renewing), 303);
  });

  it('leads to a new link from one that was used or has expired, also in a browser that was never here', async (t) => {
    const { service, customer, link } = await start(t);
    const [used, unused, plain] = [
      await link({ renewUrl: RENEW }),
      await link({ renewUrl: RENEW, expiresInSeconds: 60 }),
      await link({}),
    ];
    for (const { url } of [used, plain]) assert.equal((await request(url)).status, 303);
    service.advance(61_000);
    for (const [url, leads] of [
      [used.url, true],
      [unused.url, true],
      [plain.url, false],
      [`${service.url}/portal-links/${'A'.repeat(43)}`, false],
    ] as const) {
      const { status, text } = await request(url);
      assert.deepEqual([status, text.includes(`href="${RENEW}"`)], [404, leads]);
      if (!leads) assert.match(text, /If someone sent you the link, ask for a new one\./);
    }
    assert.equal((await service.admin.patch(`customers/${customer.id}`, { active: false })).status, 200);
    assert.ok(!(await request(used.url)).text.includes(RENEW), 'not for a suspended customer');
  });

  it('takes only a web address as renewUrl', async (t) => {
    const { service, customer } = await start(t);
    const path = `customers/${customer.id}/portal-links`;
    for (const renewUrl of ['javascript:alert(1)', 'https://user:password@shop.example/', 'https://*', '/here'])
      assert.equal(
        (await refusalOf(service.admin.post(path, { role: 'viewer', renewUrl }), 400)).code,
        'validation_failed',
      );
  });
});

describe('an administrator who looks at a customer’s portal', () => {
  it('has a session of its own there, which ends with the own one, and no other session counts', async (t) => {
    const { service, customer } = await start(t);
    const administrator = await newSession(service, 'administrator');
    const { token } = administrator;
    const opened = await request(`${service.url}/customers/${customer.id}/open`, { token, form: {} });
    assert.deepEqual([opened.status, opened.headers.get('location')], [303, '/']);
    const visited = cookiesOf(opened).get(VISITED_COOKIE) ?? '';
    const at = (session: string, path = '/') =>
      request(`${service.url}${path}`, {
        headers: { cookie: `${SESSION_COOKIE}=${session}; ${VISITED_COOKIE}=${visited}` },
      });
    assert.match((await at(token)).text, /You are looking at/);
    assert.equal((await at(token, '/customers')).status, 404, 'it reaches nothing of the operator');
    // Without the administrator’s own session, or with that of someone else, the cookie opens nothing.
    assert.doesNotMatch((await at('A'.repeat(43))).text, /You are looking at/);
    const viewer = await newSession(service, 'viewer');
    assert.doesNotMatch((await at(viewer.token)).text, /You are looking at/);
    for (const role of ['viewer', 'operator'] as const) {
      const { token: other } = await newSession(service, role);
      const refused = await request(`${service.url}/customers/${customer.id}/open`, { token: other, form: {} });
      assert.equal(refused.status, 403, role);
    }
    await succeeded(service.admin.patch(`users/${administrator.userId}`, { active: false }));
    assert.equal((await at(token)).status, 303);
    const { items } = await succeeded<{ items: { action: string; actor: string }[] }>(
      service.admin.get(`audit?target=customer:${customer.id}&limit=50`),
    );
    const made = items.find(({ action }) => action === 'customer.create-link');
    assert.equal(made?.actor, `user:${administrator.userId}`);
    assert.ok(items.some(({ action }) => action === 'customer.open-link'));
  });

  it('is back in the operator’s portal when the customer is suspended', async (t) => {
    const { service, customer } = await start(t);
    const { token } = await newSession(service, 'administrator');
    const opened = await request(`${service.url}/customers/${customer.id}/open`, { token, form: {} });
    const visited = cookiesOf(opened).get(VISITED_COOKIE) ?? '';
    await succeeded(service.admin.patch(`customers/${customer.id}`, { active: false }));
    const cookie = `${SESSION_COOKIE}=${token}; ${VISITED_COOKIE}=${visited}`;
    const { status, text } = await request(`${service.url}/customers`, { headers: { cookie } });
    assert.equal(status, 200);
    assert.doesNotMatch(text, /You are looking at/);
  });
});
