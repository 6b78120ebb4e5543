import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ApiClient, EMPLOYEES, type Page, refusalOf, succeeded } from '../support/client.ts';
import { registerApplication } from '../support/journey.ts';
import { repeats } from '../support/repeats.ts';
import { startService } from '../support/service.ts';
import { pgpVector } from '../support/vectors.ts';

repeats('postgres');

type Named = { readonly name?: string; readonly userName?: string; readonly action?: string; readonly id?: string };

async function listed(client: ApiClient, path: string): Promise<string[]> {
  const { items } = await succeeded<Page<Named>>(client.get(path));
  return items.map(({ name, userName, action }) => name ?? userName ?? action ?? '');
}

const made = (client: ApiClient, path: string, body: object): Promise<{ id: string; clientId: string }> =>
  succeeded(client.post(path, body));

describe('a list', () => {
  it('of applications and users shows items that match all filters', async (t) => {
    const { admin } = await startService(t);
    const ada = await made(admin, 'users', { userName: 'ada', role: 'viewer' });
    await made(admin, 'users', { userName: 'bob', role: 'viewer', active: false });
    const one = await made(admin, 'applications', { name: 'one', userId: ada.id });
    await made(admin, 'applications', { name: 'two', userId: ada.id, active: false });
    const expected: readonly [path: string, names: readonly string[]][] = [
      [`applications?clientId=${one.clientId}`, ['one']],
      ['applications?clientId=spc_unknown', []],
      ['applications?name=two', ['two']],
      ['applications?name=tw', []],
      [`applications?userId=${ada.id}`, ['one', 'two']],
      [`applications?userId=${ada.id}&active=false`, ['two']],
      [`applications?userId=${ada.id}&active=true&name=two`, []],
      ['users?userName=ada', ['ada']],
      ['users?role=viewer', ['ada', 'bob']],
      ['users?role=viewer&active=true', ['ada']],
      ['users?active=false', ['bob']],
      [`users?userName=${encodeURIComponent("' OR 1=1 --")}`, []],
    ];
    for (const [path, names] of expected) assert.deepEqual(await listed(admin, path), names, path);
  });

  it('of endpoints and webhooks does the same', async (t) => {
    const { admin } = await startService(t);
    const url = 'https://receiver.example/a';
    const a = await made(admin, 'endpoints', { name: 'a', url });
    const b = await made(admin, 'endpoints', { name: 'b', url: `${url}?b`, enabled: false });
    await made(admin, 'event-types', { name: 'order.placed' });
    const first = await made(admin, 'webhooks', { name: 'first', endpointId: a.id, eventTypes: ['order.placed'] });
    await made(admin, 'webhooks', { name: 'second', endpointId: b.id, eventTypes: ['order.*', 'webhook.*'] });
    await succeeded(admin.post(`webhooks/${first.id}/start`, {}));
    const expected: readonly [path: string, names: readonly string[]][] = [
      ['endpoints?name=a', ['a']],
      [`endpoints?url=${encodeURIComponent(`${url}?b`)}`, ['b']],
      ['endpoints?enabled=true', ['a']],
      ['endpoints?enabled=false&name=a', []],
      [`webhooks?endpointId=${b.id}`, ['second']],
      ['webhooks?state=started', ['first']],
      ['webhooks?state=stopped', ['second']],
      ['webhooks?eventType=order.placed', ['first']],
      ['webhooks?eventType=order.*', ['second']],
      [`webhooks?eventType=order.*&endpointId=${a.id}`, []],
    ];
    for (const [path, names] of expected) assert.deepEqual(await listed(admin, path), names, path);
  });

  it('of anything that customers have shows that of one of them, or of the operator', async (t) => {
    const { admin } = await startService(t);
    const customer = await made(admin, 'customers', { name: 'Acme' });
    const publicKey = pgpVector('curve25519');
    const bodies: readonly [path: string, body: (name: string, owner: object) => object | Promise<object>][] = [
      ['users', (userName, owner) => ({ ...owner, userName })],
      ['endpoints', (name, owner) => ({ ...owner, name, url: 'https://receiver.example/a' })],
      ['keys', (name, owner) => ({ ...owner, name, publicKey })],
      ['webhooks', (name, owner) => ({ ...owner, name, mode: 'pull', eventTypes: ['webhook.*'] })],
      [
        'applications',
        async (name, owner) => {
          const { id } = await made(admin, 'users', { ...owner, userName: `of-${name}` });
          return { ...owner, name, userId: id };
        },
      ],
    ];
    for (const [path, body] of bodies) {
      await made(admin, path, await body('theirs', { customerId: customer.id }));
      await made(admin, path, await body('ours', {}));
      assert.deepEqual(await listed(admin, `${path}?customerId=${customer.id}`), ['theirs'], path);
      const ours = await listed(admin, `${path}?customerId=`);
      assert.ok(ours.includes('ours') && !ours.includes('theirs'), `${path}: ${ours}`);
    }
  });

  it('of audit entries has filters for time, actor, action and target', async (t) => {
    const { admin, advance, signIn, clock } = await startService(t);
    const { id } = await made(admin, 'users', { userName: 'ada' });
    await succeeded(admin.patch(`users/${id}`, { displayName: 'Ada' }));
    const [entry] = (await succeeded<Page<{ actor: string }>>(admin.get('audit?limit=1'))).items;
    advance(60_000);
    const since = new Date(clock()).toISOString();
    const later = await signIn();
    await succeeded(later.patch(`users/${id}`, { displayName: null }));
    const about = `target=user:${id}`;
    const expected: readonly [path: string, actions: readonly string[]][] = [
      [`audit?${about}`, ['user.update', 'user.update', 'user.create']],
      [`audit?${about}&action=user.create`, ['user.create']],
      [`audit?${about}&action=user.`, ['user.update', 'user.update', 'user.create']],
      [`audit?${about}&action=user`, []],
      [`audit?target=user:${id.slice(0, 8)}`, []],
      [`audit?${about}&since=${since}`, ['user.update']],
      [`audit?${about}&until=${since}`, ['user.update', 'user.create']],
      [`audit?${about}&actor=${entry?.actor}&limit=1`, ['user.update']],
      [`audit?${about}&actor=user:nobody`, []],
    ];
    for (const [path, actions] of expected) assert.deepEqual(await listed(later, path), actions, path);
  });

  it('of employees has filters for name and external id, within the divisions of the user', async (t) => {
    const { admin } = await startService(t);
    const scopes = ['employees:create', 'employees:view'];
    const { api } = await registerApplication(admin, scopes);
    const limited = await registerApplication(admin, scopes, { user: { constraints: { divisions: ['sales'] } } });
    const person = { firstName: 'A', lastName: 'B', email: 'a@b.example' };
    await succeeded(api.post(EMPLOYEES, { ...person, userName: 'ada', externalId: 'x-1', division: 'sales' }));
    await succeeded(api.post(EMPLOYEES, { ...person, userName: 'bob', externalId: 'x-2', division: 'board' }));
    assert.deepEqual(await listed(api, `${EMPLOYEES}?userName=bob`), ['bob']);
    assert.deepEqual(await listed(api, `${EMPLOYEES}?externalId=x-1`), ['ada']);
    assert.deepEqual(await listed(api, `${EMPLOYEES}?externalId=x-1&division=board`), []);
    assert.deepEqual(await listed(limited.api, `${EMPLOYEES}?userName=bob`), []);
    assert.deepEqual(await listed(limited.api, `${EMPLOYEES}?userName=ada`), ['ada']);
  });

  it('keeps its filter from page to page', async (t) => {
    const { admin } = await startService(t);
    const url = 'https://receiver.example/a';
    for (let n = 0; n < 6; n++) await made(admin, 'endpoints', { name: `e${n}`, url, enabled: n % 2 === 0 });
    const names: string[] = [];
    for (let cursor = ''; ; ) {
      const page = await succeeded<Page<Named>>(admin.get(`endpoints?enabled=true&limit=2${cursor}`));
      names.push(...page.items.map(({ name = '' }) => name));
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    assert.deepEqual(names, ['e0', 'e2', 'e4']);
  });

  const bad: readonly [path: string, field: string][] = [
    ['users?active=yes', 'active'],
    ['users?role=root', 'role'],
    ['users?active=true&active=true', 'active'],
    ['webhooks?state=asleep', 'state'],
    ['endpoints?enabled=', 'enabled'],
    ['audit?since=yesterday', 'since'],
    ['audit?since=2026-11-22T00:00:00.000Z&until=2026-11-21T00:00:00.000Z', 'until'],
    ['keys?name=a', 'name'],
  ];
  it('refuses an unknown filter or an invalid value with the name of the parameter', async (t) => {
    const { admin } = await startService(t);
    for (const [path, field] of bad) {
      assert.equal((await refusalOf(admin.get(path), 400)).details?.[0]?.field, field, path);
    }
  });
});
