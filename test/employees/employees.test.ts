import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../../src/access/gate.ts';
import { viewEmployee } from '../../src/employees/employees.ts';
import { logs } from '../support/events.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { makeCaller, makeWebhook, openTestServices, type TestServices } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

repeatsInSlowTier('postgres');

const ADA = { userName: 'ada', firstName: 'Ada', lastName: 'Lovelace', email: 'ada@example.com', division: 'sales' };

async function open(t: Parameters<typeof openTestServices>[0]): Promise<{ s: TestServices; me: Caller }> {
  const s = await openTestServices(t);
  return { s, me: await makeCaller(s, ['employees:view']) };
}
/** Type, data, subject and actor of every event, in order. */
const events = async ({ rows }: TestServices) =>
  (await rows('SELECT type, data, subject, actor_id FROM event ORDER BY key')).map(
    ({ type, data, subject, actor_id }) => ({
      type,
      subject,
      actor_id,
      data: JSON.parse(String(data)) as unknown,
    }),
  );

describe('creating an employee', () => {
  it('keeps it and queues its event, once for each webhook that wants it, and tells the dispatcher', async (t) => {
    const { s, me } = await open(t);
    await makeWebhook(s, ['employee.created', 'employee.*'], { key: true });
    await makeWebhook(s, ['employee.updated'], { key: true });
    const created = await s.employees.create(ADA, me);
    const view = viewEmployee(created);
    const at = '2026-11-21T05:00:00.000Z';
    assert.deepEqual(view, {
      ...ADA,
      userId: created.userId,
      externalId: null,
      managerId: null,
      hireDate: null,
      active: true,
      createdAt: at,
      updatedAt: at,
    });
    assert.match(created.userId, /^[0-9a-f-]{36}$/);
    assert.deepEqual(await s.employees.get(created.userId, me), created);
    assert.deepEqual(await events(s), [
      { type: 'employee.created', subject: created.userId, actor_id: me.userId, data: view },
    ]);
    assert.deepEqual(
      [...(await logs(s)).values()].map((log) => log.length),
      [1],
    );
    assert.equal(s.wakes(), 1);
  });

  for (const [field, more] of [
    ['userName', {}],
    ['externalId', { userName: 'other', externalId: 'e1' }],
  ] as const) {
    it(`refuses a taken ${field}, and leaves no event and no outbox row`, async (t) => {
      const { s, me } = await open(t);
      await makeWebhook(s, ['employee.*'], { key: true });
      await s.employees.create({ ...ADA, externalId: 'e1' }, me);
      await leavingNothing(s, () =>
        refused(() => s.employees.create({ ...ADA, ...more }, me), {
          code: 'conflict',
          fields: [field],
          says: 'is taken',
        }),
      );
      assert.deepEqual([(await events(s)).length, [...(await logs(s)).values()].flat().length, s.wakes()], [1, 1, 1]);
    });
  }

  it('lets one of many at the same time win, and tells of that one only', async (t) => {
    const { s, me } = await open(t);
    const settled = await Promise.allSettled(Array.from({ length: 20 }, () => s.employees.create(ADA, me)));
    assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal((await events(s)).length, 1);
  });

  const bad: readonly [what: string, more: Record<string, unknown>, fields: readonly string[]][] = [
    ['no user name', { userName: undefined }, ['userName']],
    ['an empty user name', { userName: '' }, ['userName']],
    ['a user name of 129 characters', { userName: 'x'.repeat(129) }, ['userName']],
    [
      'no names and no division',
      { firstName: undefined, lastName: undefined, division: undefined },
      ['firstName', 'lastName', 'division'],
    ],
    ['a blank first name', { firstName: '   ' }, ['firstName']],
    ['a first name of 201 characters', { firstName: 'x'.repeat(201) }, ['firstName']],
    ['a control character in the last name', { lastName: 'a\u0000' }, ['lastName']],
    ['an email address that is none', { email: 'ada' }, ['email']],
    ['an email address of 255 characters', { email: `${'x'.repeat(243)}@example.com` }, ['email']],
    ['a date that does not exist', { hireDate: '2026-02-30' }, ['hireDate']],
    ['an instant for a date', { hireDate: '2026-11-21T05:00:00.000Z' }, ['hireDate']],
    ['a text for active', { active: 'true' }, ['active']],
    ['an empty external id', { externalId: '' }, ['externalId']],
    ['a number for the manager', { managerId: 5 }, ['managerId']],
    ['a user id', { userId: '0193a1f0-0000-7000-8000-000000000001' }, ['userId']],
    ['an instant of creation', { createdAt: '2026-11-21T05:00:00.000Z' }, ['createdAt']],
    ['an unknown field', { salary: 5 }, ['salary']],
  ];
  for (const [what, more, fields] of bad) {
    it(`refuses ${what}, when made, replaced and patched`, async (t) => {
      const { s, me } = await open(t);
      const { userId } = await s.employees.create({ ...ADA, userName: 'first' }, me);
      const body = JSON.parse(JSON.stringify({ ...ADA, ...more }));
      const patch = JSON.parse(JSON.stringify(more, (_, value) => (value === undefined ? null : value)));
      await leavingNothing(s, async () => {
        for (const work of [
          () => s.employees.create(body, me),
          () => s.employees.replace(userId, body, me),
          () => s.employees.patch(userId, patch, me),
        ]) {
          await refused(work, { code: 'validation_failed', fields });
        }
      });
    });
  }
});

describe('changing an employee', () => {
  it('by PATCH merges, by PUT replaces, and each queues an event with the whole employee', async (t) => {
    const { s, me } = await open(t);
    const { userId } = await s.employees.create({ ...ADA, externalId: 'e1', hireDate: '2026-01-31' }, me);
    const patched = await s.employees.patch(userId, { lastName: 'Byron', externalId: null }, me);
    assert.deepEqual(
      [patched.lastName, patched.externalId, patched.hireDate, patched.updatedAt],
      ['Byron', null, '2026-01-31', NOW + 1],
    );
    const replaced = await s.employees.replace(userId, { ...ADA, active: false }, me);
    assert.deepEqual(
      [replaced.lastName, replaced.hireDate, replaced.active, replaced.createdAt],
      ['Lovelace', null, false, NOW],
    );
    assert.deepEqual(
      (await events(s)).map(({ type, data }) => [type, data]),
      [
        [
          'employee.created',
          { ...viewEmployee(patched), lastName: 'Lovelace', externalId: 'e1', updatedAt: '2026-11-21T05:00:00.000Z' },
        ],
        ['employee.updated', viewEmployee(patched)],
        ['employee.updated', viewEmployee(replaced)],
      ],
    );
    assert.deepEqual(await s.employees.get(userId, me), replaced);
  });

  it('that changes nothing queues no event and leaves the employee as it was', async (t) => {
    const { s, me } = await open(t);
    const created = await s.employees.create(ADA, me);
    await leavingNothing(s, async () => {
      assert.deepEqual(await s.employees.patch(created.userId, {}, me), created);
      assert.deepEqual(await s.employees.patch(created.userId, { firstName: created.firstName }, me), created);
    });
  });

  it('loses none of many changes at the same time', async (t) => {
    const { s, me } = await open(t);
    const { userId } = await s.employees.create(ADA, me);
    const fields = ['firstName', 'lastName', 'email', 'userName', 'externalId', 'division'];
    await Promise.all(fields.map((field) => s.employees.patch(userId, { [field]: `${field}@example.com` }, me)));
    const changed: Record<string, unknown> = await s.employees.get(userId, me);
    for (const field of fields) assert.equal(changed[field], `${field}@example.com`);
    await Promise.all(Array.from({ length: 60 }, (_, n) => s.employees.patch(userId, { firstName: `x${n}` }, me)));
    assert.equal((await events(s)).length, 67);
  });

  it('refuses a removal of what only the service sets, or of what there is not', async (t) => {
    const { s, me } = await open(t);
    const { userId } = await s.employees.create(ADA, me);
    for (const field of ['userId', 'createdAt', 'updatedAt', 'salary']) {
      await leavingNothing(s, () =>
        refused(() => s.employees.patch(userId, { [field]: null }, me), { code: 'validation_failed', fields: [field] }),
      );
    }
  });

  it('refuses a user name that another has, and leaves no event', async (t) => {
    const { s, me } = await open(t);
    await s.employees.create(ADA, me);
    const { userId } = await s.employees.create({ ...ADA, userName: 'eve' }, me);
    await leavingNothing(s, () =>
      refused(() => s.employees.patch(userId, { userName: 'ada' }, me), { code: 'conflict', fields: ['userName'] }),
    );
  });

  for (const userId of ['0193a1f0-0000-7000-8000-00000000ffff', 'ada', '', "' OR ''='", 'x'.repeat(5000)]) {
    it(`answers not_found for employee ${JSON.stringify(userId.slice(0, 40))}`, async (t) => {
      const { s, me } = await open(t);
      await s.employees.create(ADA, me);
      await leavingNothing(s, async () => {
        for (const work of [
          () => s.employees.get(userId, me),
          () => s.employees.patch(userId, {}, me),
          () => s.employees.replace(userId, ADA, me),
        ]) {
          const refusal = await refused(work, { code: 'not_found' });
          assert.ok(refusal.message.length < 120);
        }
      });
    });
  }
});

describe("an employee's manager", () => {
  it('is an employee that the caller may see; another is refused, naming the field', async (t) => {
    const s = await openTestServices(t);
    const me = await makeCaller(s, ['employees:view']);
    const limited = await makeCaller(s, ['employees:view'], { constraints: { divisions: ['sales'] } });
    const boss = await s.employees.create({ ...ADA, userName: 'boss', division: 'sales' }, me);
    const elsewhere = await s.employees.create({ ...ADA, userName: 'elsewhere', division: 'hr' }, me);
    const ada = await s.employees.create({ ...ADA, managerId: boss.userId, division: 'sales' }, me);
    assert.equal(ada.managerId, boss.userId);
    const unknown = { code: 'validation_failed', fields: ['managerId'] } as const;
    for (const [managerId, caller] of [
      ['nobody', me],
      [s.ids.uuid(), me],
      [elsewhere.userId, limited],
    ] as const) {
      await leavingNothing(s, async () => {
        const body = { ...ADA, userName: 'new', division: 'sales', managerId };
        await refused(() => s.employees.create(body, caller), unknown);
        await refused(() => s.employees.patch(ada.userId, { managerId }, caller), unknown);
      });
    }
    const moved = await s.employees.patch(ada.userId, { managerId: elsewhere.userId }, me);
    // An unchanged manager is not looked up again.
    await s.employees.patch(moved.userId, { firstName: 'Augusta' }, limited);
    assert.equal((await s.employees.patch(ada.userId, { managerId: null }, me)).managerId, null);
  });
});
