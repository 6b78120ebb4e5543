import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApplicationView } from '../../src/access/applications.ts';
import { createGate } from '../../src/access/gate.ts';
import { createTokens } from '../../src/access/tokens.ts';
import { applicationUsesJob, writeApplicationUses } from '../../src/housekeeping/application-uses.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import type { EndpointView } from '../../src/webhooks/endpoint-schema.ts';
import { type ApiClient, EMPLOYEES, type Page, succeeded, tokenFor } from '../support/client.ts';
import { registerApplication } from '../support/journey.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { startService } from '../support/service.ts';
import { makeApplication, openTestServices, tokenOf } from '../support/services.ts';
import { onSqlite } from '../support/store.ts';

repeatsInSlowTier('postgres');

const DAY_MS = 86_400_000;

function read(admin: ApiClient, id: string): Promise<ApplicationView> {
  return succeeded(admin.get(`applications/${id}`));
}

describe('lastUsedAt', () => {
  it('is null until the application gets a token, and then moves with its tokens and calls', async (t) => {
    const { admin, advance, clock, url } = await startService(t);
    const { id: userId } = await succeeded<{ id: string }>(admin.post('users', { userName: 'ada' }));
    const body = { name: 'one', userId, scopes: ['employees:view'], accessTokenValiditySeconds: 86_400 };
    const made = await succeeded<ApplicationView & { clientSecret: string }>(admin.post('applications', body));
    assert.equal((await read(admin, made.id)).lastUsedAt, null);

    const usedBetween = async (use: () => Promise<unknown>): Promise<void> => {
      const from = clock();
      await use();
      const until = clock();
      const single = await read(admin, made.id);
      const at = Date.parse(single.lastUsedAt ?? '');
      assert.ok(from <= at && at <= until, `${single.lastUsedAt} is not in ${from}…${until}`);
      const listed = await succeeded<Page<ApplicationView>>(admin.get(`applications?clientId=${made.clientId}`));
      assert.deepEqual(listed.items, [single]);
    };
    let token = '';
    await usedBetween(async () => {
      token = await tokenFor(url, made);
    });
    for (let n = 0; n < 2; n++) {
      advance(60_000);
      await usedBetween(() => admin.as(token).get(EMPLOYEES));
    }
    const { lastUsedAt } = await read(admin, made.id);
    await admin.as(`${token.slice(0, -1)}!`).get(EMPLOYEES);
    assert.equal(
      (await read(admin, made.id)).lastUsedAt,
      lastUsedAt,
      'a refused token request does not count as a use',
    );
  });

  it('survives a restart', async (t) => {
    const service = await startService(t);
    const { application } = await registerApplication(service.admin, ['employees:view']);
    const { lastUsedAt } = await read(service.admin, application.id);
    assert.notEqual(lastUsedAt, null);
    await service.stop();
    const { admin } = await startService(t, { after: service });
    assert.equal((await read(admin, application.id)).lastUsedAt, lastUsedAt);
  });

  it('is not part of the ETag, so a use does not refuse a change', async (t) => {
    const { admin, advance } = await startService(t);
    const { application, api } = await registerApplication(admin, ['employees:view']);
    const path = `applications/${application.id}`;
    const before = await admin.get<ApplicationView>(path);
    advance(60_000);
    await succeeded(api.get(EMPLOYEES));
    const after = await admin.get<ApplicationView>(path);
    const tag = before.headers.get('etag') ?? '';
    assert.notEqual(after.body.lastUsedAt, before.body.lastUsedAt);
    assert.equal(after.headers.get('etag'), tag);
    const changed = await admin.patch<ApplicationView>(path, { name: 'other' }, { 'if-match': tag });
    assert.equal(changed.status, 200);
    assert.equal(changed.body.lastUsedAt, after.body.lastUsedAt, 'a change of the application does not count as a use');
    assert.notEqual(changed.headers.get('etag'), tag);
  });

  it('is refused in a request', async (t) => {
    const { admin } = await startService(t);
    const { application } = await registerApplication(admin, ['employees:view']);
    const { status } = await admin.patch(`applications/${application.id}`, { lastUsedAt: new Date().toISOString() });
    assert.equal(status, 400);
  });

  onSqlite(
    'costs no write for a call, none beside its row for a token, and one in a batch that empties no cache',
    async (t) => {
      const s = await openTestServices(t);
      const { application, clientSecret } = await makeApplication(s);
      const other = await makeApplication(s);
      await tokenOf(s, other.application.clientId, other.clientSecret);
      const total = async (): Promise<number> => Number((await s.rows('SELECT total_changes() AS total'))[0]?.total);
      const parts = { ...s, random: randomBytes };
      const tokens = createTokens(parts);
      const gate = createGate({ ...parts, catalogue: s.products.compiled });
      const before = await total();
      const client = await tokens.authenticate({ clientId: application.clientId, clientSecret });
      const { accessToken } = await tokens.issue(client, undefined);
      assert.equal(await total(), before + 1);
      for (let n = 0; n < 100; n++) await gate.authenticate([`Bearer ${accessToken}`]);
      assert.equal(await total(), before + 1);
      assert.deepEqual(await s.rows('SELECT * FROM application_use'), []);

      s.advance(5000);
      await gate.authenticate([`Bearer ${accessToken}`]);
      const version = await s.store.tokens.version();
      const step = applicationUsesJob(s.store.applicationUses).begin(s.clock());
      while (!(await step(1)).done);
      const written = await s.rows('SELECT * FROM application_use ORDER BY last_used_at DESC');
      assert.deepEqual(
        written.map((row) => ({ ...row })),
        [
          { application_id: application.id, last_used_at: s.clock() },
          { application_id: other.application.id, last_used_at: s.clock() - 5000 },
        ],
      );
      assert.equal(await total(), before + 3);
      assert.equal(await s.store.tokens.version(), version);
      assert.equal((await s.store.applications.get(application.id))?.lastUsedAt, s.clock());
      const again = applicationUsesJob(s.store.applicationUses).begin(s.clock());
      assert.equal((await again(16)).done, true);
      assert.equal(await total(), before + 3, 'nothing was used, nothing is written');
    },
  );

  it('of an application that is used all the time keeps no other from being written', async (t) => {
    const s = await openTestServices(t);
    const made = [await makeApplication(s), await makeApplication(s), await makeApplication(s)];
    const ids = made.map(({ application }) => application.id);
    const uses = s.store.applicationUses;
    for (const id of ids) uses.note(id, s.clock());
    for (let n = 0; n < 3; n++) {
      const write = uses.write(1);
      uses.note(ids[0] ?? '', s.clock() + n + 1);
      await write;
    }
    assert.equal((await s.rows('SELECT * FROM application_use')).length, 3);
    assert.equal(uses.unwritten(), 1);
  });

  it('of an application that is gone is written no more, and goes with it', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    const uses = s.store.applicationUses;
    uses.note(application.id, s.clock());
    await writeApplicationUses(uses);
    uses.note(application.id, s.clock() + 1);
    await s.applications.remove(application.id, { actor: 'service', authority: 'unlimited' });
    assert.deepEqual(await s.rows('SELECT * FROM application_use'), []);
    await writeApplicationUses(uses);
    assert.deepEqual(await s.rows('SELECT * FROM application_use'), []);
    assert.equal(uses.unwritten(), 0);
  });
});

describe('secretCreatedAt', () => {
  it('of an application counts from the creation of its current secret, not from other changes', async (t) => {
    const { admin, advance } = await startService(t);
    const { application } = await registerApplication(admin, ['employees:view']);
    assert.equal(application.secretCreatedAt, application.createdAt);
    advance(60_000);
    const changed = await succeeded<ApplicationView>(admin.patch(`applications/${application.id}`, { name: 'other' }));
    assert.equal(changed.secretCreatedAt, application.createdAt);
    const body = { overlapSeconds: 60 };
    const path = `applications/${application.id}/regenerate-secret`;
    const replaced = await succeeded<ApplicationView>(admin.post(path, body));
    assert.equal(replaced.secretCreatedAt, replaced.updatedAt);
    assert.equal(Date.parse(replaced.previousSecretExpiresAt ?? ''), Date.parse(replaced.updatedAt) + 60_000);
  });

  it('of an endpoint is that of the secret that signs: the next one counts from its time on', async (t) => {
    const { admin, advance, signIn } = await startService(t);
    const made = await succeeded<EndpointView>(admin.post('endpoints', { name: 'a', url: 'https://a.example/' }));
    assert.equal(made.secretCreatedAt, made.createdAt);
    advance(60_000);
    const path = `endpoints/${made.id}`;
    const waits = await succeeded<EndpointView>(
      admin.post(`${path}/rotate-secret`, { activateAfterSeconds: DAY_MS / 1000 }),
    );
    assert.equal(waits.secretCreatedAt, made.createdAt);
    advance(DAY_MS);
    const later = await signIn();
    assert.equal((await succeeded<EndpointView>(later.get(path))).secretCreatedAt, waits.updatedAt);
    const renamed = await succeeded<EndpointView>(later.patch(path, { name: 'b' }));
    assert.equal(renamed.secretCreatedAt, waits.updatedAt);
    const now = await succeeded<EndpointView>(later.post(`${path}/rotate-secret`, {}));
    assert.equal(now.secretCreatedAt, now.updatedAt);
  });
});
