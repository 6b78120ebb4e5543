import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../../src/access/gate.ts';
import type { Employee } from '../../src/domain/employee.ts';
import {
  type ApiReply,
  type Credentials,
  createClient,
  EMPLOYEES,
  refusalOf,
  succeeded,
  tokenFor,
} from '../support/client.ts';
import { created, unknownLike } from '../support/customers.ts';
import { registerApplication } from '../support/journey.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { startService } from '../support/service.ts';
import { makeCaller, openTestServices, type TestServices } from '../support/services.ts';
import { leavingNothing } from '../support/store.ts';

repeats('postgres');

const person = (userName: string, division: string) => ({
  userName,
  division,
  firstName: 'A',
  lastName: 'B',
  email: 'a@example.com',
});
const EMPLOYEES_SCOPES = ['employees:create', 'employees:view', 'employees:edit'];
const excluded = { code: 'insufficient_permission', says: 'constrained to other divisions' } as const;

type Company = { s: TestServices; seller: Caller; boss: Caller; nobody: Caller; sales: Employee; ops: Employee };

/** One employee in sales and one in ops; a caller for sales and support, one without constraints, one for no division. */
async function open(t: Parameters<typeof openTestServices>[0]): Promise<Company> {
  const s = await openTestServices(t);
  const boss = await makeCaller(s, ['employees:view']);
  const seller = await makeCaller(s, ['employees:view'], { constraints: { divisions: ['sales', 'support'] } });
  const nobody = await makeCaller(s, ['employees:view'], { constraints: { divisions: [] } });
  const sales = await s.employees.create(person('s1', 'sales'), boss);
  const ops = await s.employees.create(person('o1', 'ops'), boss);
  return { s, seller, boss, nobody, sales, ops };
}

const list = async ({ employees }: TestServices, caller: Caller, division?: string): Promise<string> =>
  (await employees.list({ division, after: '', limit: 50 }, caller)).map(({ userName }) => userName).join(' ');

describe('a user constrained to divisions', () => {
  it('creates within them only', async (t) => {
    const { s, seller } = await open(t);
    assert.equal((await s.employees.create(person('s2', 'support'), seller)).division, 'support');
    const refusal = await leavingNothing(s, () =>
      refused(() => s.employees.create(person('o2', 'ops'), seller), excluded),
    );
    assert.equal(refusal.status, 401);
    assert.match(
      refusal.headers['WWW-Authenticate'] ?? '',
      /^Bearer error="insufficient_permission", error_description="/,
    );
  });

  it('sees those within them only', async (t) => {
    const { s, seller, sales, ops } = await open(t);
    assert.deepEqual(await s.employees.get(sales.userId, seller), sales);
    await refused(() => s.employees.get(ops.userId, seller), excluded);
  });

  it('changes those within them only, and moves none out or in', async (t) => {
    const { s, seller, sales, ops } = await open(t);
    await leavingNothing(s, async () => {
      await refused(() => s.employees.patch(ops.userId, { firstName: 'C' }, seller), excluded);
      await refused(() => s.employees.replace(ops.userId, person('o1', 'sales'), seller), excluded);
      await refused(() => s.employees.patch(ops.userId, { division: 'sales' }, seller), excluded);
      await refused(() => s.employees.patch(sales.userId, { division: 'ops' }, seller), excluded);
      await refused(() => s.employees.replace(sales.userId, person('s1', 'ops'), seller), excluded);
    });
    assert.equal((await s.employees.patch(sales.userId, { division: 'support' }, seller)).division, 'support');
  });

  it('is told the same of an employee of another division and of none, by every request', async (t) => {
    const service = await startService(t);
    const { admin, url } = service;
    const everyone = (await registerApplication(admin, EMPLOYEES_SCOPES)).api;
    const { userId } = await succeeded<{ userId: string }>(everyone.post(EMPLOYEES, person('o1', 'ops')));
    const seller = await created(admin, 'users', {
      userName: 'seller',
      permissions: EMPLOYEES_SCOPES,
      constraints: { divisions: ['sales'] },
    });
    const made = await created<Credentials>(admin, 'applications', {
      name: 'sales',
      userId: seller.id,
      scopes: EMPLOYEES_SCOPES,
    });
    const api = createClient(url, await tokenFor(url, made));
    const mine = await succeeded<{ userId: string }>(api.post(EMPLOYEES, person('s1', 'sales')));
    const asked: readonly [what: string, ask: (id: string, name: string) => Promise<ApiReply<unknown>>][] = [
      ['read', (id) => api.get(`${EMPLOYEES}/${id}`)],
      ['read again', (id) => api.get(`${EMPLOYEES}/${id}`, { 'if-none-match': '*' })],
      ['change', (id) => api.patch(`${EMPLOYEES}/${id}`, { firstName: 'C' })],
      ['change with a mistake', (id) => api.patch(`${EMPLOYEES}/${id}`, { firstName: 1 })],
      ['change a version', (id) => api.patch(`${EMPLOYEES}/${id}`, {}, { 'if-match': '"a"' })],
      ['replace', (id) => api.put(`${EMPLOYEES}/${id}`, person('x1', 'sales'))],
      ['name as a manager', (id) => api.patch(`${EMPLOYEES}/${mine.userId}`, { managerId: id })],
      ['name as the manager of a new one', (id) => api.post(EMPLOYEES, { ...person('x2', 'sales'), managerId: id })],
      ['list after', (id) => api.get(`${EMPLOYEES}?cursor=${id}`)],
      ['find by name', (_, name) => api.get(`${EMPLOYEES}?userName=${name}`)],
      ['find by name in a division', (_, name) => api.get(`${EMPLOYEES}?userName=${name}&division=ops`)],
    ];
    for (const [what, ask] of asked) {
      const shown = async (id: string, name: string): Promise<string> => {
        const { status, headers, body } = await ask(id, name);
        const text = JSON.stringify([status, headers.get('www-authenticate'), body]);
        return text.replaceAll(id, '…').replace(/"(errorId|timeStamp)":"[^"]*"/g, '');
      };
      assert.equal(await shown(userId, 'o1'), await shown(unknownLike(userId), 'o9'), what);
    }
    const { code, description } = await refusalOf(api.get(`${EMPLOYEES}/nobody`), 401);
    assert.equal(code, 'insufficient_permission', description);
    await refusalOf(everyone.get(`${EMPLOYEES}/${unknownLike(userId)}`), 404);
  });

  it('lists those within them only, and is refused when asking for another', async (t) => {
    const { s, seller } = await open(t);
    assert.equal(await list(s, seller), 's1');
    assert.equal(await list(s, seller, 'sales'), 's1');
    assert.equal(await list(s, seller, 'support'), '');
    for (const division of ['ops', '', 'Sales', 'sales ']) await refused(() => list(s, seller, division), excluded);
  });

  it('is held to them even where they are none at all', async (t) => {
    const { s, nobody, sales } = await open(t);
    assert.equal(await list(s, nobody), '');
    await leavingNothing(s, async () => {
      await refused(() => s.employees.get(sales.userId, nobody), excluded);
      await refused(() => s.employees.create(person('x', 'sales'), nobody), excluded);
      await refused(() => s.employees.patch(sales.userId, {}, nobody), excluded);
    });
  });
});

describe('a user without constraints', () => {
  it('sees and lists every division, or the one asked for, page by page', async (t) => {
    const { s, boss } = await open(t);
    for (let n = 2; n < 7; n++) await s.employees.create(person(`s${n}`, 'sales'), boss);
    assert.equal(await list(s, boss), 's1 o1 s2 s3 s4 s5 s6');
    assert.equal(await list(s, boss, 'sales'), 's1 s2 s3 s4 s5 s6');
    assert.equal(await list(s, boss, 'no such'), '');
    const pages: string[] = [];
    for (let after = ''; ; ) {
      const page = await s.employees.list({ division: 'sales', after, limit: 4 }, boss);
      if (page.length === 0) break;
      pages.push(page.map(({ userName }) => userName).join(' '));
      after = page.at(-1)?.userId ?? '';
    }
    assert.deepEqual(pages, ['s1 s2 s3 s4', 's5 s6']);
  });
});
