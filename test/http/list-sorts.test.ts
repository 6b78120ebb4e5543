import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type ApiClient, EMPLOYEES, type Page, refusalOf, succeeded } from '../support/client.ts';
import { makeEndpoint, makeWebhook, registerApplication } from '../support/journey.ts';
import { repeats } from '../support/repeats.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';

repeats('postgres');

type Item = { readonly id: string; readonly name?: string; readonly userName?: string };

/** All pages, with one item each or with `limit`. */
async function paged(client: ApiClient, path: string, limit = 1): Promise<string[]> {
  const names: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await succeeded<Page<Item>>(client.get(`${path}&limit=${limit}${cursor}`));
    names.push(...page.items.map(({ name, userName }) => name ?? userName ?? ''));
    if (page.nextCursor === null) return names;
    assert.ok(names.length < 20, `${path} has no end`);
    cursor = `&cursor=${page.nextCursor}`;
  }
}

/** In order of creation: b, a, B, c, and two with the same name. */
const NAMES = ['b', 'a', 'B', 'c', 'a'];
const SORTED = ['a', 'a', 'b', 'B', 'c'];

type Seeded = ServiceInProcess & { readonly userId: string };

async function seeded(t: TestContext, names: readonly string[] = NAMES): Promise<Seeded> {
  const service = await startService(t);
  const { admin } = service;
  const { id: userId } = await succeeded<Item>(admin.post('users', { userName: 'one', role: 'viewer' }));
  for (const userName of ['three', 'Two']) await succeeded(admin.post('users', { userName, role: 'viewer' }));
  await succeeded(admin.post('event-types', { name: 'order.placed' }));
  for (const name of names) {
    await succeeded(admin.post('applications', { name, userId, active: name !== 'c' }));
    const at = { url: 'https://receiver.example/', secret: 's'.repeat(40), apiKey: 'a'.repeat(32) };
    const endpoint = await makeEndpoint(admin, at, { name, enabled: name !== 'c' });
    await makeWebhook(admin, endpoint, ['order.placed'], { name });
    await succeeded(admin.post('customers', { name, active: name !== 'c' }));
  }
  return { ...service, userId };
}

describe('the sort of a list', () => {
  it('applies across pages, with each item once, with and without a filter, in both directions', async (t) => {
    const { admin, userId } = await seeded(t);
    const lists: readonly [path: string, sort: string, ascending: readonly string[]][] = [
      [`applications?userId=${userId}`, 'name', SORTED],
      [`applications?userId=${userId}`, 'createdAt', NAMES],
      [`applications?userId=${userId}&active=true`, 'name', SORTED.slice(0, -1)],
      ['endpoints?', 'name', SORTED],
      ['endpoints?', 'createdAt', NAMES],
      ['endpoints?enabled=false', 'name', ['c']],
      ['endpoints?name=a', 'name', ['a', 'a']],
      ['webhooks?eventType=order.placed', 'name', SORTED],
      ['webhooks?state=stopped', 'createdAt', NAMES],
      ['webhooks?state=running', 'name', []],
      ['customers?', 'name', SORTED],
      ['customers?', 'createdAt', NAMES],
      ['customers?active=true', 'createdAt', NAMES.filter((name) => name !== 'c')],
      ['users?role=viewer', 'userName', ['one', 'three', 'Two']],
      ['users?role=viewer', 'createdAt', ['one', 'three', 'Two']],
    ];
    for (const [path, sort, names] of lists) {
      assert.deepEqual(await paged(admin, `${path}&sort=${sort}`), names, `${path} ${sort}`);
      assert.deepEqual(await paged(admin, `${path}&sort=-${sort}`), names.toReversed(), `${path} -${sort}`);
    }
  });

  it('folds only letters of ASCII, and neither loses nor repeats a name beyond ASCII', async (t) => {
    const sorted = ['anna', 'Bo', 'zoe', 'Ähre', 'Émile', 'Öko', 'éric', 'öko', 'Šárka'];
    const { admin, userId } = await seeded(t, sorted.toReversed());
    // No two users have names that differ only in case.
    const userNames = sorted.map((name, at) => `${name}-${at}`);
    for (const userName of userNames) await succeeded(admin.post('users', { userName, role: 'operator' }));
    const lists: readonly [path: string, sort: string, ascending: readonly string[]][] = [
      [`applications?userId=${userId}`, 'name', sorted],
      ['endpoints?', 'name', sorted],
      ['webhooks?eventType=order.placed', 'name', sorted],
      ['customers?', 'name', sorted],
      ['users?role=operator', 'userName', userNames],
    ];
    for (const [path, sort, names] of lists) {
      assert.deepEqual(await paged(admin, `${path}&sort=${sort}`, 2), names, `${path} ${sort}`);
      assert.deepEqual(await paged(admin, `${path}&sort=-${sort}`, 2), names.toReversed(), `${path} -${sort}`);
    }
  });

  it('by last use puts items that were never used first', async (t) => {
    const { admin, advance, userId } = await seeded(t);
    const user = { userName: 'caller' };
    const first = await registerApplication(admin, ['employees:view'], { user, application: { name: 'first' } });
    advance(1000);
    await registerApplication(admin, ['employees:view'], { application: { name: 'second' } });
    const path = 'applications?active=true&sort=lastUsedAt';
    // The last one belongs to the calling client.
    const unused = ['b', 'a', 'B', 'a'];
    assert.deepEqual((await paged(admin, path)).slice(0, -1), [...unused, 'first', 'second']);
    advance(1000);
    await succeeded(first.api.get(EMPLOYEES));
    assert.deepEqual((await paged(admin, path)).slice(0, -1), [...unused, 'second', 'first']);
    const latest = await succeeded<Page<Item>>(admin.get('applications?sort=-lastUsedAt&limit=3'));
    assert.deepEqual(
      latest.items.slice(1).map(({ name }) => name),
      ['first', 'second'],
    );
    assert.deepEqual(await paged(admin, `${path}&userId=${userId}`), unused);
  });

  it('continues after an item that was deleted', async (t) => {
    const { admin } = await seeded(t);
    await succeeded(admin.post('endpoints', { name: 'aa', url: 'https://receiver.example/' }));
    const path = 'endpoints?sort=name&limit=3';
    const page = await succeeded<Page<Item>>(admin.get(path));
    assert.deepEqual(
      page.items.map(({ name }) => name),
      ['a', 'a', 'aa'],
    );
    await succeeded(admin.delete(`endpoints/${page.items[2]?.id}`));
    const next = await succeeded<Page<Item>>(admin.get(`${path}&cursor=${page.nextCursor}`));
    assert.deepEqual(
      next.items.map(({ name }) => name),
      ['b', 'B', 'c'],
    );
  });

  it('refuses a cursor of another order or list, and an unknown order, with the name of the parameter', async (t) => {
    const { admin } = await seeded(t);
    const cursorOf = async (path: string): Promise<string> =>
      (await succeeded<Page<Item>>(admin.get(`${path}&limit=1`))).nextCursor ?? assert.fail();
    const byName = await cursorOf('endpoints?sort=name');
    const byId = await cursorOf('endpoints?sort=createdAt');
    const [list, by, , id] = JSON.parse(Buffer.from(byName, 'base64url').toString()) as unknown[];
    const made = (...parts: readonly unknown[]): string => Buffer.from(JSON.stringify(parts)).toString('base64url');
    const bad: readonly [path: string, field: string][] = [
      [`endpoints?cursor=${byName}`, 'cursor'],
      [`endpoints?sort=-name&cursor=${byName}`, 'cursor'],
      [`endpoints?sort=-createdAt&cursor=${byName}`, 'cursor'],
      [`endpoints?sort=name&cursor=${byId}`, 'cursor'],
      [`endpoints?sort=-createdAt&cursor=${byId}`, 'cursor'],
      [`webhooks?sort=name&cursor=${byName}`, 'cursor'],
      [`endpoints?sort=name&cursor=${byName}x`, 'cursor'],
      [`endpoints?sort=name&cursor=${made(list, by, { name: 'a' }, id)}`, 'cursor'],
      [`endpoints?sort=name&cursor=${made(list, by, 'a', 'no id')}`, 'cursor'],
      [`endpoints?sort=name&cursor=${made(list, by, 'a')}`, 'cursor'],
      // The databases compare a value with a column of another type differently, or not at all.
      [`endpoints?sort=name&cursor=${made(list, by, 7, id)}`, 'cursor'],
      [`endpoints?sort=name&cursor=${made(list, by, 'a\0', id)}`, 'cursor'],
      [`endpoints?sort=name&cursor=${made(list, by, '\ud800', id)}`, 'cursor'],
      [`endpoints?sort=-createdAt&cursor=${made(list, '-createdAt', 7, id)}`, 'cursor'],
      [`endpoints?sort=-createdAt&cursor=${made(list, '-createdAt', 'a', id)}`, 'cursor'],
      [`applications?sort=lastUsedAt&cursor=${made('applications', 'lastUsedAt', 'a', id)}`, 'cursor'],
      [`applications?sort=lastUsedAt&cursor=${made('applications', 'lastUsedAt', -1, id)}`, 'cursor'],
      ['endpoints?sort=name&cursor=', 'cursor'],
      ['endpoints?sort=url', 'sort'],
      ['endpoints?sort=--name', 'sort'],
      ['endpoints?sort=', 'sort'],
      ['endpoints?sort=name&sort=name', 'sort'],
      ['endpoints?sort=name;DROP TABLE endpoint', 'sort'],
      ['keys?sort=name', 'sort'],
    ];
    for (const [path, field] of bad) {
      assert.equal((await refusalOf(admin.get(path), 400)).details?.[0]?.field, field, path);
    }
  });
});
