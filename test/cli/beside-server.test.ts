import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serve } from '../support/command.ts';
import { creationOf, initialised, type Json, type Page, reachableReceiver } from '../support/command-folder.ts';

test('a running server delivers what commands publish; they show its attempts and replay it', async (t) => {
  const { receiver, env } = await reachableReceiver(t);
  const { dataDir, json, run } = await initialised(t, env);
  await serve(t, dataDir, { env });

  const endpoint = receiver.endpoint('/hook');
  const created = await json(creationOf(endpoint));
  await json(['event', 'type-create', '--name', 'order.placed']);
  const base = ['webhook', 'create', '--name', 'Orders', '--endpoint', created.id, '--event', 'order.*'];
  const webhook = await json(base);
  await json(['webhook', 'start', webhook.id]);
  await json(['event', 'publish', 'order.placed', '{"number":17}']);

  const { records } = await endpoint.next();
  assert.deepEqual(
    records.map(({ data }) => data),
    [{ number: 17 }],
  );
  // The receiver has it before the server records the delivery.
  const delivered = async (attempts: number): Promise<Json> => {
    for (;;) {
      const { items } = await json<Page>(['deliveries', 'list', '--webhook', webhook.id, '--state', 'delivered']);
      const [delivery] = items;
      if (delivery === undefined) continue;
      const shown = await json(['deliveries', 'show', delivery.id]);
      if ((shown.attempts as Json[]).length === attempts) return shown;
    }
  };
  const { id, attempts } = await delivered(1);
  const [attempt] = attempts as Json[];
  assert.deepEqual([attempt?.delivered, attempt?.responseStatus, attempt?.error], [true, 204, null]);
  assert(!JSON.stringify(attempt).includes(endpoint.apiKey));
  const { stdout } = await run(['deliveries', 'show', id]);
  assert.match(
    stdout,
    /\nstartedAt +attemptNumber +delivered +responseStatus +error +advice\n\S+ +1 +true +204 +- +-\n$/,
  );

  assert.equal((await json(['deliveries', 'replay', id])).state, 'pending');
  const again = await endpoint.next();
  assert.deepEqual(
    again.records.map(({ messageId }) => messageId),
    records.map(({ messageId }) => messageId),
  );
  await delivered(2);
  assert.equal((await json<Page>(['deliveries', 'list', '--webhook', webhook.id])).items.length, 1);
});
