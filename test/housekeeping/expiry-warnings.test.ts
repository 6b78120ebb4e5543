import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isoInstant } from '../../src/kernel/schemas.ts';
import { subscribe } from '../support/events.ts';
import { count, DAY_MS, housekeepingFor } from '../support/housekeeping.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, makeEndpoint, makeKey, openTestServices } from '../support/services.ts';
import { leavingNothing, NOW, openTestStore, type TestStore } from '../support/store.ts';
import { makeCertificates } from '../support/tls.ts';

repeats('postgres');

async function insertKey({ database }: TestStore, name: string, expiresAt: number | null): Promise<void> {
  const sql = `
    INSERT INTO pgp_key (id, name, public_key, fingerprint, algorithm, expires_at, created_at, updated_at)
    VALUES (@id, @name, '', '', 'curve25519', @expiresAt, 1, 1)`;
  await database.commit([{ sql, params: { id: `id of ${name}`, name, expiresAt } }]);
}

/** The data of the published warnings, oldest first. */
const warnings = async (s: TestStore): Promise<Record<string, unknown>[]> =>
  (await s.rows("SELECT data FROM event WHERE type = 'webhook.key_expiring' ORDER BY key")).map(({ data }) =>
    JSON.parse(String(data)),
  );

describe('a PGP key that expires', () => {
  it('causes warnings 30, 7 and 1 days before, in the log and as an event that names its webhooks', async (t) => {
    const s = await openTestStore(t);
    const expiresAt = NOW + 40 * DAY_MS;
    await insertKey(s, 'payroll', expiresAt);
    const user = await subscribe(s, ['order.placed'], { encryptionKeyName: 'payroll' });
    const watcher = await subscribe(s, ['webhook.key_expiring']);
    const [webhookId, other] = (await s.store.webhooks.list('', 10)).map(({ id }) => id);
    assert.ok(webhookId !== other && user !== watcher);
    const house = housekeepingFor(s);
    const seen: unknown[] = [];
    for (let hour = 0; hour <= 41 * 24; hour += 6) {
      const before = (await warnings(s)).length;
      await house.runOnce();
      for (const { daysLeft } of (await warnings(s)).slice(before)) seen.push([hour / 24, daysLeft]);
      s.advance(6 * 3_600_000);
    }
    assert.deepEqual(seen, [
      [10, 30],
      [33, 7],
      [39, 1],
    ]);
    const [first] = await warnings(s);
    const warning = { keyId: 'id of payroll', keyName: 'payroll', expiresAt: isoInstant(expiresAt), daysLeft: 30 };
    assert.deepEqual(first, { ...warning, webhookIds: [webhookId] });
    assert.equal(await count(s, 'outbox', `webhook_number = ${watcher}`), 3);
    assert.equal(await count(s, 'outbox', `webhook_number = ${user}`), 0);
    assert.equal(house.wakes(), 3);
    const logged = house.logged.filter(({ level }) => level === 40);
    assert.deepEqual(
      logged.map(({ msg, keyName, daysLeft, webhooks }) => [msg, keyName, daysLeft, webhooks]),
      [30, 7, 1].map((days) => ['a PGP key expires soon', 'payroll', days, 1]),
    );
  });

  it('causes no warning if it has expired, never expires, or expires much later; several keys each cause one', async (t) => {
    const s = await openTestStore(t);
    await insertKey(s, 'gone', NOW);
    await insertKey(s, 'eternal', null);
    await insertKey(s, 'far', NOW + 30 * DAY_MS + 1);
    await insertKey(s, 'near', NOW + 30 * DAY_MS);
    await insertKey(s, 'nearer', NOW + DAY_MS / 2);
    await housekeepingFor(s).runOnce();
    assert.deepEqual(
      (await warnings(s)).map(({ keyName, daysLeft }) => [keyName, daysLeft]),
      [
        ['nearer', 1],
        ['near', 30],
      ],
    );
    await leavingNothing(s, () => housekeepingFor(s).runOnce());
  });

  it('causes one warning for the thresholds that passed while the service was off', async (t) => {
    const s = await openTestStore(t);
    await insertKey(s, 'payroll', NOW + 5 * DAY_MS);
    await housekeepingFor(s).runOnce();
    assert.deepEqual(
      (await warnings(s)).map(({ daysLeft }) => daysLeft),
      [5],
    );
    assert.deepEqual(await s.rows('SELECT warned_days FROM pgp_key'), [{ warned_days: 7 }]);
    s.advance(4 * DAY_MS);
    await housekeepingFor(s).runOnce();
    assert.deepEqual(
      (await warnings(s)).map(({ daysLeft }) => daysLeft),
      [5, 1],
    );
  });

  it('causes exactly one warning if it is changed at the same time', async (t) => {
    const s = await openTestServices(t);
    const key = await makeKey(s);
    await s.database.commit([{ sql: 'UPDATE pgp_key SET expires_at = @value', params: { value: NOW + 5 * DAY_MS } }]);
    await Promise.all([housekeepingFor(s).runOnce(), s.keys.patch(key.id, { name: 'renamed' }, ACTOR)]);
    await housekeepingFor(s).runOnce();
    assert.equal((await warnings(s)).length, 1);
    assert.deepEqual(await s.rows('SELECT name, warned_days FROM pgp_key'), [{ name: 'renamed', warned_days: 7 }]);
    assert.equal(await count(s, 'audit', "action LIKE 'key.%' AND CAST(changes AS TEXT) LIKE '%arned%'"), 0);
  });
});

describe('a client certificate that expires', () => {
  it('causes a warning with the id of its endpoint, and another once it was replaced', async (t) => {
    const certificates = makeCertificates({ days: 20 });
    // Within the last of the twenty days, even if the certificate's expiry was rounded.
    const now = Date.now() + 3_600_000;
    const s = await openTestServices(t, { now });
    const { id, name } = await makeEndpoint(s, { clientCertificate: certificates.client });
    await housekeepingFor(s).runOnce();
    await housekeepingFor(s).runOnce();
    const expiresAt = isoInstant((await s.endpoints.get(id)).clientCertificateExpiresAt ?? 0);
    assert.deepEqual(await warnings(s), [
      { endpointId: id, endpointName: name, expiresAt, daysLeft: 20, webhookIds: [] },
    ]);
    const other = certificates.issue({ days: 20 });
    await s.endpoints.patch(id, { enabled: false }, ACTOR);
    await housekeepingFor(s).runOnce();
    assert.equal((await warnings(s)).length, 1);
    await s.endpoints.patch(id, { clientCertificate: other }, ACTOR);
    await housekeepingFor(s).runOnce();
    assert.equal((await warnings(s)).length, 2);
    await s.endpoints.patch(id, { clientCertificate: null }, ACTOR);
    s.advance(15 * DAY_MS);
    await housekeepingFor(s).runOnce();
    assert.equal((await warnings(s)).length, 2);
    assert.equal(await count(s, 'audit', "CAST(changes AS TEXT) LIKE '%arned%'"), 0);
  });
});
