import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type Connected, type Dispatching, isDrained, openDispatching, TYPE, until } from '../support/dispatching.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeEventType } from '../support/services.ts';

repeatsInSlowTier('postgres');

const SECRET_TYPE = 'health.reported';

async function makeKeyPair(d: Dispatching, name: string): Promise<string> {
  const openpgp = await import('openpgp');
  const { publicKey, privateKey } = await openpgp.generateKey({
    userIDs: [{ name }],
    date: new Date(d.clock() - 1000),
  });
  await d.keys.create({ name, publicKey }, ACTOR);
  return privateKey;
}

/** A stopped webhook whose log holds one record that must be encrypted and one that need not, from when it had a key. */
async function withLogFromBefore(t: TestContext, type: string): Promise<{ d: Dispatching; hook: Connected }> {
  const d = await openDispatching(t);
  const privateKeys = { hr: await makeKeyPair(d, 'hr') };
  if (type === SECRET_TYPE) await makeEventType(d, type, { encryptionRequired: true });
  const hook = await d.connect({
    receiving: { privateKeys },
    webhook: { eventTypes: [type, TYPE], encryptionKeyName: 'hr' },
  });
  await d.webhooks.stop(hook.webhook.id, ACTOR);
  await d.publish({ type, data: { userId: 'ada' } }, ACTOR);
  await d.publishMany(1);
  return { d, hook };
}

async function withoutKey(d: Dispatching, { webhook }: Connected): Promise<void> {
  await d.webhooks.patch(webhook.id, { eventTypes: [TYPE], encryptionKeyName: null }, ACTOR);
}

async function stopped(d: Dispatching, { webhook }: Connected): Promise<void> {
  await until('stopped', async () => (await d.webhooks.get(webhook.id)).progress.state === 'stopped');
  assert.equal((await d.webhooks.get(webhook.id)).progress.stateReason, 'encryption_key_missing');
}

for (const type of ['employee.created', SECRET_TYPE]) {
  describe(`a record of ${type} that was logged while its webhook had a key`, () => {
    it('is not sent after the key was removed: the webhook stops with the reason and keeps every record', async (t) => {
      const { d, hook } = await withLogFromBefore(t, type);
      await withoutKey(d, hook);
      const told = await d.connect({ webhook: { eventTypes: ['webhook.stopped'] } });
      await d.webhooks.start(hook.webhook.id, ACTOR);
      await d.start();
      const [record] = (await told.at.next()).records;
      assert.partialDeepStrictEqual(record?.data, { reason: 'encryption_key_missing', previousState: 'started' });
      await stopped(d, hook);
      assert.equal(hook.at.deliveries.length, 0);
      const ofEvent = async () => d.rows('SELECT webhook_number AS number FROM attempt');
      await until('the attempt for the event', async () => (await ofEvent()).length > 0);
      const attempts = await ofEvent();
      assert.deepEqual(
        attempts.map(({ number }) => number),
        [told.number],
      );
      const [entry] = await d.rows(
        `SELECT actor, changes FROM audit WHERE action = 'webhook.stop' ORDER BY number DESC`,
      );
      assert.equal(entry?.actor, 'service');
      assert.match(String(entry?.changes), /encryption_key_missing/);
      const waiting = (await d.deliveries.list({ webhookId: hook.webhook.id }, null, 10)).items;
      assert.deepEqual(
        waiting.map(({ state, attemptCount }) => [state, attemptCount]),
        [
          ['pending', 0],
          ['pending', 0],
        ],
      );
      // With a key again it is sent, encrypted.
      await d.webhooks.patch(hook.webhook.id, { encryptionKeyName: 'hr' }, ACTOR);
      await d.webhooks.start(hook.webhook.id, ACTOR);
      const { request, records } = await hook.at.next();
      assert.equal(request.headers['x-pgp-key-name'], 'hr');
      assert.deepEqual(
        records.map(({ eventType }) => eventType),
        [type, TYPE],
      );
    });

    it('is not sent by a replay either', async (t) => {
      const { d, hook } = await withLogFromBefore(t, type);
      const dispatcher = await d.start();
      await d.webhooks.start(hook.webhook.id, ACTOR);
      dispatcher.wake();
      await hook.at.next();
      await until('delivered', () => isDrained(d));
      await withoutKey(d, hook);
      const before = d.receiver.requests.length;
      assert.deepEqual(await d.webhooks.replay(hook.webhook.id, { states: ['delivered'] }, ACTOR), { replayed: 2 });
      await stopped(d, hook);
      assert.equal(d.receiver.requests.length, before);
    });
  });
}

describe('a record that need not be encrypted', () => {
  it('is sent in clear after the key was removed', async (t) => {
    const { d, hook } = await withLogFromBefore(t, SECRET_TYPE);
    await withoutKey(d, hook);
    const [secretType] = await d.rows(`SELECT id FROM event_type WHERE name = '${SECRET_TYPE}'`);
    await d.eventTypes.patch(String(secretType?.id), { encryptionRequired: false }, ACTOR);
    await d.webhooks.start(hook.webhook.id, ACTOR);
    await d.start();
    const { request, records } = await hook.at.next();
    assert.equal(request.headers['x-content-encrypted'], undefined);
    assert.equal(records.length, 2);
  });
});
