/** Nobody grants, or takes over, more than they hold (contract §4.4): every verb that grants, with every kind of excess, over HTTP. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type ApiClient, createClient, refusalOf, succeeded, tokenFor } from '../support/client.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';

type Made = { readonly id: string; readonly clientId: string; readonly clientSecret: string };
type Fields = Readonly<Record<string, unknown>>;

const ACCESS = ['users:manage', 'applications:manage', 'catalogue:manage'];
/** The rights of the caller, which the tables exceed: an operator of one division. */
const MINE = { role: 'operator', permissions: ACCESS, constraints: { divisions: ['sales'] } } as const;

type World = {
  readonly service: ServiceInProcess;
  readonly admin: ApiClient;
  readonly weak: ApiClient;
  readonly weakUser: string;
  readonly user: (more?: Fields) => Promise<string>;
  readonly application: (userId: string, scopes: readonly string[], more?: Fields) => Promise<Made>;
};

let count = 0;
function unique(what: string): string {
  count += 1;
  return `${what}-${count}`;
}

async function openWorld(t: TestContext): Promise<World> {
  const service = await startService(t, { logLevel: 'warn' });
  const { admin, url } = service;
  const user = async (more: Fields = {}): Promise<string> =>
    (await succeeded<Made>(admin.post('users', { userName: unique('user'), ...more }))).id;
  const application = (userId: string, scopes: readonly string[], more: Fields = {}): Promise<Made> =>
    succeeded<Made>(admin.post('applications', { name: unique('application'), userId, scopes, ...more }));
  const weakUser = await user(MINE);
  const { clientId, clientSecret } = await application(weakUser, ACCESS);
  const weak = createClient(url, await tokenFor(url, { clientId, clientSecret }));
  return { service, admin, weak, weakUser, user, application };
}

/** All that a change of rights could show in, and the newest entry of the audit log; not when who asks was last there. */
async function stateOf({ admin, service: { services } }: World): Promise<string> {
  const lists = ['users?limit=200', 'applications?limit=200', 'products?limit=200', 'audit?limit=1'];
  const shown = await Promise.all(lists.map(async (path) => (await admin.get(path)).body));
  const hashes = (await services.applications.list('', 500)).map(({ secretHash, tokensRevokedThrough }) => [
    Buffer.from(secretHash).toString('hex'),
    tokensRevokedThrough,
  ]);
  return JSON.stringify([shown, hashes], (name, value: unknown) => (name === 'lastUsedAt' ? undefined : value));
}

async function refusedWithoutTrace(world: World, work: () => ReturnType<ApiClient['post']>, says: string) {
  const before = await stateOf(world);
  const { code, description } = await refusalOf(work(), 401);
  assert.equal(code, 'insufficient_permission', description);
  assert.ok(description.includes(says), `${description} does not name ${says}`);
  assert.equal(await stateOf(world), before);
}

/** A right that the caller lacks, in an account that otherwise has no more than it. */
const EXCESSES = [
  {
    kind: 'a higher role',
    rights: { role: 'administrator', constraints: MINE.constraints },
    says: 'the role administrator',
  },
  {
    kind: 'another permission',
    rights: { role: 'viewer', permissions: ['audit:view'], constraints: MINE.constraints },
    says: 'the permission audit:view',
  },
  { kind: 'no constraint', rights: { role: 'viewer' }, says: 'access without a limit to divisions' },
  {
    kind: 'another division',
    rights: { role: 'viewer', constraints: { divisions: ['sales', 'hr'] } },
    says: 'the division hr',
  },
] as const;
const WITHIN = { role: 'viewer', permissions: ['users:manage'], constraints: { divisions: ['sales'] } } as const;

const ON_USERS: readonly [string, (weak: ApiClient, id: string) => ReturnType<ApiClient['post']>][] = [
  ['rename', (weak, id) => weak.patch(`users/${id}`, { displayName: 'x' })],
  ['send an empty change of', (weak, id) => weak.patch(`users/${id}`, {})],
  ['strip', (weak, id) => weak.patch(`users/${id}`, WITHIN)],
  ['deactivate', (weak, id) => weak.patch(`users/${id}`, { active: false })],
  ['invite', (weak, id) => weak.post(`users/${id}/invite`)],
  ['delete', (weak, id) => weak.delete(`users/${id}`)],
];

const ON_APPLICATIONS: readonly [
  string,
  (weak: ApiClient, id: string, userId: string) => ReturnType<ApiClient['post']>,
][] = [
  ['rename', (weak, id) => weak.patch(`applications/${id}`, { name: 'x' })],
  ['send an empty change of', (weak, id) => weak.patch(`applications/${id}`, {})],
  ['take over', (weak, id, userId) => weak.patch(`applications/${id}`, { userId, scopes: [] })],
  ['deactivate', (weak, id) => weak.patch(`applications/${id}`, { active: false })],
  ['regenerate the secret of', (weak, id) => weak.post(`applications/${id}/regenerate-secret`)],
  ['revoke the tokens of', (weak, id) => weak.post(`applications/${id}/revoke-tokens`)],
  ['delete', (weak, id) => weak.delete(`applications/${id}`)],
];

describe('a caller with some rights', () => {
  it('cannot create or change users with more rights', async (t) => {
    const world = await openWorld(t);
    const { weak, weakUser, user } = world;
    for (const { kind, rights, says } of EXCESSES) {
      await t.test(`does not create a user with ${kind}`, () =>
        refusedWithoutTrace(world, async () => weak.post('users', { userName: unique('new'), ...rights }), says),
      );
      for (const [who, id] of [
        ['itself', weakUser],
        ['another', await user(WITHIN)],
      ] as const) {
        await t.test(`does not give ${who} ${kind}`, () => {
          const patch = 'constraints' in rights ? rights : { ...rights, constraints: { divisions: null } };
          return refusedWithoutTrace(world, async () => weak.patch(`users/${id}`, patch), says);
        });
      }
      const stronger = await user(rights);
      for (const [verb, work] of ON_USERS) {
        await t.test(`does not ${verb} a user with ${kind}`, () =>
          refusedWithoutTrace(world, async () => work(weak, stronger), says),
        );
      }
    }
  });

  it('cannot register or change applications with more rights', async (t) => {
    const world = await openWorld(t);
    const { weak, weakUser, user, application } = world;
    const own = await application(weakUser, ['users:manage']);
    const scope = { kind: 'another scope', userId: weakUser, scopes: ['audit:view'], says: 'the scope audit:view' };
    const users = EXCESSES.map(async ({ kind, rights, says }) => {
      return { kind: `a user with ${kind}`, userId: await user(rights), scopes: ['users:manage'], says };
    });
    for (const { kind, userId, scopes, says } of [scope, ...(await Promise.all(users))]) {
      await t.test(`does not register one with ${kind}`, () =>
        refusedWithoutTrace(world, async () => weak.post('applications', { name: 'x', userId, scopes }), says),
      );
      await t.test(`does not give its own ${kind}`, () =>
        refusedWithoutTrace(world, async () => weak.patch(`applications/${own.id}`, { userId, scopes }), says),
      );
      const stronger = await application(userId, scopes);
      const inactive = await application(userId, scopes, { active: false });
      for (const [verb, work] of ON_APPLICATIONS) {
        await t.test(`does not ${verb} one with ${kind}`, () =>
          refusedWithoutTrace(world, async () => work(weak, stronger.id, weakUser), says),
        );
      }
      await t.test(`does not activate one with ${kind}`, () =>
        refusedWithoutTrace(world, async () => weak.patch(`applications/${inactive.id}`, { active: true }), says),
      );
    }
  });

  it('can do so for users and applications with the same or fewer rights', async (t) => {
    const { weak, weakUser, user, application } = await openWorld(t);
    for (const [, work] of ON_USERS) await succeeded(work(weak, await user(WITHIN)));
    for (const [, work] of ON_APPLICATIONS) {
      const { id } = await application(await user(WITHIN), ['users:manage']);
      await succeeded(work(weak, id, weakUser));
    }
    const { id: userId } = await succeeded<Made>(weak.post('users', { userName: unique('new'), ...WITHIN }));
    await succeeded(weak.post('applications', { name: 'x', userId, scopes: ['users:manage'] }));
    await succeeded(weak.patch(`users/${weakUser}`, { displayName: 'Me' }));
  });

  it('is limited by the scopes of its token, even if its user is an administrator', async (t) => {
    const world = await openWorld(t);
    const { admin, application, service } = world;
    const { items } = await succeeded<{ items: { id: string; userName: string }[] }>(admin.get('users'));
    const administrator = items.find(({ userName }) => userName === 'admin')?.id ?? '';
    const { clientId, clientSecret } = await application(administrator, ['users:manage', 'applications:manage']);
    const weak = createClient(service.url, await tokenFor(service.url, { clientId, clientSecret }));
    for (const work of [
      () => weak.post(`users/${administrator}/invite`),
      () => weak.post('users', { userName: 'second', role: 'administrator' }),
    ]) {
      await refusedWithoutTrace(world, async () => work(), 'the role administrator');
    }
    const scopes = ['webhooks:manage'];
    await refusedWithoutTrace(
      world,
      async () => weak.post('applications', { name: 'x', userId: administrator, scopes }),
      'the scope webhooks:manage',
    );
    await succeeded(weak.post('applications', { name: 'x', userId: administrator, scopes: ['users:manage'] }));
  });
});

const SHOP = {
  name: 'Shop',
  scopes: [{ name: 'orders:view' }, { name: 'payroll:view' }, { name: 'unused:view' }],
  rules: [
    { methods: ['GET'], path: '/shop/{path*}', scope: 'orders:view' },
    { methods: ['GET'], path: '/shop/payroll/{month}', scope: 'payroll:view' },
  ],
};
const [ORDERS, PAYROLL] = SHOP.rules;

/** By a caller with the scope and permission `orders:view`, beside an application with `payroll:view`. */
const RULES: readonly [
  string,
  { readonly rules?: readonly unknown[]; readonly scopes?: readonly unknown[] },
  string | null,
][] = [
  ['gives another path to its own scope', { rules: [ORDERS, { ...PAYROLL, scope: 'orders:view' }] }, 'payroll:view'],
  ['drops the rule of a path that a wider rule then takes', { rules: [ORDERS] }, 'payroll:view'],
  [
    'narrows a rule, so that a wider rule takes the rest',
    { rules: [ORDERS, { ...PAYROLL, path: '/shop/payroll/january' }] },
    'payroll:view',
  ],
  [
    'asks for a permission of its own in place of another',
    { rules: [ORDERS, { ...PAYROLL, permission: 'orders:view' }] },
    'payroll:view',
  ],
  [
    'opens a path that nobody could call',
    { rules: [ORDERS, PAYROLL, { methods: ['GET'], path: '/staff', scope: 'orders:view' }] },
    'every right of the administration',
  ],
  [
    'opens another method',
    { rules: [{ ...ORDERS, methods: ['GET', 'DELETE'] }, PAYROLL] },
    'every right of the administration',
  ],
  [
    'opens HEAD alone of a path of another',
    { rules: [ORDERS, PAYROLL, { methods: ['HEAD'], path: '/shop/payroll/{month}', scope: 'orders:view' }] },
    'payroll:view',
  ],
  ['gives a path that it may call to another scope', { rules: [{ ...ORDERS, scope: 'payroll:view' }, PAYROLL] }, null],
  [
    'opens a path to a scope that no application holds',
    { rules: [ORDERS, PAYROLL, { methods: ['GET'], path: '/staff', scope: 'unused:view' }] },
    null,
  ],
  ['adds a scope', { scopes: [...SHOP.scopes, { name: 'more:view' }] }, null],
];

describe('a caller with catalogue:manage', () => {
  for (const [what, patch, says] of RULES) {
    it(`${what}${says === null ? '' : ': refused'}`, async (t) => {
      const world = await openWorld(t);
      const { admin, user, application, service } = world;
      const { id } = await succeeded<Made>(admin.post('products', SHOP));
      await application(await user({ permissions: ['payroll:view'] }), ['payroll:view']);
      const rights = ['catalogue:manage', 'orders:view'];
      const made = await application(await user({ permissions: rights }), rights);
      const weak = createClient(service.url, await tokenFor(service.url, made));
      if (says === null) await succeeded(weak.patch(`products/${id}`, patch));
      else await refusedWithoutTrace(world, async () => weak.patch(`products/${id}`, patch), says);
    });
  }

  it('cannot delete a product whose paths would fall to a wider rule of another product', async (t) => {
    const world = await openWorld(t);
    const { admin, weak, user, application } = world;
    await succeeded(admin.post('products', { ...SHOP, scopes: SHOP.scopes.slice(0, 1), rules: [ORDERS] }));
    await application(await user(), ['orders:view']);
    const closed = { name: 'Closed', scopes: [{ name: 'closed:view' }] };
    const rules = [{ methods: ['GET'], path: '/shop/closed', scope: 'closed:view' }];
    const { id } = await succeeded<Made>(admin.post('products', { ...closed, rules }));
    await refusedWithoutTrace(world, async () => weak.delete(`products/${id}`), 'the scope closed:view');
    await succeeded(admin.delete(`products/${id}`));
  });

  it('adds a product of new scopes, but cannot grant them', async (t) => {
    const world = await openWorld(t);
    const { weak, weakUser } = world;
    await succeeded(weak.post('products', SHOP));
    const input = { name: 'x', userId: weakUser, scopes: ['orders:view'] };
    await refusedWithoutTrace(world, async () => weak.post('applications', input), 'the scope orders:view');
  });
});

describe('a caller with every right of the administration', () => {
  it('can grant rights that nobody holds yet', async (t) => {
    const { admin, user, application } = await openWorld(t);
    await succeeded(admin.post('products', SHOP));
    const userId = await user({ role: 'administrator', permissions: ['orders:view', 'whatever:else'] });
    const { id } = await application(userId, ['orders:view']);
    await succeeded(admin.post(`applications/${id}/regenerate-secret`));
    await succeeded(admin.post(`users/${userId}/invite`));
    await succeeded(admin.delete(`applications/${id}`));
    await succeeded(admin.delete(`users/${userId}`));
  });
});

describe('an invitation', () => {
  it('ends when the role of the account changes', async (t) => {
    const { admin, weak, user, service } = await openWorld(t);
    const id = await user(WITHIN);
    const { url } = await succeeded<{ url: string }>(weak.post(`users/${id}/invite`));
    const path = new URL(url).pathname;
    assert.equal((await fetch(service.url + path)).status, 200);
    await succeeded(admin.patch(`users/${id}`, { role: 'administrator' }));
    assert.equal((await fetch(service.url + path)).status, 404);
  });
});
