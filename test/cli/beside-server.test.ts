import assert from 'node:assert/strict';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { serve } from '../support/command.ts';
import { creationOf, initialised, type Json, type Page, reachableReceiver } from '../support/command-folder.ts';

test('a running server delivers what commands publish; they show its attempts and replay it', async (t) => {
  const { receiver, env } = await reachableReceiver(t);
  const { dataDir, json, run } = await initialised(t, env);
  await serve(t, dataDir, { env });

  const endpoint = receiver.endpoint('/hook');
  const created = await json(creationOf(endpoint));
  await json(['event-type', 'create', '--name', 'order.placed']);
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
  assert.match(stdout, /\nattempt +started +delivered +response +took\n1 +\S+ +yes +204 +\d+ ms\n$/);

  assert.equal((await json(['deliveries', 'replay', id])).state, 'pending');
  const again = await endpoint.next();
  assert.deepEqual(
    again.records.map(({ messageId }) => messageId),
    records.map(({ messageId }) => messageId),
  );
  await delivered(2);
  const twice = (await run(['deliveries', 'show', id])).stdout;
  assert.match(twice, /\nwebhook +Orders \(\S{36}\)\n[\s\S]*\nattempts +2\n/);
  const listed = (await run(['deliveries', 'list'])).stdout;
  assert.match(listed, /^event +webhook +state +at \(UTC\) +id\n\S+ +Orders +delivered +\d/);
  await run(['webhook', 'stop', 'Orders']);
  await json(['deliveries', 'replay', id]);
  const queued = (await run(['deliveries', 'show', id])).stdout;
  assert.match(
    queued,
    /\nstate +pending\n[\s\S]*\nattempts +2\n\nIt is queued to be sent again\. Its webhook is stopped, so it waits\./,
  );
  assert.match(twice, /\n1 +\S+ +yes +204 +\d+ ms\n2 +\S+ +yes +204 +\d+ ms\nIt was sent again after attempt 1\.\n$/);
  for (const given of [webhook.id, 'Orders', 'orders']) {
    assert.equal((await json<Page>(['deliveries', 'list', '--webhook', given])).items.length, 1);
  }
  assert.match((await run(['deliveries', 'list', '--webhook', 'Ordres'])).stderr, /Did you mean "Orders"\?/);
});

test('commands beside a running server use its settings, whatever their environment says', async (t) => {
  const { receiver, env } = await reachableReceiver(t);
  // The commands know neither where the master key is nor how to reach the receiver.
  const { dataDir, json, run } = await initialised(t, { SALLYPORT_EGRESS_ALLOW: '192.0.2.1' });
  const masterKey = join(dirname(dataDir), 'master.key');
  renameSync(join(dataDir, 'master.key'), masterKey);
  const proxy = { SALLYPORT_EGRESS_PROXY: 'http://user:pass-word@127.0.0.1:1' };
  const announced = join(dataDir, 'server.json');
  const settings = { ...env, SALLYPORT_MASTER_KEY_FILE: masterKey, SALLYPORT_PUBLIC_URL: 'https://edge.example' };
  const server = await serve(t, dataDir, { env: settings });

  const endpoint = receiver.endpoint('/hook');
  const { id } = await json([...creationOf(endpoint), '--token-challenge']);
  assert.equal((await json(['endpoint', 'verify', id])).verified, true);
  assert.match((await json<{ url: string }>(['user', 'invite', 'admin'])).url, /^https:\/\/edge\.example\//);
  const narrowed = await run(['endpoint', 'verify', id, '--egress-allow', '192.0.2.1']);
  assert.match(narrowed.stdout, /egress_refused: /);

  assert.deepEqual(await server.end('SIGTERM'), { status: 0, signal: null });
  assert.equal(existsSync(announced), false);
  assert.match((await run(['endpoint', 'show', id])).stderr, /no master key at/);

  await serve(t, dataDir, { env: { ...settings, ...proxy } });
  assert.match((await run(['endpoint', 'verify', id])).stdout, /proxy: /);
  assert.doesNotMatch(readFileSync(announced, 'utf8'), /pass-word/);
});
