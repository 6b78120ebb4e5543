/** A user of the portal grants no more than they hold (contract §4.4): here an administrator of one division. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { created } from '../support/customers.ts';
import { request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

it('refuses every form that would grant or take over more, says why, and offers none of it', async (t) => {
  const { url, services, admin: api } = await startService(t);
  const customer = await created(api, 'customers', { name: 'Acme' });
  const me = await services.users.create(
    { userName: 'ada', role: 'administrator', constraints: { divisions: ['sales'] } },
    COMMAND_LINE,
  );
  const begun = await services.sessions.begin(me, 'password', { address: '127.0.0.1', userAgent: 'a test' });
  assert.ok(begun);
  const admin = (await services.users.list('', 10)).find(({ userName }) => userName === 'admin');
  const [application] = await services.applications.list('', 10);
  assert.ok(admin && application);
  const stateNow = async (): Promise<unknown> => [
    await services.users.list('', 10),
    await services.applications.list('', 10),
    await services.sessions.ofUser(me.id),
  ];
  const send = (path: string, form?: Record<string, string>) =>
    request(url + path, { token: begun.token, ...(form && { form }) });
  const before = await stateNow();

  const user = { role: 'viewer', reach: 'all' };
  const scopes = { accessTokenValiditySeconds: '3600', scopes: 'employees:view' };
  const forms: readonly [string, Record<string, string>][] = [
    ['/users/new', { ...user, userName: 'new' }],
    [`/users/${me.id}/edit`, { userName: 'ada', role: 'administrator', reach: 'all' }],
    [`/users/${admin.id}/edit`, { ...user, userName: 'admin', reach: 'some', divisions: 'sales' }],
    ['/applications/new', { ...scopes, name: 'Shop', actsAs: 'existing', userId: 'admin' }],
    ['/applications/new', { ...scopes, name: 'Shop', actsAs: 'new', accountName: 'shop' }],
    [`/applications/${application.id}/edit`, { ...scopes, name: 'Shop', userId: 'ada' }],
    [`/applications/${application.id}/regenerate-secret`, { overlapSeconds: '0' }],
    [
      `/customers/${customer.id}/portal-link`,
      { role: 'administrator', expiresInSeconds: '600', sessionSeconds: '600' },
    ],
    [`/customers/${customer.id}/open`, {}],
  ];
  for (const [path, form] of forms) {
    const reply = await send(path, form);
    assert.equal(reply.status, 401, path);
    assert.match(reply.text, /access without a limit to divisions/, path);
  }
  const buttons = [
    ...['deactivate', 'invite', 'sign-out', 'delete'].map((verb) => `/users/${admin.id}/${verb}`),
    ...['deactivate', 'revoke-tokens', 'delete'].map((verb) => `/applications/${application.id}/${verb}`),
  ];
  for (const path of buttons) {
    const reply = await send(path, {});
    assert.equal(reply.status, 303, path);
    assert.match(reply.headers.get('set-cookie') ?? '', /flash/, path);
    const told = await request(url + path.replace(/\/[a-z-]+$/, ''), {
      headers: { cookie: `${String(reply.headers.get('set-cookie')).split(';')[0]}; ${SESSION_COOKIE}=${begun.token}` },
    });
    assert.match(told.text, /access without a limit to divisions/, path);
  }
  assert.deepEqual(await stateNow(), before);

  for (const path of [`/users/${admin.id}`, `/applications/${application.id}`]) {
    const { text } = await send(path);
    assert.match(text, /rights that you do not have/, path);
    assert.doesNotMatch(text, /\/(edit|deactivate|invite|delete|regenerate-secret|revoke-tokens)"/, path);
  }
  assert.match((await send('/users/new')).text, />\nsales<\/textarea>/);
});
