import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { unusedFolder } from '../support/command.ts';
import { initialised, type Json, type Page, reachableReceiver } from '../support/command-folder.ts';
import { makeCertificates } from '../support/tls.ts';
import { pgpVector } from '../support/vectors.ts';

test('endpoint: creates, verifies, rotates and lists, and sends with the given settings', async (t) => {
  const { receiver, env } = await reachableReceiver(t);
  const { run, json, failure } = await initialised(t, env);
  const { url, secret, apiKey, challenges } = receiver.endpoint('/hook');

  const args = ['endpoint', 'create', '--name', 'Payroll', '--url', url, '--secret', '-', '--api-key', apiKey];
  const refused = await run(args, `${secret}\n`);
  assert.equal(refused.status, 2);
  assert.match(refused.stderr, /--secret must not end with a line feed: printf '%s' writes a text without one/);
  const created = await json([...args, '--gzip', '--token-challenge'], secret);
  assert.equal(created.secret, secret);
  assert.equal(created.contentEncoding, 'gzip');
  assert.equal(created.verified, true);
  assert.equal(created.enabled, true);
  assert.equal(challenges.length, 1);
  const verified = await run(['endpoint', 'verify', created.id]);
  assert.equal(verified.status, 0);
  assert.equal(challenges.length, 2);

  const rotated = await json(['endpoint', 'rotate-secret', created.id, '--activate-after-seconds', '3600']);
  assert.notEqual(rotated.secret, secret);
  assert.notEqual(rotated.secretActivatesAt, null);
  const newKey = 'a'.repeat(32);
  assert.equal((await json(['endpoint', 'rotate-api-key', created.id, '--api-key', newKey])).apiKey, newKey);

  const { items } = await json<Page>(['endpoint', 'list']);
  assert.deepEqual(
    items.map(({ id }) => id),
    [created.id],
  );
  assert.equal('secret' in (items[0] ?? {}), false);

  const fields = JSON.stringify({
    oauth: { clientId: 'c', clientSecret: 'hidden', tokenUrl: `${receiver.origin}/token` },
  });
  const oauth = await json([
    'endpoint',
    'create',
    '--name',
    'With OAuth',
    '--url',
    url,
    '--disabled',
    '--fields',
    fields,
  ]);
  assert.equal(oauth.enabled, false);
  assert(!JSON.stringify(oauth).includes('hidden'));
  assert.match(
    await failure(['endpoint', 'create', '--name', 'x', '--url', 'http://a.example']),
    /url must begin with https:/,
  );
  for (const [fields, problem] of [
    ['{', /--fields is not JSON/],
    ['[]', /--fields is not a JSON object/],
  ] as const) {
    const wrong = await run(['endpoint', 'create', '--name', 'x', '--url', url, '--fields', fields]);
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, problem);
  }
});

test('endpoint verify fails if the endpoint answers incorrectly, and says why', async (t) => {
  const { run, json } = await initialised(t);
  // Sending to loopback is not allowed here.
  const { id } = await json(['endpoint', 'create', '--name', 'x', '--url', 'https://localhost:1/hook']);
  const { status, stdout } = await run(['endpoint', 'verify', id, '--json']);
  assert.equal(status, 1);
  const { verified, lastVerification } = JSON.parse(stdout) as {
    verified: boolean;
    lastVerification: { error: string };
  };
  assert.equal(verified, false);
  assert.match(lastVerification.error, /egress_refused/);
  assert.match(
    (await run(['endpoint', 'verify', id])).stdout,
    /\n\nA command sends with .* SALLYPORT_EGRESS_ALLOW, .* its own env/,
  );
});

test('endpoint: reports on standard error that an endpoint is disabled after a failed challenge, with advice', async (t) => {
  const { receiver, env } = await reachableReceiver(t);
  const { run, json } = await initialised(t, env);
  const { url, secret, apiKey } = receiver.endpoint('/hook');
  const create = ['endpoint', 'create', '--name', 'Payroll', '--url', url, '--api-key', apiKey, '--json'];
  // The receiver has another secret.
  const off = await run([...create, '--token-challenge']);
  const { id, enabled, lastVerification } = JSON.parse(off.stdout) as Json & { lastVerification: { error: string } };
  assert.deepEqual([off.status, enabled, lastVerification.error === null], [0, false, false]);
  const note =
    'The endpoint did not answer the challenge and is disabled. Give the receiver the secret, then run: sallyport ' +
    `endpoint verify ${id}\n`;
  assert.equal(off.stderr, note);
  const updated = await run(['endpoint', 'update', id, '--fields', JSON.stringify({ url: `${url}/elsewhere` })]);
  assert.deepEqual([updated.status, updated.stderr.startsWith(note)], [0, true]);

  const unreached = await run([...create, '--token-challenge', '--egress-allow', '192.0.2.1', '--disabled']);
  assert.deepEqual([unreached.status, unreached.stderr], [0, ''], 'it is off because it was to be');
  const lacking = ['--fields', '{"tokenChallenge":true}', '--egress-allow', '192.0.2.1'];
  const unchallenged = await json([...create.slice(0, -1)]);
  const { stderr } = await run(['endpoint', 'update', unchallenged.id, ...lacking]);
  assert.match(stderr, /^The endpoint did not answer .*\nA command sends with .* SALLYPORT_EGRESS_ALLOW, .*\n$/);

  const on = await run([...create, '--token-challenge', '--secret', secret]);
  assert.deepEqual([on.status, on.stderr], [0, '']);
  assert.deepEqual((await run(['endpoint', 'update', id, '--fields', '{"enabled":false}'])).stderr, '');
});

test('a command without the settings of the server disables no working endpoint, and names the settings', async (t) => {
  const { receiver, env } = await reachableReceiver(t);
  const { json, run } = await initialised(t, env);
  const { url, secret, apiKey, challenges } = receiver.endpoint('/hook');
  const args = ['endpoint', 'create', '--name', 'Payroll', '--url', url, '--secret', secret, '--api-key', apiKey];
  const { id } = await json([...args, '--token-challenge']);
  const webhook = await json(['webhook', 'create', '--name', 'W', '--endpoint', id, '--event', 'webhook.*']);
  await json(['webhook', 'start', webhook.id]);
  const before = await json(['endpoint', 'show', id]);

  const otherCa = join(dirname(unusedFolder(t)), 'other.pem');
  writeFileSync(otherCa, makeCertificates().ca);
  for (const [lacking, error] of [
    [['--egress-allow', '192.0.2.1'], 'egress_refused'],
    [['--ca-file', otherCa], 'tls_untrusted'],
    [['--egress-proxy', 'http://127.0.0.1:1'], 'proxy'],
  ] as const) {
    const verify = await run(['endpoint', 'verify', id, ...lacking]);
    assert.equal(verify.status, 1);
    assert.match(verify.stdout, new RegExp(`${error}: `));
    assert.match(
      verify.stdout + verify.stderr,
      /did not answer the challenge\. It stays verified\. .* its own environment/,
    );
    const { status, stdout } = await run(['webhook', 'test', webhook.id, '--json', ...lacking]);
    assert.equal(status, 1);
    const attempt = JSON.parse(stdout) as { errorClass: string; advice: string };
    assert.equal(attempt.errorClass, error);
    assert.match(attempt.advice, /^(?!A command).* A command sends with .* its own environment/);
  }
  const { updatedAt: _, lastVerification: __, ...kept } = before;
  const { updatedAt: ___, lastVerification: failed, ...after } = await json(['endpoint', 'show', id]);
  assert.deepEqual(after, kept);
  assert.equal((failed as { verified: boolean }).verified, false);
  assert.equal((await json(['webhook', 'show', webhook.id])).state, 'started');
  assert.equal(challenges.length, 1);
});

test('key: imports from a file or standard input, lists, and refuses unusable keys', async (t) => {
  const { json, failure } = await initialised(t);
  const file = join(dirname(unusedFolder(t)), 'key.asc');
  writeFileSync(file, pgpVector('rsa4096'));
  const imported = await json(['key', 'import', file, '--name', 'payroll']);
  assert.equal(imported.publicKey, pgpVector('rsa4096'));
  assert.equal((await json(['key', 'import', '-', '--name', 'other'], pgpVector('curve25519'))).name, 'other');
  const { items } = await json<Page>(['key', 'list']);
  assert.deepEqual(
    items.map(({ name }) => name),
    ['payroll', 'other'],
  );
  assert.match(
    await failure(['key', 'import', '-', '--name', 'weak'], pgpVector('weak-rsa1024')),
    /^sallyport: <file> cannot be used/,
  );
  assert.match(
    await failure(['key', 'import', '/nowhere', '--name', 'x']),
    /^sallyport: \/nowhere cannot be read \(ENOENT\)\n$/,
  );
});

test('event, webhook, deliveries: from an event type to a pending delivery', async (t) => {
  const { run, json, failure } = await initialised(t);
  const typed = await json(
    ['event-type', 'create', '--name', 'order.placed', '--description', 'Somebody ordered.', '--data-schema', '-'],
    '{"type":"object","required":["number"]}',
  );
  assert.deepEqual(typed.dataSchema, { type: 'object', required: ['number'] });
  const types = await json<Page>(['event-type', 'list']);
  assert.equal(types.items.length, 10);

  const endpoint = await json(['endpoint', 'create', '--name', 'Shop', '--url', 'https://shop.example/hook']);
  const base = ['webhook', 'create', '--name', 'Orders', '--endpoint', endpoint.id];
  const fields = '{"retry":{"policy":"linear"},"maxBatchRecords":7}';
  const webhook = await json([
    ...base,
    '--event',
    'order.placed',
    '--header',
    'x-tenant: 17',
    '--header',
    'X-Empty:',
    '--ordered',
    '--standard-webhooks',
    '--fields',
    fields,
  ]);
  assert.deepEqual(webhook.customHeaders, [
    { name: 'x-tenant', value: '17' },
    { name: 'X-Empty', value: '' },
  ]);
  assert.deepEqual(webhook.retry, { policy: 'linear', maxAttempts: 20 });
  assert.deepEqual([webhook.ordered, webhook.standardWebhooks, webhook.maxBatchRecords], [true, true, 7]);
  assert.equal(webhook.state, 'stopped');
  assert.match(await failure([...base, '--event', 'employee.*']), /^sallyport: --key is required/);

  const publish = ['event', 'publish', 'order.placed'];
  const accepted = await json<{ accepted: number; events: Json[] }>([
    ...publish,
    '{"number":1}',
    '--idempotency-key',
    'a',
  ]);
  assert.equal(accepted.accepted, 1);
  const repeated = await json<{ accepted: number; duplicates: number }>(
    [...publish, '-', '--idempotency-key', 'a'],
    '{"number":1}',
  );
  assert.deepEqual([repeated.accepted, repeated.duplicates], [0, 1]);
  assert.match(
    await failure([...publish, '{}']),
    /^sallyport: <data>: number is required. The schema of order.placed: sallyport event-type show order.placed\n$/,
  );
  assert.match(
    await failure(['event', 'publish', 'no.such', '{}']),
    /^sallyport: there is no event type no\.such\. sallyport event-type list shows all/,
  );
  const shown = await run([...publish, '{"number":2}', '--subject', 's', '--actor-id', 'a', '--correlation-id', 'c']);
  assert.match(shown.stdout, /^Published order\.placed \S{36} \(queued for 1 webhook\)\n$/);

  const started = await json(['webhook', 'start', webhook.id]);
  assert.equal(started.state, 'started');
  assert.equal((await json(['webhook', 'stop', webhook.id])).stateReason, 'stopped_by_administrator');
  assert.deepEqual(
    (await json<Page>(['webhook', 'list'])).items.map(({ state }) => state),
    ['stopped'],
  );
  assert.deepEqual(
    await json(['webhook', 'replay', webhook.id, '--state', 'delivered', '--since', '2026-01-01T00:00:00Z']),
    {
      replayed: 0,
    },
  );

  const list = ['deliveries', 'list', '--webhook', webhook.id];
  const deliveries = await json<Page>([...list, '--state', 'pending', '--event-type', 'order.placed']);
  assert.deepEqual(
    deliveries.items.map(({ offset, state }) => [offset, state]),
    [
      [1, 'pending'],
      [0, 'pending'],
    ],
  );
  assert.equal(deliveries.items[1]?.eventId, accepted.events[0]?.id);
  assert.deepEqual((await json<Page>([...list, '--until', '2026-01-01T00:00Z'])).items, []);
  assert.equal((await json<Page>([...list, '--since', '2026-01-01T00:00:00+01:00'])).items.length, 2);
  const id = deliveries.items[0]?.id ?? '';
  const [heads, first] = (await run(list)).stdout.split('\n').map((line) => line.split(/ {2,}/));
  assert.deepEqual(heads, ['event', 'webhook', 'state', 'at (UTC)', 'id']);
  assert.deepEqual([...(first ?? []).slice(0, 3), first?.[4]], ['order.placed', webhook.name, 'pending', id]);
  assert.match(first?.[3] ?? '', /^\d\d-\d\d \d\d:\d\d$/);
  assert.equal(deliveries.items[0]?.nextAttemptAt, null, 'none is due while the webhook is stopped');
  assert.deepEqual((await json(['deliveries', 'show', id])).attempts, []);
  assert.match((await run(['deliveries', 'show', id])).stdout, /\nstate +pending\n[\s\S]*\nNo attempt yet\.\n$/);
  assert.match(await failure(['deliveries', 'replay', id]), /the delivery is pending, and its webhook is stopped/);
});

test('webhook: is created in mode pull, read and acknowledged', async (t) => {
  const { run, json, failure } = await initialised(t);
  await json(['event-type', 'create', '--name', 'order.placed']);
  const lacking = await run(['webhook', 'create', '--name', 'Orders', '--event', 'order.placed']);
  assert.equal(lacking.status, 2);
  assert.match(lacking.stderr, /--endpoint is required, unless --mode is pull/);
  const create = ['webhook', 'create', '--name', 'Orders', '--event', 'order.placed', '--mode'];
  assert.match(await failure([...create, 'pull', '--ordered']), /ordered has no effect in mode pull/);
  const { mode, endpointId, state } = await json([...create, 'pull']);
  assert.deepEqual([mode, endpointId, state], ['pull', null, 'started']);
  for (const n of [1, 2]) await json(['event', 'publish', 'order.placed', JSON.stringify({ n })]);
  const first = await json<Json & { records: readonly Json[] }>(['webhook', 'records', 'Orders', '--limit', '1']);
  assert.deepEqual([first.records.length, first.throughOffset, first.newestOffset], [1, 0, 1]);
  const acknowledge = ['webhook', 'acknowledge', 'Orders', '--through'];
  assert.deepEqual(await json([...acknowledge, '0']), { acknowledged: 1, acknowledgedOffset: 0, newestOffset: 1 });
  assert.match(await failure([...acknowledge, '2']), /^sallyport: --through is past the newest record, which is 1/);
  const next = await json<Json & { records: readonly Json[] }>(['webhook', 'records', 'Orders', '--wait', '30']);
  assert.deepEqual(
    next.records.map(({ offset }) => offset),
    [1],
  );
  assert.match(await failure(['webhook', 'records', 'Orders', '--limit', '1001']), /limit/);
});
