import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Caller, insufficientPermission } from '../../src/access/gate.ts';
import { canonicalPath } from '../../src/domain/path.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import { refused } from '../support/refusals.ts';
import {
  ACTOR,
  makeApplication,
  makeCaller,
  makeUser,
  openTestServices,
  type TestServices,
  tokenOf,
} from '../support/services.ts';

const EMPLOYEES = '/services/api/x/users/v1/employees';
const challengeOf = ({ headers }: Refusal): string | undefined => headers['WWW-Authenticate'];

function authorize({ gate }: TestServices, caller: Caller, method: string, target: string): unknown {
  const path = canonicalPath(target);
  assert.ok(path.ok);
  return gate.authorize(caller, method, path.segments);
}

describe('the gate’s authorization', () => {
  it('returns the rule that allows the request', async (t) => {
    const s = await openTestServices(t);
    const caller = await makeCaller(s, ['employees:view']);
    assert.deepEqual(authorize(s, caller, 'GET', `${EMPLOYEES}/5?x=1`), {
      scope: 'employees:view',
      permission: 'employees:view',
      pattern: `${EMPLOYEES}/{userId}`,
      productName: 'Employees',
      params: { userId: '5' },
    });
  });

  const table: readonly [
    what: string,
    method: string,
    path: string,
    code: 'insufficient_scope' | 'insufficient_permission',
    challenge: string,
  ][] = [
    [
      'a path that no rule names',
      'GET',
      '/nowhere',
      'insufficient_scope',
      'error_description="no rule of the API catalogue names this path and method"',
    ],
    [
      'a method that no rule names',
      'DELETE',
      EMPLOYEES,
      'insufficient_scope',
      'error_description="no rule of the API catalogue names this path and method"',
    ],
    [
      'a path with a slash more',
      'GET',
      `${EMPLOYEES}/`,
      'insufficient_scope',
      'error_description="no rule of the API catalogue names this path and method"',
    ],
    [
      'a scope that the token lacks',
      'POST',
      EMPLOYEES,
      'insufficient_scope',
      'scope="employees:create", error_description="the scope employees:create is required for this"',
    ],
    [
      'a permission that the user lacks',
      'PUT',
      `${EMPLOYEES}/5`,
      'insufficient_permission',
      'error_description="the user ada lacks the permission employees:edit"',
    ],
  ];
  for (const [what, method, path, code, challenge] of table) {
    it(`refuses ${what} with 401`, async (t) => {
      const s = await openTestServices(t);
      const user = { userName: 'ada', permissions: ['employees:view', 'employees:create'] };
      const caller = await makeCaller(s, ['employees:view', 'employees:edit'], user);
      const refusal = await refused(() => authorize(s, caller, method, path), { code });
      assert.deepEqual([refusal.status, challengeOf(refusal)], [401, `Bearer error="${code}", ${challenge}`]);
    });
  }

  it('requires the permission that the rule names instead of its scope', async (t) => {
    const s = await openTestServices(t);
    const rules = [{ methods: ['GET'], path: '/shop', scope: 'shop:view', permission: 'shopkeeper' }];
    await s.products.create({ name: 'Shop', scopes: [{ name: 'shop:view' }], rules }, ACTOR);
    const keeper = await makeCaller(s, ['shop:view'], { permissions: ['shopkeeper'] });
    const customer = await makeCaller(s, ['shop:view'], { permissions: ['shop:view'] });
    assert.ok(authorize(s, keeper, 'GET', '/shop'));
    await refused(() => authorize(s, customer, 'GET', '/shop'), {
      code: 'insufficient_permission',
      says: 'shopkeeper',
    });
  });

  it('applies the removal of a permission from the next call on', async (t) => {
    const s = await openTestServices(t);
    const { id: userId } = await makeUser(s, { permissions: ['employees:view'] });
    const { application, clientSecret } = await makeApplication(s, { userId, scopes: ['employees:view'] });
    const token = await tokenOf(s, application.clientId, clientSecret);
    const enter = async () => authorize(s, await s.gate.authenticate([`Bearer ${token}`]), 'GET', EMPLOYEES);
    assert.ok(await enter());
    await s.users.patch(userId, { permissions: [] }, ACTOR);
    await refused(enter, { code: 'insufficient_permission' });
  });

  it('cannot be made to end or split its header', () => {
    const refusal = insufficientPermission('the user "a"\\\r\nSet-Cookie: b=ü is constrained');
    assert.equal(
      challengeOf(refusal),
      'Bearer error="insufficient_permission", error_description="the user ?a????Set-Cookie: b=? is constrained"',
    );
  });
});
