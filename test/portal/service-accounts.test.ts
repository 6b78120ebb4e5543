/** The pages of accounts that only applications use, and of these applications, by requests. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SEEN_FIELD } from '../../src/portal/parts/fields.ts';
import { succeeded } from '../support/client.ts';
import { created } from '../support/customers.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

it('a service account has no texts, fields and roles of people, and keeps its role', async (t) => {
  const service = await startService(t);
  const { admin } = service;
  const { token } = await newSession(service, 'administrator');
  const { id: account } = await created(admin, 'users', { userName: 'sync', role: 'service', permissions: ['a:view'] });
  const { id: person } = await created(admin, 'users', { userName: 'kim', role: 'viewer' });
  const open = async (path: string): Promise<string> => (await request(`${service.url}${path}`, { token })).text;
  const page = await open(`/users/${account}`);
  assert.match(page, /A service account\. Only applications act as it, and nobody signs in with it\./);
  assert.doesNotMatch(page, /In this portal|Email address|act as this user/);
  assert.match(await open(`/users/${account}/delete`), /Delete the service account sync\?/);
  const form = await open(`/users/${account}/edit`);
  assert.match(form, /Account name/);
  assert.doesNotMatch(form, /name="(role|email)"|signs in|class="more-fields user-rights"/);
  assert.match(await open(`/users/${person}/edit`), /name="role"/);
  const sent = { userName: 'sync-2', role: 'administrator', permissions: 'a:view', reach: 'all' };
  const seen = new RegExp(`name="${SEEN_FIELD}" value="([^"]*)"`).exec(form)?.[1]?.replaceAll('&quot;', '"') ?? '';
  await request(`${service.url}/users/${account}/edit`, { token, form: { ...sent, [SEEN_FIELD]: seen } });
  const { userName, role } = await service.services.users.get(account);
  assert.deepEqual({ userName, role }, { userName: 'sync-2', role: 'service' });
});

it('the list of users offers to invite people without a password', async (t) => {
  const service = await startService(t);
  const [administrator, viewer] = [await newSession(service, 'administrator'), await newSession(service, 'viewer')];
  const { id } = await created(service.admin, 'users', { userName: 'kim', role: 'viewer' });
  await created(service.admin, 'users', { userName: 'sync', role: 'service' });
  const list = async (token: string): Promise<string> => (await request(`${service.url}/users`, { token })).text;
  const shown = await list(administrator.token);
  assert.ok(shown.includes(`action="/users/${id}/invite"`));
  assert.ok(!shown.includes('aria-label="Invite: sync"'));
  assert.ok(!(await list(viewer.token)).includes('/invite"'));
});

it('the page of a new secret offers to revoke tokens only if there are some', async (t) => {
  const service = await startService(t);
  const { admin } = service;
  const { token } = await newSession(service, 'administrator');
  const { id: userId } = await created(admin, 'users', { userName: 'sync', role: 'service' });
  const { id } = await created(admin, 'applications', { name: 'Sync', userId, scopes: [] });
  const ask = async (application: string): Promise<string> =>
    (await request(`${service.url}/applications/${application}/regenerate-secret`, { token })).text;
  const without = await ask(id);
  assert.match(without, /It has no valid tokens\./);
  assert.match(without, /Both secrets work until <time/);
  assert.doesNotMatch(without, /revokeTokens/);
  const { items } = await succeeded<{ items: { id: string; name: string }[] }>(admin.get('applications'));
  const used = items.find(({ name }) => name !== 'Sync') ?? assert.fail();
  assert.match(await ask(used.id), /name="revokeTokens"/);
  const removal = await request(`${service.url}/applications/${id}/delete`, { token });
  assert.match(removal.text, /It was never used\.\s+The account sync stays\./);
});
