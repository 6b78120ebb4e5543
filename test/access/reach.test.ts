import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { NEAR_SHOWN, REACH_PAGE, type Reach, reachOf, readNear } from '../../src/access/reach.ts';
import type { Application } from '../../src/domain/application.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeApplication, makeUser, openTestServices, type TestServices } from '../support/services.ts';

repeatsInSlowTier('postgres');

type Opened = { readonly s: TestServices; ask(method: string, path: string): Promise<Reach> };

async function open(t: TestContext): Promise<Opened> {
  const s = await openTestServices(t);
  await s.products.create(
    {
      name: 'Shop',
      scopes: [{ name: 'a:view' }, { name: 'b:view' }],
      rules: [
        { methods: ['GET'], path: '/shop/{rest*}', scope: 'a:view', permission: 'staff' },
        { methods: ['GET'], path: '/shop/open', scope: 'b:view' },
      ],
    },
    ACTOR,
  );
  return { s, ask: (method, path) => reachOf({ catalogue: s.products.compiled(), store: s.store }, method, path) };
}

async function application(
  s: TestServices,
  permissions: readonly string[],
  scopes: readonly string[],
): Promise<Application> {
  const { id } = await makeUser(s, { permissions });
  return (await makeApplication(s, { userId: id, scopes })).application;
}

describe('the reach of a request', () => {
  it('is every application that holds the scope, with its obstacle if there is one', async (t) => {
    const { s, ask } = await open(t);
    const able = await application(s, ['staff'], ['a:view', 'b:view']);
    const unpermitted = await application(s, ['a:view'], ['a:view']);
    const inactive = await application(s, ['staff'], ['a:view']);
    await s.applications.patch(inactive.id, { active: false }, ACTOR);
    const userless = await application(s, [], ['a:view']);
    await s.users.patch(userless.userId, { active: false }, ACTOR);
    await application(s, ['staff', 'a:view'], ['b:view']);

    const reach = await ask('GET', '/shop/17');
    assert.ok(reach.rule !== null);
    assert.equal(reach.rule.pattern, '/shop/{rest*}');
    const name = async ({ userId }: Application): Promise<string> => (await s.users.get(userId)).userName;
    assert.deepEqual(
      reach.applications.map(({ id, obstacle }) => [id, obstacle]),
      [
        [able.id, null],
        [unpermitted.id, `the user ${await name(unpermitted)} lacks the permission staff`],
        [inactive.id, 'the application is not active'],
        [
          userless.id,
          `the user ${await name(userless)} is not active, the user ${await name(userless)} lacks the permission staff`,
        ],
      ],
    );
  });

  it('is decided by the same rule as a request', async (t) => {
    const { s, ask } = await open(t);
    const holder = await application(s, ['b:view'], ['b:view']);
    const reach = await ask('HEAD', '/shop/open?x');
    assert.deepEqual([reach.rule?.scope, reach.rule?.permission], ['b:view', 'b:view']);
    assert.deepEqual(reach.rule === null ? [] : reach.applications.map(({ id }) => id), [holder.id]);
  });

  it('is nobody if no rule matches or the path is ambiguous', async (t) => {
    const { ask } = await open(t);
    for (const [method, path, reason] of [
      ['POST', '/shop/17', /no rule/],
      ['GET', '/shop', /no rule/],
      ['get', '/shop/17', /no rule/],
      ['GET', '/shop/../shop/17', /dot segment/],
      ['GET', 'shop', /slash/],
    ] as const) {
      const reach = await ask(method, path);
      assert.ok(reach.rule === null);
      assert.match(reach.reason, reason);
    }
  });

  it('lists every holder of the scope, however many there are', async (t) => {
    const { s, ask } = await open(t);
    const first = await application(s, ['staff'], ['a:view']);
    const insert = `
      INSERT INTO application SELECT @id, customer_id, name, user_id, @id, secret_hash, secret_created_at, NULL, NULL,
        access_token_validity_seconds, scopes, active, tokens_revoked_through, created_at, updated_at
      FROM application WHERE id = @first`;
    const ids = Array.from({ length: REACH_PAGE * 2 }, () => s.ids.uuid());
    await s.database.commit(ids.map((id) => ({ sql: insert, params: { id, first: first.id } })));
    const reach = await ask('GET', '/shop/17');
    assert.deepEqual(reach.rule === null ? [] : reach.applications.map(({ id }) => id), [first.id, ...ids]);
  });

  it('finds the application that lacks the least among all, however many are newer', async (t) => {
    const { s, ask } = await open(t);
    const near = await application(s, ['staff'], ['b:view']);
    const far = await application(s, [], ['b:view']);
    const insert = `
      INSERT INTO application SELECT @id, customer_id, name, user_id, @id, secret_hash, secret_created_at, NULL, NULL,
        access_token_validity_seconds, scopes, active, tokens_revoked_through, created_at, updated_at
      FROM application WHERE id = @far`;
    const ids = Array.from({ length: REACH_PAGE + 1 }, () => s.ids.uuid());
    await s.database.commit(ids.map((id) => ({ sql: insert, params: { id, far: far.id } })));
    const reach = await ask('GET', '/shop/17');
    assert.ok(reach.rule !== null);
    assert.deepEqual(reach.applications, []);
    const nearest = await readNear(s.store, reach.rule);
    assert.deepEqual([nearest.near.length, nearest.isWhole], [NEAR_SHOWN, true]);
    assert.deepEqual([nearest.near[0]?.id, nearest.near[0]?.missing], [near.id, ['the scope a:view']]);
    assert.equal(nearest.near[1]?.missing.length, 2);
  });
});
