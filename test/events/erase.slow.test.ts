import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import type { ErasedView } from '../../src/events/erase.ts';
import { succeeded } from '../support/client.ts';
import { connect, makeEventType, startWebhook, stopWebhook } from '../support/journey.ts';
import { startReceiver } from '../support/receiver.ts';
import { spawnService } from '../support/service.ts';
import { sharedCertificates } from '../support/tls.ts';

const SECRET = 'Jane-Doe-of-Elm-Street';

it('sends nothing of the person from its reply on, and goes on after a kill', { timeout: 600_000 }, async (t) => {
  const { ca, server } = sharedCertificates();
  const service = await spawnService(t, { ca });
  const { admin } = service;
  const receiver = await startReceiver(t, server);
  await makeEventType(admin, 'order.placed');
  const { at, webhook } = await connect({ admin, receiver }, ['order.placed']);
  await stopWebhook(admin, webhook);
  // More than can be overwritten in two seconds.
  const count = 8000;
  for (let from = 0; from < count; from += 1000) {
    const events = Array.from({ length: 1000 }, (_, n) => ({
      type: 'order.placed',
      data: { text: SECRET, n: from + n },
      subject: 'jane',
    }));
    await succeeded(admin.post('events', { events }));
  }
  await succeeded(admin.post('events', { type: 'order.placed', data: { text: 'John' }, subject: 'john' }));
  const { status, headers, body } = await admin.post<ErasedView>('events/erase', { subject: 'jane' });
  assert.deepEqual([status, body.state], [202, 'overwriting']);
  assert.ok(body.events < count, `${body.events}`);
  await succeeded(admin.post('events', { type: 'order.placed', data: { text: 'later' }, subject: 'jane' }));
  await startWebhook(admin, webhook);
  const texts: string[] = [];
  while (texts.length < 2) {
    for (const { data } of (await at.next()).records) texts.push((data as { text: string }).text);
  }
  assert.deepEqual(texts, ['John', 'later']);
  service.kill('SIGKILL');
  await service.exited;
  const again = await spawnService(t, { ca, after: service });
  const location = headers.get('location') ?? '';
  let done = body;
  while (done.state !== 'finished') {
    await sleep(200);
    done = await succeeded<ErasedView>(again.admin.get(location));
  }
  assert.deepEqual([done.events, done.deliveriesDiscarded], [count, count]);
  assert.equal(readFileSync(join(service.dataDir, DATABASE_FILE)).indexOf(SECRET), -1);
  const sent = at.deliveries.flatMap(({ records }) => records.map((record) => record.data as { text: string }));
  assert.ok(sent.every(({ text }) => text === 'John' || text === 'later'));
});
