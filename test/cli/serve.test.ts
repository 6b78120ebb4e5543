import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { request } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { FirstCredentials } from '../../src/data-folder.ts';
import { cleanUp } from '../support/cleanup.ts';
import { sallyport, sallyportJson, serve, unusedFolder } from '../support/command.ts';
import { makeCertificates } from '../support/tls.ts';

async function tokenStatus(url: string, { clientId, clientSecret }: Partial<FirstCredentials>): Promise<number> {
  const response = await fetch(`${url}/services/api/oauth2/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ clientId, clientSecret, grantType: 'client_credentials' }),
  });
  await response.arrayBuffer();
  return response.status;
}

async function initialised(t: TestContext): Promise<string> {
  const dataDir = unusedFolder(t);
  await sallyportJson(['init', '--data', dataDir]);
  return dataDir;
}

test('the first serve sets an empty folder up, says where it listens and shows credentials that work, once', async (t) => {
  const dataDir = unusedFolder(t);
  const first = await serve(t, dataDir);
  const { url, address, ...credentials } = first.announcement;
  assert.equal(address, url);
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.deepEqual(Object.keys(credentials), ['dataDir', 'adminUserName', 'adminPassword', 'clientId', 'clientSecret']);
  assert.equal(await tokenStatus(url, credentials), 200);
  assert.deepEqual(await first.end('SIGTERM'), { status: 0, signal: null });
  assert.equal(first.stdout().trimEnd().split('\n').length, 1);

  const second = await serve(t, dataDir);
  assert.deepEqual(Object.keys(second.announcement), ['url', 'address', 'dataDir']);
  assert.equal(await tokenStatus(second.announcement.url, credentials), 200);
  assert.deepEqual(await second.end('SIGINT'), { status: 0, signal: null });
});

test('a second server of a folder is refused while the first runs, and may start once that was killed', async (t) => {
  const dataDir = await initialised(t);
  const first = await serve(t, dataDir);
  for (const command of ['serve', 'init']) {
    assert.deepEqual(await sallyport([command, '--data', dataDir]), {
      status: 1,
      stdout: '',
      stderr: `sallyport: the data folder ${dataDir} is in use: another sallyport serves it\n`,
    });
  }
  assert.equal((await fetch(`${first.announcement.url}/livez`)).status, 200);
  assert.deepEqual(await first.end('SIGKILL'), { status: null, signal: 'SIGKILL' });
  const second = await serve(t, dataDir);
  assert.equal((await fetch(`${second.announcement.url}/livez`)).status, 200);
});

test('credentials of a serve that was killed before it showed them come with the next', async (t) => {
  const dataDir = unusedFolder(t);
  // It cannot listen, so it never gets to show them.
  const { status, stderr } = await sallyport(['serve', '--data', dataDir, '--host', '192.0.2.1', '--port', '0']);
  assert.equal(status, 1);
  assert.match(stderr, /^sallyport: --host: cannot serve: listen E(?:ADDRNOTAVAIL|INVAL)/m);
  const { announcement } = await serve(t, dataDir);
  assert.equal(await tokenStatus(announcement.url, announcement), 200);
});

test('commands work beside a running server, and it knows at once what they made', async (t) => {
  const dataDir = await initialised(t);
  const { announcement } = await serve(t, dataDir);
  const args = ['application', 'create', '--data', dataDir, '--name', 'Payroll', '--user', 'admin'];
  const created = await sallyportJson<{ clientId: string; clientSecret: string }>(args);
  assert.equal(await tokenStatus(announcement.url, created), 200);
});

test('settings are flags of serve too, and win over the environment', async (t) => {
  const dataDir = await initialised(t);
  const env = { SALLYPORT_HOST: '192.0.2.1', SALLYPORT_PUBLIC_URL: 'https://wrong.example' };
  const args = ['--host', '127.0.0.1', '--public-url', 'https://edge.example', '--log-level', 'error'];
  const { announcement, end } = await serve(t, dataDir, { args, env });
  assert.equal(announcement.url, 'https://edge.example');
  assert.match(announcement.address, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.equal((await end('SIGTERM')).status, 0);
});

test('serve speaks TLS with the certificate and key that it is given', async (t) => {
  const dataDir = await initialised(t);
  const { ca, server } = makeCertificates();
  const cert = join(dataDir, 'cert.pem');
  const key = join(dataDir, 'key.pem');
  writeFileSync(cert, server.certificate);
  writeFileSync(key, server.privateKey);
  const { announcement } = await serve(t, dataDir, { args: ['--tls-cert-file', cert, '--tls-key-file', key] });
  assert.match(announcement.url, /^https:/);
  const status = await new Promise((resolve, reject) => {
    request(`${announcement.url}/livez`, { ca }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
  assert.equal(status, 200);
});

test('what cannot be served with is refused before anything is made', async (t) => {
  const dataDir = unusedFolder(t);
  const wrong: readonly [env: Record<string, string>, args: readonly string[], message: RegExp][] = [
    [{ SALLYPORT_PROT: '1' }, [], /^sallyport: SALLYPORT_PROT is not a setting/],
    [{ SALLYPORT_PORT: 'http' }, [], /^sallyport: SALLYPORT_PORT must be a whole number from 0 to 65535\n$/],
    [{ SALLYPORT_DATABASE_URL: 'postgres://u:hunter2@db/x' }, [], /^sallyport: SALLYPORT_DATABASE_URL .*SQLite/],
    [{}, ['--egress-allow', '10.0.0.0'.repeat(2)], /^sallyport: --egress-allow must be/],
    [{}, ['--tls-cert-file', 'x'], /^sallyport: SALLYPORT_TLS_CERT_FILE is set without/],
    [
      {},
      ['--ca-file', '/nowhere/ca.pem'],
      /^sallyport: SALLYPORT_CA_FILE: \/nowhere\/ca\.pem cannot be read \(ENOENT\)\n$/,
    ],
    [{}, ['--ca-file', '/dev/null'], /^sallyport: SALLYPORT_CA_FILE: \/dev\/null: the CA file has no certificate/],
  ];
  for (const [env, args, message] of wrong) {
    const { status, stdout, stderr } = await sallyport(['serve', '--data', dataDir, ...args], { env });
    assert.equal(status, 2, stderr);
    assert.equal(stdout, '');
    assert.match(stderr, message);
    assert(!stderr.includes('hunter2'));
  }
  assert.throws(() => readFileSync(dataDir), { code: 'ENOENT' });
});

/** A request whose headers the server has read and whose body never comes. */
async function halfSentRequest(t: TestContext, url: string): Promise<void> {
  const half = http.request(`${url}/services/api/oauth2/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 100, expect: '100-continue' },
  });
  cleanUp(t, () => half.destroy());
  half.on('error', () => {});
  half.flushHeaders();
  await once(half, 'continue');
}

/** Resolves once nobody accepts connections there. */
async function refusing(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  for (;;) {
    const socket = connect(Number(port), hostname);
    const accepted = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (accepted === false) return;
  }
}

test('an interrupt ends a stop that waits for what is in flight, but not the same signal sent twice', async (t) => {
  const dataDir = await initialised(t);
  const { announcement, pid, end } = await serve(t, dataDir);
  await halfSentRequest(t, announcement.url);
  const signalledAt = performance.now();
  for (const signal of ['SIGINT', 'SIGINT', 'SIGTERM', 'SIGTERM'] as const) process.kill(pid, signal);
  await refusing(announcement.url);
  // Time itself is what tells one interrupt from another here.
  await setTimeout(Math.max(0, signalledAt + 1000 - performance.now()));
  assert.ok(process.kill(pid, 0), 'it still waits for what is in flight');
  assert.deepEqual(await end('SIGINT'), { status: 130, signal: null });
});
