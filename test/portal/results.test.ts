/** Forms that make something and show a secret: each is done once, also where it is sent again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SESSION_COOKIE } from '../../src/portal/cookies.ts';
import { FORGERY_FIELD, formToken } from '../../src/portal/forgery.ts';
import { SERVICE } from '../../src/resources/acting.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

describe('a form that shows a secret', () => {
  it('is processed once if it is sent twice, at once or later', async (t) => {
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
});
