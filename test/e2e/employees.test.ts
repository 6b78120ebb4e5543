import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { EmployeeView } from '../../src/employees/employees.ts';
import { EMPLOYEES, refusalOf, succeeded } from '../support/client.ts';
import { connect, importKey, only, registerApplication, startJourney } from '../support/journey.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';

repeatsInSlowTier('postgres');

const ADA = { userName: 'ada', firstName: 'Ada', lastName: 'Lovelace', email: 'a@b.example', division: 'sales' };

it('each change of an employee sends an event with the new state and the actor; a refused change does not', async (t) => {
  const journey = await startJourney(t);
  const { publicKey, privateKey } = await (await import('openpgp')).generateKey({ userIDs: [{ name: 'HR' }] });
  await importKey(journey.admin, 'hr', publicKey);
  const { at } = await connect(journey, ['employee.*'], {
    receiving: { privateKeys: { hr: privateKey } },
    webhook: { encryptionKeyName: 'hr', ordered: true, maxBatchRecords: 1 },
  });
  const scopes = ['employees:create', 'employees:edit', 'employees:view'];
  const constraints = { divisions: ['sales', 'research'] };
  const { api, user } = await registerApplication(journey.admin, scopes, { user: { constraints } });
  const reader = await registerApplication(journey.admin, ['employees:view']);

  const created = await succeeded<EmployeeView>(api.post(EMPLOYEES, ADA));
  const path = `${EMPLOYEES}/${created.userId}`;
  const patched = await succeeded<EmployeeView>(api.patch(path, { lastName: 'King', hireDate: '2026-11-23' }));
  await refusalOf(api.patch(path, { division: 'board' }), 401);
  await refusalOf(api.patch(path, { email: 'nobody' }), 400);
  await refusalOf(reader.api.patch(path, { email: 'x@y.example' }), 401);
  await refusalOf(api.post(EMPLOYEES, ADA), 409);
  const replaced = await succeeded<EmployeeView>(api.put(path, { ...ADA, division: 'research' }));
  assert.deepEqual([patched.hireDate, replaced.hireDate], ['2026-11-23', null]);

  for (const [offset, [type, employee]] of [
    ['employee.created', created] as const,
    ['employee.updated', patched] as const,
    ['employee.updated', replaced] as const,
  ].entries()) {
    const record = only((await at.next()).records);
    assert.deepEqual([record.offset, record.eventType, record.actorId], [offset, type, user.id]);
    assert.deepEqual(record.data, employee);
    assert.equal(new Date(record.createdAt).toISOString(), employee.updatedAt);
  }
  assert.deepEqual(await succeeded(reader.api.get(path)), replaced);
  assert.equal(at.deliveries.length, 3);
});
