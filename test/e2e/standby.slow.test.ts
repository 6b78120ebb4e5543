/** A service while the synchronous standby is away: no answer promises what only the primary has. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type ApiReply, createClient, EDGE, succeeded, TOKEN, tokenFor } from '../support/client.ts';
import { spawnService } from '../support/service.ts';
import { startWaitedFor, untilWaiting, untilWritten } from '../support/standby.ts';

/**
 * The answer that must not come, once it has: any but 503, which promises nothing. It can come soon, from a connection that the crash
 * broke.
 */
function watched(answer: Promise<number | ApiReply<unknown>>): {
  readonly answer: Promise<unknown>;
  wrong(): string | null;
} {
  let wrong: string | null = null;
  const seen = answer.then(
    (reply) => {
      const [status, body] = typeof reply === 'number' ? [reply, null] : [reply.status, reply.body];
      if (status !== 503) wrong = `${status} ${JSON.stringify(body)}`;
    },
    (error: unknown) => {
      wrong = String(error);
    },
  );
  return { answer: seen, wrong: () => wrong };
}

it('promises nothing that a crash of the primary made visible before the standby has it', async (t) => {
  const servers = await startWaitedFor(t);
  const service = await spawnService(t, { env: { SALLYPORT_DATABASE_URL: servers.primary.url('postgres') } });
  const { url, admin, credentials } = service;
  await succeeded(admin.post('event-types', { name: 'order.created', description: 'An order was placed.' }));
  const log = await succeeded<{ id: string }>(
    admin.post('webhooks', { name: 'log', mode: 'pull', eventTypes: ['order.created'] }),
  );
  await succeeded(admin.post(`webhooks/${log.id}/start`));
  const token = await tokenFor(url, credentials);
  const { clientId, clientSecret } = credentials;
  const revoke = async (): Promise<number> => {
    const body = JSON.stringify({ clientId, clientSecret, token });
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${url}/services/api/oauth2/revoke`, { method: 'POST', headers, body })).status;
  };
  const publish = (): Promise<ApiReply<{ duplicates: number }>> =>
    admin.post('events', { type: 'order.created', data: {}, idempotencyKey: 'one' });
  const create = (): Promise<ApiReply<{ id: string }>> =>
    admin.post('event-types', { name: 'order.paid', description: 'Paid.' }, { 'Idempotency-Key': 'one' });

  await servers.takeAway('frozen');
  const asked = [publish().then(({ status }) => status), create().then(({ status }) => status), revoke()];
  await untilWaiting(servers.primary, 3);
  await untilWritten(servers.primary, ['outbox', 'kept_reply']);
  await servers.primary.crash();
  assert.deepEqual(await Promise.all(asked), [503, 503, 503]);

  // Reads go on, and show it.
  const types = async () =>
    admin.get<{ items: { id: string; name: string }[] }>('event-types?limit=200').catch(() => null);
  let shown = await types();
  while (shown?.status !== 200) {
    await pause(20);
    shown = await types();
  }
  const made = shown.body.items.find(({ name }) => name === 'order.paid');
  assert.ok(made);
  assert.equal((await createClient(url, token).get('event-types')).status, 401);

  const repeats = {
    publish: watched(publish()),
    create: watched(create()),
    revoke: watched(revoke()),
    unchanged: watched(admin.patch(`event-types/${made.id}`, { description: 'Paid.' })),
    gone: watched(admin.delete('event-types/0198c2f0-0000-7000-8000-000000000000')),
    read: watched(admin.get<{ records: unknown[] }>(`webhooks/${log.id}/records`)),
  };
  await untilWaiting(servers.primary, 2);
  for (const [name, { wrong }] of Object.entries(repeats)) assert.equal(wrong(), null, name);
  const ready = await fetch(`${url}/readyz`);
  assert.equal(ready.status, 503);
  assert.match(await ready.text(), /a write has waited longer than 5 s|did not answer in time|not confirmed/);
  for (const [name, { wrong }] of Object.entries(repeats)) assert.equal(wrong(), null, name);
  // A new write gets its answer, too.
  const issued = await fetch(`${url}${TOKEN}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ grantType: 'client_credentials', clientId, clientSecret }),
  });
  assert.equal(issued.status, 503);
  assert.ok(Number(issued.headers.get('retry-after')) > 0);

  await servers.giveBack('frozen');
  await Promise.allSettled(Object.values(repeats).map(({ answer }) => answer));
  while ((await fetch(`${url}/readyz`)).status !== 200) await pause(50);
  assert.equal((await publish()).body.duplicates, 1);
  assert.deepEqual([(await create()).body.id, await revoke()], [made.id, 200]);
  const read = await admin.get<{ records: unknown[] }>(`webhooks/${log.id}/records`);
  assert.equal(read.body.records.length, 1);
  const health = await fetch(`${url}${EDGE}/event-types`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(health.status, 401);

  // A stop does not wait for the standby.
  await servers.takeAway('frozen');
  const last = admin.post('events', { type: 'order.created', data: {} }).catch(() => null);
  await untilWaiting(servers.primary);
  service.kill('SIGTERM');
  assert.deepEqual(await service.exited, { code: 0, signal: null }, service.log.text());
  assert.notEqual((await last)?.status, 202);
});
