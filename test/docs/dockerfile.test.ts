/** Runs the health check of docs/examples/Dockerfile against a service, as a container would. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { serve, unusedFolder } from '../support/command.ts';
import { temporaryFolder } from '../support/store.ts';
import { makeCertificates } from '../support/tls.ts';

const dockerfile = readFileSync(new URL('../../docs/examples/Dockerfile', import.meta.url), 'utf8');
const [, check = ''] = /^HEALTHCHECK .*\\\n +CMD (\[.*\])$/m.exec(dockerfile) ?? [];
const [program = '', ...args] = JSON.parse(check) as string[];

/** The exit status with the variables of the image and of `docker run -e`. */
function statusOf(env: Readonly<Record<string, string>>): number | null {
  return spawnSync(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' }).status;
}

describe('the health check of the image', () => {
  it('succeeds only while the service is ready, on any port', async (t) => {
    const { announcement, end } = await serve(t, unusedFolder(t));
    const env = { SALLYPORT_PORT: new URL(announcement.address).port };
    assert.equal(statusOf(env), 0);
    await end('SIGTERM');
    assert.notEqual(statusOf(env), 0);
  });

  it('only checks for an open port if the service has TLS', async (t) => {
    const folder = temporaryFolder(t);
    const { certificate, privateKey } = makeCertificates().server;
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    writeFileSync(cert, certificate);
    writeFileSync(key, privateKey);
    const env = { SALLYPORT_TLS_CERT_FILE: cert, SALLYPORT_TLS_KEY_FILE: key };
    const { announcement, end } = await serve(t, unusedFolder(t), { env });
    const SALLYPORT_PORT = new URL(announcement.address).port;
    assert.equal(statusOf({ ...env, SALLYPORT_PORT }), 0);
    assert.notEqual(statusOf({ SALLYPORT_PORT }), 0);
    await end('SIGTERM');
    assert.notEqual(statusOf({ ...env, SALLYPORT_PORT }), 0);
  });
});
