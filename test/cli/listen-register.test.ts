import assert from 'node:assert/strict';
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ANNOUNCED_MS, announcedCertificate, announceReceiver } from '../../src/data/announcements.ts';
import { refusalOf, succeeded } from '../support/client.ts';
import { sallyport } from '../support/command.ts';
import { makeEndpoint, makeEventType, publish, readWebhook } from '../support/journey.ts';
import { type Listener, startListener, startListenerProcess } from '../support/listening.ts';
import { type ServiceInProcess, startService, temporaryFolder } from '../support/service.ts';

const TYPE = 'order.created';

/** A service that may send to no private address. */
function startGuarded(t: TestContext): Promise<ServiceInProcess> {
  return startService(t, { env: { SALLYPORT_EGRESS_ALLOW: '' } });
}

function registered({ dataDir }: ServiceInProcess, ...args: string[]): string[] {
  return ['--register', '--event', TYPE, '--data', dataDir, ...args];
}

async function refusal(t: TestContext, args: readonly string[]): Promise<string> {
  const folder = join(temporaryFolder(t), 'listen');
  return (await sallyport(['listen', '--port', '0', '--certificate-folder', folder, ...args])).stderr;
}

describe('sallyport listen --register', () => {
  it('receives the events of a running server without any other set-up, and stops its webhook at its end', async (t) => {
    const service = await startGuarded(t);
    const { admin, log } = service;
    const listener = await startListenerProcess(t, registered(service));
    const { webhookId, endpointId } = listener as Listener & { webhookId: string; endpointId: string };
    const [event] = await publish(admin, TYPE, { orderId: 42 });
    const { what, delivery } = await listener.next();
    assert.equal(what, 'delivery');
    const { records } = delivery as { records: { value: { headers: { messageId: string } } }[] };
    assert.equal(records[0]?.value.headers.messageId, event);
    assert.equal((await log.nextAttempt(webhookId)).fate, 'delivered');
    assert.equal((await listener.end()).code, 0);
    assert.equal((await readWebhook(admin, { id: webhookId })).state, 'stopped');
    assert.ok(!readdirSync(service.dataDir).some((name) => name.startsWith('listen-')));
    // The next call takes the same endpoint and webhook over, with new secrets, and gets what waited.
    const [second] = await publish(admin, TYPE, { orderId: 43 });
    const { port } = new URL(listener.url);
    const next = await startListener(t, registered(service, '--port', port));
    assert.deepEqual(
      { webhookId, endpointId },
      { webhookId: (next as typeof next & { webhookId: string }).webhookId, endpointId },
    );
    const waited = (await next.next()).delivery as { records: { value: { headers: { messageId: string } } }[] };
    assert.deepEqual(
      waited.records.map(({ value }) => value.headers.messageId),
      [second],
    );
    const endpoints = await succeeded<{ items: unknown[] }>(admin.get('endpoints'));
    assert.equal(endpoints.items.length, 1);
  });

  it('opens no other address of this machine', async (t) => {
    const service = await startGuarded(t);
    const { admin } = service;
    const listener = await startListener(t, registered(service));
    const { port } = new URL(listener.url);
    await makeEventType(admin, 'other.type');
    const literal = { name: 'literal', url: `https://127.0.0.1:${port}/` };
    assert.equal((await refusalOf(admin.post('endpoints', literal), 400)).details?.[0]?.field, 'url');
    const endpoint = await makeEndpoint(admin, { ...listener, url: 'https://localhost:1/' });
    const body = { name: 'elsewhere', endpointId: endpoint.id, eventTypes: ['other.type'] };
    const { id } = await succeeded<{ id: string }>(admin.post('webhooks', body));
    const attempt = await succeeded<{ errorClass: string }>(admin.post(`webhooks/${id}/test`));
    assert.equal(attempt.errorClass, 'egress_refused');
  });

  it('is refused for events that must be encrypted, and leaves no announcement', async (t) => {
    const service = await startGuarded(t);
    const args = ['--register', '--event', 'employee.created', '--data', service.dataDir];
    assert.match(await refusal(t, args), /encrypt/);
    assert.ok(!readdirSync(service.dataDir).some((name) => name.startsWith('listen-')));
  });

  it('needs --event, and --event needs it', async (t) => {
    assert.match(await refusal(t, ['--register']), /--register requires --event/);
    assert.match(await refusal(t, ['--event', TYPE]), /--event requires --register/);
  });
});

describe('an announced receiver', () => {
  it('is known while its announcement is refreshed', (t) => {
    const folder = temporaryFolder(t);
    const announced = announceReceiver(folder, 9443, 'certificate');
    assert.equal(announcedCertificate(folder, 9443, Date.now()), 'certificate');
    assert.equal(announcedCertificate(folder, 9444, Date.now()), null);
    announced.end();
    assert.equal(announcedCertificate(folder, 9443, Date.now()), null);
  });

  it('is forgotten some seconds after its process was killed', (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'listen-9443.pem');
    writeFileSync(file, 'certificate');
    const before = new Date(Date.now() - ANNOUNCED_MS - 1000);
    utimesSync(file, before, before);
    assert.equal(announcedCertificate(folder, 9443, Date.now()), null);
  });
});
