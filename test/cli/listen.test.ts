import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import * as openpgp from 'openpgp';
import { verifyChallengeAnswer } from '../../src/wire/challenge.ts';
import { terminalHere } from '../support/command.ts';
import { deferred } from '../support/deferred.ts';
import { importKey, makeEndpoint, makeEventType, makeWebhook, publish, startWebhook } from '../support/journey.ts';
import {
  exchange,
  listenHere,
  sendTo,
  spawnListen,
  startListener,
  startListenerProcess,
} from '../support/listening.ts';
import { startService, temporaryFolder } from '../support/service.ts';
import { PATH, SECRET, signedRequest, withHeader } from '../support/signed-request.ts';
import { requestVectors } from '../support/vectors.ts';

const GIVEN = ['--secret', SECRET];

describe('sallyport listen', () => {
  it('creates a certificate, a secret and an API key, verifies with them, and shows the decoded delivery', async (t) => {
    const listener = await startListenerProcess(t);
    const { secret, apiKey } = listener;
    assert.equal(Buffer.from(secret, 'base64').length, 32);
    assert.match(apiKey, /^[0-9a-f]{32}$/);
    const customHeaders = [{ name: 'X-Tenant', value: 'acme' }];
    const request = await signedRequest({ secret, apiKey, gzip: true, customHeaders, records: [{ messageId: 'm1' }] });
    const [status, shown] = await exchange(listener, request);
    assert.equal(status, 204);
    const { at, headers, delivery, ...rest } = shown;
    assert.ok(Math.abs(Date.parse(String(at)) - Date.now()) < 60_000);
    assert.deepEqual(rest, {
      number: 1,
      method: 'POST',
      path: PATH,
      what: 'delivery',
      secretIndex: 0,
      answered: { status: 204, onPurpose: false, forwarded: null },
    });
    const records = (delivery as { records: { value: Record<string, unknown> }[] }).records;
    assert.deepEqual(records[0]?.value.orderCreated, { orderId: 42 });
    const shownHeaders = new Map(headers as [string, string][]);
    assert.equal(shownHeaders.get('X-Tenant'), 'acme');
    assert.equal(shownHeaders.get('x-api-key'), '[secret]');
    const { code, stdout, stderr } = await listener.end();
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(stdout.split(secret).length - 1, 1, 'the secret is shown once');
    assert.equal(stdout.split(apiKey).length - 1, 1, 'the API key is shown once');
  });

  it('answers a token challenge at every path', async (t) => {
    const listener = await startListener(t, GIVEN);
    const token = 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA';
    const request = {
      method: 'POST',
      path: '/any?Where=1',
      headers: [['x-challenge-sha256', token]] as const,
      body: Buffer.from('{"type":"endpoint.challenge"}'),
    };
    const { status, answer } = await listener.send(request);
    const challenge = { pathAndQuery: '/any?Where=1', token, secret: SECRET };
    assert.deepEqual([status, verifyChallengeAnswer(challenge, answer)], [200, { ok: true }]);
    const { what, body } = await listener.next();
    assert.deepEqual([what, body], ['challenge', '{"type":"endpoint.challenge"}']);
  });

  it('refuses invalid requests with the reason, still shows the body, and continues', async (t) => {
    const listener = await startListener(t, ['--secret', 'one', ...GIVEN, '--api-key', 'x']);
    const request = await signedRequest({ apiKey: 'x' });
    const { status, text } = await listener.send(withHeader(request, 'date', 'yesterday'));
    assert.deepEqual([status, text], [401, 'malformed_date: date is not an IMF-fixdate: "yesterday"']);
    const { what, code, description, body, answered } = await listener.next();
    assert.deepEqual(
      [what, code, description],
      ['refused', 'malformed_date', 'date is not an IMF-fixdate: "yesterday"'],
    );
    assert.equal(body, Buffer.from(request.body).toString());
    assert.deepEqual(answered, { status: 401, onPurpose: false, forwarded: null });
    const [wrongKey] = await exchange(listener, withHeader(request, 'x-api-key', 'y'));
    const [wrongMethod] = await exchange(listener, { ...request, method: 'PUT' });
    const [large] = await exchange(
      listener,
      await signedRequest({ apiKey: 'x', gzip: true, content: Buffer.alloc(5_000_000, ' ') }),
    );
    const [taken, { secretIndex }] = await exchange(listener, await signedRequest({ apiKey: 'x' }));
    assert.deepEqual([wrongKey, wrongMethod, large, taken, secretIndex], [401, 405, 413, 204, 1]);
  });

  it('verifies the signature of Standard Webhooks if present', async (t) => {
    const listener = await startListener(t, GIVEN);
    const request = await signedRequest({ standardWebhooks: true });
    assert.equal((await exchange(listener, request))[0], 204);
    const [status, { code }] = await exchange(listener, withHeader(request, 'webhook-signature', 'v1,AAAA'));
    assert.deepEqual([status, code], [400, 'wrong_signature']);
  });

  it('decrypts with a private key, opened by its passphrase', async (t) => {
    const userIDs = { email: 'listen@example.com' };
    const { publicKey, privateKey } = await openpgp.generateKey({ type: 'ecc', userIDs, passphrase: 'correct horse' });
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'key.asc'), privateKey);
    writeFileSync(join(folder, 'passphrase'), 'correct horse');
    writeFileSync(join(folder, 'secret'), SECRET);
    const key = ['--pgp-key', join(folder, 'key.asc')];
    const listener = await startListener(t, [
      '--secret',
      `@${folder}/secret`,
      ...key,
      '--pgp-passphrase',
      `@${folder}/passphrase`,
    ]);
    const encrypted = { gzip: true, encryption: { keyName: 'any-name', publicKey } };
    const request = await signedRequest({ ...encrypted, at: Date.now() + 2000 });
    const [status, { delivery }] = await exchange(listener, request);
    assert.equal(status, 204);
    assert.equal((delivery as { records: unknown[] }).records.length, 1);

    const locked = await startListener(t, [...GIVEN, ...key]);
    const [refused, { code, description, body }] = await exchange(locked, request);
    assert.deepEqual([refused, code, body], [500, 'decryption_failed', null]);
    assert.equal(description, 'the private key has a passphrase and none was given');
  });

  it('accepts a PGP message without integrity protection only with --pgp-allow-unprotected', async (t) => {
    const vector = requestVectors.requests.find(({ name }) => name === 'a PGP message without integrity protection');
    const bytes = Buffer.from(vector?.bodyBase64 ?? '', 'base64');
    const [[name = '', privateKey = ''] = []] = Object.entries(requestVectors.privateKeys);
    const file = join(temporaryFolder(t), 'key.asc');
    writeFileSync(file, privateKey);
    const contentHeaders = {
      'content-type': 'application/octet-stream',
      'x-content-encrypted': 'true',
      'x-pgp-key-name': name,
    };
    const request = await signedRequest({ payload: { bytes, headers: contentHeaders } });
    const strict = await startListener(t, [...GIVEN, '--pgp-key', file]);
    assert.deepEqual((await exchange(strict, request))[1].code, 'decryption_failed');
    const lenient = await startListener(t, [...GIVEN, '--pgp-key', file, '--pgp-allow-unprotected']);
    const [status, { delivery }] = await exchange(lenient, request);
    assert.equal(status, 204);
    assert.equal((delivery as { records: unknown[] }).records.length, 1);
  });
});

it('sallyport listen is an endpoint that the service verifies and delivers to, encrypted too', async (t) => {
  const userIDs = { email: 'listen@example.com' };
  const { publicKey, privateKey } = await openpgp.generateKey({ type: 'ecc', userIDs });
  const keyFile = join(temporaryFolder(t), 'key.asc');
  writeFileSync(keyFile, privateKey);
  const listener = await startListener(t, ['--pgp-key', keyFile]);
  const { admin } = await startService(t, { ca: readFileSync(listener.certificateFile, 'utf8') });
  const url = `${listener.url}hooks?tenant=17`;
  const { secret, apiKey } = listener;
  const endpoint = await makeEndpoint(
    admin,
    { url, secret, apiKey },
    { tokenChallenge: true, contentEncoding: 'gzip' },
  );
  assert.deepEqual([(await listener.next()).what, endpoint.verified], ['challenge', true]);
  await makeEventType(admin, 'order.placed');
  await importKey(admin, 'payroll', publicKey);
  const more = { encryptionKeyName: 'payroll' };
  await startWebhook(admin, await makeWebhook(admin, endpoint, ['order.placed'], more));
  await publish(admin, 'order.placed', { n: 1 });
  const { what, path, delivery, answered } = await listener.next();
  assert.deepEqual(
    [what, path, answered],
    ['delivery', '/hooks?tenant=17', { status: 204, onPurpose: false, forwarded: null }],
  );
  const { records } = delivery as { records: { value: Record<string, unknown> }[] };
  assert.deepEqual(records[0]?.value.orderPlaced, { n: 1 });
});

const ESCAPE = String.fromCharCode(0x1b);

describe('the output of sallyport listen for people', () => {
  /** The output for a delivery and for a refused request. */
  async function shown(
    t: TestContext,
    start: (args: readonly string[], take: (text: string) => void) => unknown,
  ): Promise<string> {
    const folder = temporaryFolder(t);
    let text = '';
    let more = deferred();
    start(['--port', '0', ...GIVEN, '--certificate-folder', folder], (chunk) => {
      text += chunk.replaceAll('\r\n', '\n');
      more.resolve();
      more = deferred();
    });
    const until = async (wanted: RegExp): Promise<RegExpExecArray> => {
      for (;;) {
        const found = wanted.exec(text);
        if (found !== null) return found;
        await more.promise;
      }
    };
    const [url] = await until(/https:\/\/localhost:\d+\//);
    const ca = readFileSync(join(folder, 'certificate.pem'));
    const records = [{ dataJson: '{"note":"\u009b31m\u202e"}' }];
    await sendTo(url, ca, await signedRequest({ records }));
    await sendTo(url, ca, withHeader(await signedRequest(), 'date', 'yesterday'));
    await until(/#2\S* → .*\n/);
    return text;
  }

  it('shows the set-up commands, then each request and its reply, without colours if it is no terminal', async (t) => {
    const text = await shown(t, (args, take) => spawnListen(t, args).stdout.on('data', take));
    assert.match(text, /^Listening on https:\/\/localhost:\d+\/ and every path below\n/);
    assert.match(
      text,
      /\n {2}SALLYPORT_CA_FILE=\/\S+\/certificate\.pem SALLYPORT_EGRESS_ALLOW=\S+ \S*sallyport serve\n/,
    );
    assert.match(text, /\n {2}\S*sallyport endpoint create --name listen --url https:\S+ --secret <the secret>\n\n/);
    assert.ok(!text.includes(SECRET));
    const time = '\\d\\d:\\d\\d:\\d\\d\\.\\d{3}';
    assert.match(
      text,
      new RegExp(`\n#1 ${time} POST ${PATH.replace('?', '\\?')}  ✓ 1 record, attempt 1, secret 1\n {2}user-agent: `),
    );
    assert.match(text, /\n {2}x-api-key: \[secret\]\n/);
    assert.match(text, /\n {12}"note": "\\u\{9b\}31m\\u\{202e\}"\n/);
    assert.match(text, /\n {2}\}\n#1 → 204\n/);
    assert.match(
      text,
      new RegExp(`\n#2 ${time} POST \\S+  ✗ malformed_date: date is not an IMF-fixdate: "yesterday"\n`),
    );
    assert.match(text, /\n#2 → 401\n/);
    assert.ok(!text.includes(ESCAPE));
  });

  it('has colours on a terminal', async (t) => {
    const text = await shown(t, (args, take) => spawnListen(t, args, { terminal: true }).stdout.on('data', take));
    assert.ok(text.includes(`${ESCAPE}[32m✓${ESCAPE}[39m 1 record`));
  });

  it('has no colours with NO_COLOR', async (t) => {
    const shownWith = (env: Readonly<Record<string, string>>): Promise<string> =>
      shown(t, (args, take) => listenHere(t, args, take, { ...terminalHere(), env, isInteractive: true }));
    assert.ok((await shownWith({})).includes(ESCAPE));
    assert.ok(!(await shownWith({ NO_COLOR: '1' })).includes(ESCAPE));
  });
});
