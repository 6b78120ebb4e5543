import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import type { FirstCredentials } from '../../src/data/data.ts';
import { cleanUp } from '../support/cleanup.ts';
import {
  CHEAP_PASSWORD,
  commandLine,
  sallyport,
  sallyportJson,
  sallyportProcess,
  serve,
  unusedFolder,
} from '../support/command.ts';
import { lacking } from '../support/programs.ts';
import { type Certificates, type Identity, sharedCertificates } from '../support/tls.ts';

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

test('the first serve sets up an empty folder, prints its address, and shows working credentials once', async (t) => {
  const dataDir = unusedFolder(t);
  const first = await serve(t, dataDir, { env: CHEAP_PASSWORD });
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

test('credentials of a serve that was killed before showing them are shown by the next', async (t) => {
  const dataDir = unusedFolder(t);
  // It cannot listen, so it never shows them.
  const { status, stderr } = await sallyport(['serve', '--data', dataDir, '--host', '192.0.2.1', '--port', '0']);
  assert.equal(status, 1);
  assert.match(stderr, /^sallyport: --host: cannot listen: listen E(?:ADDRNOTAVAIL|INVAL)/m);
  const { announcement } = await serve(t, dataDir);
  assert.equal(await tokenStatus(announcement.url, announcement), 200);
});

test('a server of a folder, and another after it was killed', async (t) => {
  const dataDir = await initialised(t);
  const compiled = unusedFolder(t);
  const first = await serve(t, dataDir, { env: { NODE_COMPILE_CACHE: compiled } });

  await t.test('has stored its compiled code for the next start', () => {
    // Deno has a folder of its own for it.
    if (process.versions.deno === undefined) assert.ok(readdirSync(compiled, { recursive: true }).length > 500);
  });

  await t.test('is the only one: another is refused', async () => {
    for (const command of ['serve', 'init']) {
      assert.deepEqual(await sallyport([command, '--data', dataDir]), {
        status: 1,
        stdout: '',
        stderr: `sallyport: the data folder ${dataDir} is in use: another sallyport serves it\n`,
      });
    }
    assert.equal((await fetch(`${first.announcement.url}/livez`)).status, 200);
  });

  await t.test('sees the changes of commands immediately', async () => {
    const names = ['--name', 'Payroll', '--user', 'admin', '--scope', 'webhooks:view'];
    const args = ['application', 'create', '--data', dataDir, ...names];
    const created = await sallyportJson<{ clientId: string; clientSecret: string }>(args);
    assert.equal(await tokenStatus(first.announcement.url, created), 200);
  });

  await t.test('changes nothing at SIGHUP without a certificate, which is logged', async () => {
    process.kill(first.pid, 'SIGHUP');
    await first.log.line(({ msg }) => msg?.startsWith('there is no certificate to reload') === true);
    assert.equal((await fetch(`${first.announcement.url}/livez`)).status, 200);
  });

  assert.deepEqual(await first.end('SIGKILL'), { status: null, signal: 'SIGKILL' });
  const env = { SALLYPORT_HOST: '192.0.2.1', SALLYPORT_PUBLIC_URL: 'https://wrong.example' };
  const args = ['--host', '127.0.0.1', '--public-url', 'https://edge.example', '--log-level', 'error'];
  const second = await serve(t, dataDir, { args, env });

  await t.test('accepts settings as flags, which override the environment', async () => {
    assert.equal(second.announcement.url, 'https://edge.example');
    assert.match(second.announcement.address, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.equal((await fetch(`${second.announcement.address}/livez`)).status, 200);
  });

  await t.test('ends a waiting stop at a second interrupt, but not at the same signal sent twice', async (t) => {
    const { announcement, pid, end } = second;
    await halfSentRequest(t, announcement.address);
    for (const signal of ['SIGINT', 'SIGINT', 'SIGTERM', 'SIGTERM'] as const) process.kill(pid, signal);
    await refusing(announcement.address);
    // Only time distinguishes two interrupts, counted from when the process has received the first.
    await setTimeout(1000);
    assert.ok(process.kill(pid, 0), 'it still waits for requests under way');
    assert.deepEqual(await end('SIGINT'), { status: 130, signal: null });
  });
});

type Shown = {
  readonly status: number | undefined;
  readonly headers: http.IncomingHttpHeaders;
  /** The certificate of the server. */
  readonly fingerprint: string | undefined;
  /** The local port, which identifies the connection. */
  readonly port: number | undefined;
};

/** A request over TLS that trusts `ca`, on a new connection unless an agent is given. */
function askOverTls(url: string, ca: string, options: RequestOptions = {}): Promise<Shown> {
  return new Promise((resolve, reject) => {
    request(url, { ca, agent: false, servername: 'localhost', ...options }, (response) => {
      const socket = response.socket as TLSSocket;
      const { statusCode: status, headers } = response;
      const shown = {
        status,
        headers,
        fingerprint: socket.getPeerX509Certificate()?.fingerprint256,
        port: socket.localPort,
      };
      response.resume().once('end', () => resolve(shown));
    })
      .on('error', reject)
      .end();
  });
}

type Tls = {
  readonly certificates: Certificates;
  readonly args: readonly string[];
  write(identity: Identity): void;
};

function tlsFiles(dataDir: string): Tls {
  const certificates = sharedCertificates();
  const [cert, key] = [join(dataDir, 'cert.pem'), join(dataDir, 'key.pem')];
  const write = ({ certificate, privateKey }: Identity): void => {
    writeFileSync(cert, certificate);
    writeFileSync(key, privateKey);
  };
  write(certificates.server);
  return { certificates, write, args: ['--tls-cert-file', cert, '--tls-key-file', key] };
}

const fingerprintOf = ({ certificate }: Identity): string => new X509Certificate(certificate).fingerprint256;

test('serve uses TLS with the given certificate and key', async (t) => {
  const dataDir = await initialised(t);
  const { args, certificates, write } = tlsFiles(dataDir);
  const { announcement, pid, log, end } = await serve(t, dataDir, { args });
  assert.match(announcement.url, /^https:/);
  const url = `${announcement.url}/livez`;

  await t.test('from its start', async () => {
    const { status, fingerprint } = await askOverTls(url, certificates.ca);
    assert.deepEqual([status, fingerprint], [200, fingerprintOf(certificates.server)]);
  });

  await t.test('and only portal pages send HSTS, except on the loopback address', async () => {
    const told = async (path: string, host: string): Promise<string | undefined> => {
      const { headers } = await askOverTls(announcement.url + path, certificates.ca, { headers: { host } });
      return headers['strict-transport-security'];
    };
    assert.equal(await told('/sign-in', 'edge.example'), 'max-age=15552000');
    assert.equal(await told('/sign-in', 'localhost:8443'), undefined);
    assert.equal(await told('/livez', 'edge.example'), undefined);
  });

  await t.test('which SIGHUP reloads for new connections, unless they are invalid', async (t) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    cleanUp(t, () => agent.destroy());
    const next = certificates.issue();
    write(next);
    const before = await askOverTls(url, certificates.ca, { agent });
    process.kill(pid, 'SIGHUP');
    await log.line(({ msg }) => msg === 'the certificate was reloaded for new connections');
    const kept = await askOverTls(url, certificates.ca, { agent });
    assert.deepEqual([kept.status, kept.port], [200, before.port]);
    assert.equal((await askOverTls(url, certificates.ca)).fingerprint, fingerprintOf(next));

    write({ ...next, privateKey: certificates.server.privateKey });
    process.kill(pid, 'SIGHUP');
    const refused = await log.line(
      ({ msg }) => msg === 'the certificate was not reloaded: the previous one stays in use',
    );
    assert.match(
      JSON.stringify(refused.err),
      /SALLYPORT_TLS_CERT_FILE, SALLYPORT_TLS_KEY_FILE: the certificate and key cannot be used/,
    );
    assert.equal((await askOverTls(url, certificates.ca)).fingerprint, fingerprintOf(next));
    agent.destroy();
    assert.deepEqual(await end('SIGTERM'), { status: 0, signal: null });
  });
});

test('serve stops when its terminal is closed', { skip: lacking('python3') }, async (t) => {
  const dataDir = await initialised(t);
  const log = join(dataDir, 'log');
  // Uses Python, because Node cannot create terminals. The service gets its own, which closes when it listens.
  const program = `
import os, pty, sys
child, terminal = pty.fork()
if child == 0:
    os.dup2(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600), 2)
    os.execv(sys.argv[2], sys.argv[2:])
shown = b''
while b'listens on' not in shown:
    shown += os.read(terminal, 1024)
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
`;
  const command = commandLine(['serve', '--port', '0', '--data', dataDir]);
  assert.equal(
    execFileSync('python3', ['-c', program, log, ...command])
      .toString()
      .trim(),
    '0',
  );
  assert.match(readFileSync(log, 'utf8'), /"msg":"stopped"\}\n$/);
});

test('the reason why serve does not start is the last line of output', async (t) => {
  const dataDir = await initialised(t);
  const taken = http.createServer();
  await once(taken.listen(0, '127.0.0.1'), 'listening');
  cleanUp(t, () => taken.close());
  const { port } = taken.address() as AddressInfo;
  const { status, stderr } = await sallyportProcess(['serve', '--data', dataDir, '--port', String(port)]);
  assert.equal(status, 1);
  const lines = stderr.trimEnd().split('\n');
  assert.equal(
    lines.at(-1),
    `sallyport: --port: another program listens on 127.0.0.1:${port}. Stop it, or start with --port ${Number(port) + 1}`,
  );
  assert.match(lines.at(-2) ?? '', /"msg":"stopped"/);
});

test('unusable settings are refused before anything is created', async (t) => {
  const dataDir = unusedFolder(t);
  const wrong: readonly [env: Record<string, string>, args: readonly string[], message: RegExp][] = [
    [{ SALLYPORT_PROT: '1' }, [], /^sallyport: SALLYPORT_PROT is not a setting/],
    [{ SALLYPORT_PORT: 'http' }, [], /^sallyport: SALLYPORT_PORT must be a whole number from 0 to 65535\n$/],
    [
      { SALLYPORT_DATABASE_URL: 'mysql://u:hunter2@db/x' },
      [],
      /^sallyport: SALLYPORT_DATABASE_URL must be the URL of a PostgreSQL/,
    ],
    [{}, ['--egress-allow', '10.0.0.0'.repeat(2)], /^sallyport: --egress-allow must be/],
    [{}, ['--tls-cert-file', 'x'], /^sallyport: SALLYPORT_TLS_CERT_FILE is set without/],
    [
      {},
      ['--ca-file', '/nowhere/ca.pem'],
      /^sallyport: SALLYPORT_CA_FILE: \/nowhere\/ca\.pem cannot be read \(ENOENT\)\n$/,
    ],
    [{}, ['--ca-file', '/dev/null'], /^sallyport: SALLYPORT_CA_FILE: \/dev\/null: the CA file has no certificate/],
  ];
  for (const [at, [env, args, message]] of wrong.entries()) {
    const refuse = at === 0 ? sallyportProcess : sallyport;
    const { status, stdout, stderr } = await refuse(['serve', '--data', dataDir, ...args], { env });
    assert.equal(status, 2, stderr);
    assert.equal(stdout, '');
    assert.match(stderr, message);
    assert(!stderr.includes('hunter2'));
  }
  assert.throws(() => readFileSync(dataDir), { code: 'ENOENT' });
});

/** A request whose headers have arrived and whose body never arrives. */
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

/** Resolves when no server accepts connections there. */
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
