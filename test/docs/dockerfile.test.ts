/** docs/examples/Dockerfile: its health check against a service, as a container would run it, and what its build may read. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ASSETS } from '../../src/kernel/assets.ts';
import { CHEAP_PASSWORD, serve, unusedFolder } from '../support/command.ts';
import { temporaryFolder } from '../support/store.ts';
import { sharedCertificates } from '../support/tls.ts';

const dockerfile = readFileSync(new URL('../../docs/examples/Dockerfile', import.meta.url), 'utf8');
const [, check = ''] = /^HEALTHCHECK .*\\\n +CMD (\[.*\])$/m.exec(dockerfile) ?? [];
const [program = '', ...args] = JSON.parse(check) as string[];

/** The exit status with the variables of the image and of `docker run -e`. */
function statusOf(env: Readonly<Record<string, string>>): number | null {
  return spawnSync(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' }).status;
}

describe('the health check of the image', () => {
  it('succeeds only while the service is ready, on any port', async (t) => {
    const { announcement, end } = await serve(t, unusedFolder(t), { env: CHEAP_PASSWORD });
    const env = { SALLYPORT_PORT: new URL(announcement.address).port };
    assert.equal(statusOf(env), 0);
    await end('SIGTERM');
    assert.notEqual(statusOf(env), 0);
  });

  it('only checks for an open port if the service has TLS', async (t) => {
    const folder = temporaryFolder(t);
    const { certificate, privateKey } = sharedCertificates().server;
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    writeFileSync(cert, certificate);
    writeFileSync(key, privateKey);
    const env = { SALLYPORT_TLS_CERT_FILE: cert, SALLYPORT_TLS_KEY_FILE: key };
    const { announcement, end } = await serve(t, unusedFolder(t), { env: { ...env, ...CHEAP_PASSWORD } });
    const SALLYPORT_PORT = new URL(announcement.address).port;
    assert.equal(statusOf({ ...env, SALLYPORT_PORT }), 0);
    assert.notEqual(statusOf({ SALLYPORT_PORT }), 0);
    await end('SIGTERM');
    assert.notEqual(statusOf({ ...env, SALLYPORT_PORT }), 0);
  });
});

describe('the build of the image', () => {
  it('may read every file that the binary contains, and copies it', () => {
    const ignored = readFileSync(new URL('../../docs/examples/Dockerfile.dockerignore', import.meta.url), 'utf8');
    const allowed = [...ignored.matchAll(/^!(.+)$/gm)].map(([, path = '']) => path);
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) =>
      paths.split(' '),
    );
    const files = Object.values(ASSETS).filter((path) => !path.startsWith('npm:'));
    for (const paths of [allowed, copied]) {
      const isIn = (file: string): boolean => paths.some((path) => file === path || file.startsWith(`${path}/`));
      assert.deepEqual(
        files.filter((file) => !isIn(file)),
        [],
      );
    }
  });
});

describe('docs/examples/compose.yaml', () => {
  it('hardens the container as the docker command of the Dockerfile does', () => {
    const compose = readFileSync(new URL('../../docs/examples/compose.yaml', import.meta.url), 'utf8');
    for (const [flag, line] of [
      ['--read-only', 'read_only: true'],
      ['--tmpfs /tmp:exec,size=16m', 'tmpfs:\n      - /tmp:exec,size=16m'],
      ['--cap-drop ALL', 'cap_drop:\n      - ALL'],
      ['no-new-privileges', 'security_opt:\n      - no-new-privileges'],
      ['--restart unless-stopped', 'restart: unless-stopped'],
      ['-p 127.0.0.1:8080:8080', 'ports:\n      - 127.0.0.1:8080:8080'],
    ] as const) {
      assert.ok(dockerfile.includes(flag), flag);
      assert.ok(compose.includes(`    ${line}\n`), line);
    }
  });
});

describe('docs/examples/kubernetes.yaml', () => {
  const text = readFileSync(new URL('../../docs/examples/kubernetes.yaml', import.meta.url), 'utf8');

  it('uses settings and paths that exist', () => {
    const names = new Set([...text.matchAll(/SALLYPORT_(?!PORT\b)[A-Z_]+/g)].map(([name]) => name));
    const reference = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
    for (const name of names) assert.ok(reference.includes(`\`${name}\``), name);
    assert.deepEqual(
      new Set([...text.matchAll(/path: (\/\w+)/g)].map(([, path]) => path)),
      new Set(['/livez', '/readyz']),
    );
  });

  it('starts every container with the same settings and rights', () => {
    const ways = ['image', 'envFrom', 'volumeMounts', '    securityContext'].map((name) =>
      [...text.matchAll(new RegExp(`^ {6,8}(?: {2}|- )?${name}: .*$`, 'gm'))].map(([line]) => line.trim()),
    );
    for (const [name, lines] of Object.entries(ways)) {
      const containers = lines.filter((line) => !line.includes('fsGroup'));
      assert.equal(containers.length, 3, name);
      assert.equal(new Set(containers).size, 1, name);
    }
  });
});
