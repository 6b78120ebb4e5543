/** The last active administrator stays one (contract §4.4), also when two take the rights from each other at once. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BUILT_IN_SCOPES } from '../../src/access/built-in.ts';
import { type ApiReply, createClient, type ErrorBody, refusalOf, succeeded, tokenFor } from '../support/client.ts';
import { sallyportProcess } from '../support/command.ts';
import { repeats } from '../support/repeats.ts';
import { type ServiceInProcess, spawnService, startedFolder, startService } from '../support/service.ts';

repeats('postgres');

type Fields = Readonly<Record<string, unknown>>;
type UserBody = {
  readonly id: string;
  readonly active: boolean;
  readonly role: string;
  readonly permissions: string[];
};

/** Every way to take an administrator away, as a change; null deletes. */
const LOSSES: readonly [string, Fields | null][] = [
  ['deactivated', { active: false }],
  ['demoted', { role: 'operator' }],
  ['stripped of its permissions', { permissions: [] }],
  ['stripped of users:manage', { permissions: BUILT_IN_SCOPES.filter((name) => name !== 'users:manage') }],
  ['deleted', null],
];

type Api = Pick<ServiceInProcess, 'admin'>;
const take = ({ admin }: Api, id: string, loss: Fields | null): Promise<ApiReply<unknown>> =>
  loss === null ? admin.delete(`users/${id}`) : admin.patch(`users/${id}`, loss);

async function usersOf({ admin }: Api): Promise<readonly UserBody[]> {
  return (await succeeded<{ items: UserBody[] }>(admin.get('users?limit=200'))).items;
}

async function addAdministrator({ admin }: Api, userName: string): Promise<string> {
  const body = { userName, role: 'administrator', permissions: BUILT_IN_SCOPES };
  return (await succeeded<UserBody>(admin.post('users', body))).id;
}

describe('the last active administrator', () => {
  for (const [what, loss] of LOSSES) {
    it(`cannot be ${what}, and can be once there is another`, async (t) => {
      const service = await startService(t, { logLevel: 'warn' });
      const [first] = await usersOf(service);
      assert.ok(first);
      await succeeded(service.admin.post('users', { userName: 'inactive', role: 'administrator', active: false }));
      await succeeded(service.admin.post('users', { userName: 'operator', role: 'operator' }));
      const before = await usersOf(service);
      const { code, description } = await refusalOf(take(service, first.id, loss), 409);
      assert.equal(code, 'last_administrator');
      assert.match(description, /^admin is the last active administrator: /);
      assert.deepEqual(await usersOf(service), before);

      const second = await addAdministrator(service, 'ada');
      const ended = await take(service, second, loss);
      assert.ok(ended.status < 300, JSON.stringify(ended.body));
      assert.equal(((await take(service, first.id, loss)).body as ErrorBody).error.code, 'last_administrator');
    });

    it(`stays when two are ${what} at the same time`, async (t) => {
      const service = await startService(t, { logLevel: 'warn' });
      const [first] = await usersOf(service);
      const rivals = await Promise.all(['ada', 'bob'].map((name) => addAdministrator(service, name)));
      // The caller keeps its token: the change removes the first administrator without ending it, or leaves it.
      await service.services.users.change(
        first?.id ?? '',
        'user.update',
        { actor: 'test', authority: 'unlimited' },
        (before, { updatedAt }) => ({ ...before, role: 'service', updatedAt }),
      );
      const replies = await Promise.all(rivals.map((id) => take(service, id, loss)));
      assert.deepEqual(replies.map(({ status }) => status < 300).sort(), [false, true]);
      const refused = replies.filter(({ status }) => status >= 300);
      assert.deepEqual(
        refused.map(({ status, body }) => [status, (body as ErrorBody).error.code]),
        [[409, 'last_administrator']],
      );
      const whole = (await usersOf(service)).filter(
        ({ active, role, permissions }) => active && role === 'administrator' && permissions.includes('users:manage'),
      );
      assert.equal(whole.length, 1);
    });
  }

  it('stays when a server and a command take one each at the same time', async (t) => {
    const service = await spawnService(t, { after: await startedFolder(t) });
    const [first] = await usersOf(service);
    assert.ok(first);
    const { id } = await succeeded<UserBody>(
      service.admin.post('users', { userName: 'program', permissions: BUILT_IN_SCOPES }),
    );
    const [application] = (
      await succeeded<{ items: { id: string; scopes: string[] }[] }>(service.admin.get('applications'))
    ).items;
    const program = await succeeded<{ clientId: string; clientSecret: string }>(
      service.admin.post('applications', { name: 'program', userId: id, scopes: application?.scopes }),
    );
    const admin = createClient(service.url, await tokenFor(service.url, program));
    for (let round = 1; round <= 3; round += 1) {
      const rivals = (await usersOf({ admin })).filter(({ active, role }) => active && role === 'administrator');
      if (rivals.length < 2) rivals.push({ ...first, id: await addAdministrator({ admin }, `rival-${round}`) });
      const [one, other] = rivals;
      const fields = JSON.stringify({ active: false });
      const [command, reply] = await Promise.all([
        sallyportProcess(['user', 'update', one?.id ?? '', '--fields', fields], {
          env: { SALLYPORT_DATA: service.dataDir },
        }),
        admin.patch(`users/${other?.id}`, { active: false }),
      ]);
      assert.deepEqual([command.status === 0, reply.status === 200].sort(), [false, true], command.stderr);
      if (reply.status !== 200) assert.equal(reply.status, 409);
    }
  });
});
