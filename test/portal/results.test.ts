/** Forms that make something and show a secret: each is done once, also where it is sent again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SERVICE } from '../../src/domain/acting.ts';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { FORGERY_FIELD, formToken } from '../../src/portal/frame/forgery.ts';
import { type ApiClient, succeeded } from '../support/client.ts';
import { makeCustomer, sessionOf, type TestCustomer } from '../support/customers.ts';
import { unique } from '../support/journey.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

describe('a form that shows a secret', () => {
  it('is processed once if it is sent twice, at the same time or later', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'administrator');
    const { services, url } = service;
    const chosen = { accessTokenValiditySeconds: '3600', scopes: 'employees:view' };
    const fields = { name: 'Shop', actsAs: 'new', accountName: 'shop', ...chosen };
    const form = { [FORGERY_FIELD]: formToken(token), ...fields };
    const send = () => request(`${url}/applications/new`, { token, form });
    const replies = [...(await Promise.all([send(), send()])), await send()];
    const places = new Set(replies.map(({ status, headers }) => `${status} ${headers.get('location')}`));
    assert.equal(places.size, 1, [...places].join());
    const [place = ''] = places;
    assert.match(place, /^303 \/results\/[\w-]{43}$/);
    const count = async (name: string): Promise<number> =>
      (await services.applications.list('', 100)).filter((one) => one.name === name).length;
    assert.equal(await count('Shop'), 1);
    const page = await request(url + place.slice('303 '.length), { token });
    assert.match(page.text, /sps_\w+/);
    assert.equal(page.headers.get('cache-control'), 'no-store');
    assert.match(page.text, /<a[^>]* href="\/applications"[^>]* aria-current="page"/, 'in the section of its form');
    // A form that was opened or filled in again is another one.
    const other = await request(`${url}/applications/new`, {
      token,
      form: { ...form, name: 'Shop 2', accountName: 'shop-2' },
    });
    assert.equal(other.status, 303);
    assert.equal(await count('Shop 2'), 1);
  });

  it('can be sent again after a refusal', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'administrator');
    const { services, url } = service;
    const chosen = { accessTokenValiditySeconds: '3600', scopes: 'employees:view' };
    const fields = { name: 'Shop', actsAs: 'existing', userId: 'shop', ...chosen };
    const form = { [FORGERY_FIELD]: formToken(token), ...fields };
    assert.equal((await request(`${url}/applications/new`, { token, form })).status, 400);
    await services.users.create({ userName: 'shop' }, SERVICE);
    assert.equal((await request(`${url}/applications/new`, { token, form })).status, 303);
  });

  it('creates one secret, one rotation and one invitation each', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'administrator');
    const { services, url } = service;
    const user = await services.users.create({ userName: 'kim', role: 'viewer' }, SERVICE);
    const { application } = await services.applications.create({ name: 'Shop', userId: user.id, scopes: [] }, SERVICE);
    const endpoint = await services.endpoints.create({ name: 'Shop', url: 'https://shop.example/' }, SERVICE);
    const forms: readonly (readonly [path: string, action: string, fields: Readonly<Record<string, string>>])[] = [
      [`/applications/${application.id}/regenerate-secret`, 'application.regenerate-secret', { overlapSeconds: '0' }],
      [`/endpoints/${endpoint.id}/rotate-secret`, 'endpoint.rotate-secret', { activateAfterSeconds: '0' }],
      [`/users/${user.id}/invite`, 'user.invite', {}],
    ];
    for (const [path, action, fields] of forms) {
      const form = { [FORGERY_FIELD]: formToken(token), ...fields };
      const actions = async (): Promise<number> =>
        (await service.admin.get<{ items: { action: string }[] }>('audit?limit=200')).body.items.filter((entry) =>
          entry.action.endsWith(action.slice(action.indexOf('.') + 1)),
        ).length;
      const before = await actions();
      const first = await request(url + path, { token, form });
      const again = await request(url + path, { token, form });
      assert.equal(first.status, 303, `${path}: ${first.text.slice(0, 2000)}`);
      assert.equal(again.headers.get('location'), first.headers.get('location'), path);
      assert.equal(await actions(), before + 1, path);
    }
  });

  it('leads to a page that only its session can read', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'administrator');
    const stranger = await newSession(service, 'administrator');
    const user = await service.services.users.create({ userName: 'kim', role: 'viewer' }, SERVICE);
    const sent = await request(`${service.url}/users/${user.id}/invite`, { token, form: {} });
    const at = service.url + String(sent.headers.get('location'));
    const own = await request(at, { token });
    assert.equal(own.status, 200);
    const [link = ''] = /http:[^"<]*invit[^"<]*/.exec(own.text) ?? [];
    assert.ok(link.length > 40, own.text);
    const other = await request(at, { token: stranger.token });
    assert.equal(other.status, 404);
    assert.ok(!other.text.includes(link));
    assert.equal((await request(at, { headers: { cookie: `${SESSION_COOKIE}=nobody` } })).status, 303);
    assert.equal((await request(`${service.url}/results/none`, { token })).status, 404);
  });

  for (const whose of ['operator', 'customer'] as const) {
    it(`shows its secret only at the first visit in the portal of the ${whose}, and then leads to a new one`, async (t) => {
      const service = await startService(t);
      const customer = await makeCustomer(service);
      const isOperator = whose === 'operator';
      const token = isOperator
        ? (await newSession(service, 'administrator')).token
        : await sessionOf(service, customer, 'link');
      const stranger = (await newSession(service, 'administrator')).token;
      const forms = await secretForms(isOperator ? service.admin : customer.api, customer, isOperator);
      for (const { path, fields, secret, renewal } of forms) {
        const form = { [FORGERY_FIELD]: formToken(token), ...fields };
        const sent = await request(service.url + path, { token, form });
        assert.equal(sent.status, 303, `${path}: ${sent.text.slice(0, 2000)}`);
        const at = service.url + String(sent.headers.get('location'));
        // None of these shows the page to the one who made the secret, so none uses it up.
        await request(at, { token, method: 'HEAD' });
        await request(at, { token, headers: { 'sec-purpose': 'prefetch' } });
        await request(at, { token: stranger });

        const pages = (await Promise.all([request(at, { token }), request(at, { token })])).map(({ text }) => text);
        const [shown = ''] = pages.flatMap((text) => secret.exec(text) ?? []);
        assert.notEqual(shown, '', `${path} shows no secret: ${pages[0]}`);
        assert.equal(pages.filter((text) => text.includes(shown)).length, 1, path);
        // The same form from the history leads there too.
        assert.equal(
          (await request(service.url + path, { token, form })).headers.get('location'),
          new URL(at).pathname,
        );
        const later = await request(at, { token });
        assert.equal(later.status, 200);
        assert.ok(!later.text.includes(shown), path);
        assert.doesNotMatch(later.text, secret);
        assert.match(later.text, /was shown once, and is not shown again/);
        const [link = ''] = new RegExp(`href="(${renewal})"`).exec(later.text) ?? [];
        assert.notEqual(link, '', `${path}: ${later.text}`);
        assert.equal((await request(service.url + link.slice('href="'.length, -1), { token })).status, 200);
      }
    });
  }
});

const UUID = '[0-9a-f-]{36}';

/** Every form whose result shows a secret: what is sent, the secret, and where a new one is made. */
async function secretForms(api: ApiClient, customer: TestCustomer, isOperator: boolean) {
  const made = async (path: string, body: object): Promise<string> =>
    (await succeeded<{ id: string }>(api.post(path, body))).id;
  const userId = await made('users', { userName: unique('kim'), role: 'viewer' });
  const applicationId = await made('applications', { name: unique('shop'), userId });
  const endpointId = await made('endpoints', { name: unique('shop'), url: 'https://shop.example/' });
  const account = isOperator ? { actsAs: 'new', accountName: unique('shop') } : {};
  const scopes = isOperator ? 'employees:view' : 'endpoints:view';
  const signing = /<code[^>]*>[A-Za-z0-9+/]{43}=<|whsec_[A-Za-z0-9+/]{43}=/;
  const link = { role: 'viewer', expiresInSeconds: '600', sessionSeconds: '600' };
  return [
    {
      path: '/applications/new',
      fields: { name: unique('new'), accessTokenValiditySeconds: '3600', scopes, ...account },
      secret: /sps_\w{20,}/,
      renewal: `/applications/${UUID}/regenerate-secret`,
    },
    {
      path: `/applications/${applicationId}/regenerate-secret`,
      fields: { overlapSeconds: '0' },
      secret: /sps_\w{20,}/,
      renewal: `/applications/${applicationId}/regenerate-secret`,
    },
    {
      path: '/endpoints/new',
      fields: { name: unique('new'), url: 'https://shop.example/' },
      secret: signing,
      renewal: `/endpoints/${UUID}/rotate-secret`,
    },
    {
      // Its API key is another secret of the same page.
      path: '/endpoints/new',
      fields: { name: unique('new'), url: 'https://shop.example/' },
      secret: /<code>[0-9a-f]{32}</,
      renewal: `/endpoints/${UUID}/settings#credentials`,
    },
    {
      path: `/endpoints/${endpointId}/rotate-secret`,
      fields: { activateAfterSeconds: '0', overlapSeconds: '0' },
      secret: signing,
      renewal: `/endpoints/${endpointId}/rotate-secret`,
    },
    {
      path: `/users/${userId}/invite`,
      fields: {},
      secret: /http:[^"<]*invitations\/[\w-]{43}/,
      renewal: `/users/${userId}`,
    },
    ...(isOperator
      ? [
          {
            path: `/customers/${customer.id}/portal-link`,
            fields: link,
            secret: /http:[^"<]*portal-links\/[\w-]{43}/,
            renewal: `/customers/${customer.id}/portal-link`,
          },
        ]
      : []),
  ];
}
