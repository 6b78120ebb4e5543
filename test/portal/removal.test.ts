/** A resource that another one needs has no button *Delete*: its page says why it stays, and what to do instead. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { succeeded } from '../support/client.ts';
import { created } from '../support/customers.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

it('a record that something needs has a reason in place of the button that deletes it', async (t) => {
  const service = await startService(t);
  const { admin } = service;
  const { token } = await newSession(service, 'administrator');
  const scopes = [{ name: 'orders:view', description: 'See orders.' }];
  const { id: product } = await created(admin, 'products', { name: 'Orders API', scopes, rules: [] });
  const account = { userName: 'sync', role: 'service', permissions: ['orders:view'] };
  const { id: user } = await created(admin, 'users', account);
  const made = { name: 'Stock sync', userId: user, scopes: ['orders:view'] };
  const { id: application } = await created(admin, 'applications', made);
  const cases = [
    [
      `/users/${user}`,
      'This service account cannot be deleted while an application acts as it.',
      `Delete <a href="/applications/${application}">Stock sync</a> first, or deactivate the service account`,
    ],
    [
      `/products/${product}`,
      'This product cannot be deleted while applications hold its scopes.',
      `href="/applications/${application}"`,
    ],
  ] as const;
  const open = async (path: string): Promise<string> => (await request(`${service.url}${path}`, { token })).text;
  for (const [path, reason, way] of cases) {
    const [page, question] = [await open(path), await open(`${path}/delete`)];
    for (const text of [page, question]) assert.ok(text.includes(reason) && text.includes(way), path);
    assert.ok(!page.includes(`href="${path}/delete"`), path);
    assert.ok(!question.includes('button-danger'), path);
  }
  await succeeded(admin.delete(`applications/${application}`));
  for (const [path, reason] of cases) {
    const [page, question] = [await open(path), await open(`${path}/delete`)];
    assert.ok(page.includes(`href="${path}/delete"`) && !page.includes(reason), path);
    assert.ok(question.includes('button-danger'), path);
  }
});
