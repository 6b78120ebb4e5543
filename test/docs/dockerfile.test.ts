/** The health check of docs/examples/Dockerfile, typed as a container would, against a running service. */
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

/** With what the image says and what `docker run -e` adds to it. */
function statusOf(env: Readonly<Record<string, string>>): number | null {
  return spawnSync(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' }).status;
}

describe('the health check of the image', () => {
  it('is content with a service that is ready, on whatever port it has, and with nothing less', async (t) => {
    const { announcement, end } = await serve(t, unusedFolder(t));
    const env = { SALLYPORT_PORT: new URL(announcement.address).port };
    assert.equal(statusOf(env), 0);
    await end('SIGTERM');
    assert.notEqual(statusOf(env), 0);
  });

  it('takes an open port for enough where the service has TLS of its own', async (t) => {
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
