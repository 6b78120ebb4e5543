/** Tests an installed command end to end: the single binary, and the npm package. */

import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import type { FirstCredentials } from '../../src/data/data.ts';
import { LARGE_BODY_BYTES } from '../../src/outbound/connections.ts';
import { FORGERY_FIELD } from '../../src/portal/frame/forgery.ts';
import { type Gnupg, startGnupg } from '../wire/gnupg.ts';
import { cleanUp } from './cleanup.ts';
import { createClient, succeeded, tokenFor } from './client.ts';
import type { Json } from './command-folder.ts';
import { startReceiver } from './receiver.ts';
import { temporaryFolder } from './service.ts';
import { sharedCertificates } from './tls.ts';

export type InstalledCommand = {
  readonly file: string;
  /** The working directory. The command creates its data folder there. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** It has only what is in a checkout: no package of the receiver, which a build makes. */
  readonly isCheckout?: boolean;
};

const run = promisify(execFile);

/** Tests the first start, pages, a token, an event, a signed and encrypted delivery, a backup, `doctor` and the stop by SIGTERM. */
export async function testEndToEnd(t: TestContext, installed: InstalledCommand): Promise<void> {
  const { file, folder, env, isCheckout = false } = installed;
  const elsewhere = temporaryFolder(t);
  const gpg: Gnupg = startGnupg();
  cleanUp(t, () => gpg.close());
  const json = async <T = Json>(...args: readonly string[]): Promise<T> => {
    const { stdout } = await run(file, [...args, '--json'], { cwd: folder, env });
    return JSON.parse(stdout) as T;
  };
  const { ca, server } = sharedCertificates();
  const receiver = await startReceiver(t, server);
  const { publicKey, privateKey } = gpg.makeKey('hr', 'rsa2048');
  const hook = receiver.endpoint('/hook', { privateKeys: { hr: privateKey } });
  const caFile = join(elsewhere, 'ca.pem');
  const keyFile = join(elsewhere, 'key.asc');
  writeFileSync(caFile, ca);
  writeFileSync(keyFile, publicKey);

  const credentials = await json<FirstCredentials>('init');
  assert.equal(credentials.dataDir, join(folder, 'data'));
  const outbound = ['--ca-file', caFile, '--egress-allow', '127.0.0.1,::1'];
  const child = spawn(file, ['serve', '--json', '--port', '0', ...outbound], { cwd: folder, env });
  cleanUp(t, () => void child.kill('SIGKILL'));
  const { url, logged } = await announced(child);

  const agreed = ['--secret', hook.secret, '--api-key', hook.apiKey];
  const endpoint = await json('endpoint', 'create', '--name', 'hr', '--url', hook.url, ...agreed);
  await json('key', 'import', keyFile, '--name', 'hr');
  await json('event-type', 'create', '--name', 'order.placed');
  const webhook = ['--name', 'hr', '--endpoint', endpoint.id, '--event', 'order.*', '--key', 'hr'];
  await json('webhook', 'start', (await json('webhook', 'create', ...webhook)).id);

  const admin = createClient(url, await tokenFor(url, credentials));
  await succeeded(admin.post('events', { type: 'order.placed', data: { number: 17 } }));
  const { records } = await hook.next();
  assert.deepEqual(
    records.map(({ data }) => data),
    [{ number: 17 }],
  );
  // Large enough for the thread that builds large bodies. The installed command must find its program.
  const large = { number: 18, note: 'x'.repeat(LARGE_BODY_BYTES) };
  await succeeded(admin.post('events', { type: 'order.placed', data: large }));
  assert.deepEqual(
    (await hook.next()).records.map(({ data }) => data),
    [large],
  );
  await assertPagesHaveTheirFiles(url);
  await assertDocumentationIsServed(url, credentials, isCheckout);

  await json('backup', join(elsewhere, 'backup.db'));
  assert.equal((await json<{ ok: boolean }>('doctor')).ok, true);
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  // The service logs problems and continues, for example if it does not find the program of the database's threads.
  const problems = logged().filter(({ level }) => level >= WARNING);
  assert.deepEqual(problems, []);
}

async function assertPagesHaveTheirFiles(url: string): Promise<void> {
  const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text();
  const paths = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
  assert.ok(paths.length >= 2, page);
  for (const path of paths) {
    const response = await fetch(new URL(path, url));
    assert.deepEqual([path, response.status], [path, 200]);
    assert.ok((await response.text()).length > 1000, path);
  }
}

/** A user of the installed program has no other copy of it. */
async function assertDocumentationIsServed(
  url: string,
  { adminUserName, adminPassword }: FirstCredentials,
  isCheckout: boolean,
): Promise<void> {
  const form = await fetch(`${url}/sign-in`, { headers: { accept: 'text/html' } });
  const [visitor = ''] = (form.headers.get('set-cookie') ?? '').split(';');
  const [, csrf = ''] = new RegExp(`name="${FORGERY_FIELD}" value="([^"]+)"`).exec(await form.text()) ?? [];
  const body = new URLSearchParams({ userName: adminUserName, password: adminPassword, [FORGERY_FIELD]: csrf });
  const signedIn = await fetch(`${url}/sign-in`, {
    method: 'POST',
    body,
    headers: { cookie: visitor },
    redirect: 'manual',
  });
  const cookie = signedIn.headers
    .getSetCookie()
    .map((one) => one.split(';', 1)[0])
    .join('; ');
  const index = await fetch(`${url}/docs`, { headers: { cookie } });
  const text = await index.text();
  assert.match(text, /<article class="doc"><h1 id="documentation">/);
  if (isCheckout) return assert.match(text, /npm run build:receiver/);
  const [, packed = ''] = /href="([^"]+\.tgz)"/.exec(text) ?? assert.fail('no package of the receiver');
  const receiver = await fetch(new URL(packed, url), { headers: { cookie } });
  const files = gunzipSync(await receiver.bytes()).toString('latin1');
  for (const name of ['package/receiver/index.js', 'package/vectors/']) assert.ok(files.includes(name), name);
}

type LogLine = { readonly level: number; readonly msg: string };
/** The numeric level of warnings in the log. */
const WARNING = 40;

/** Waits until the service listens. */
async function announced(child: ChildProcess): Promise<{ readonly url: string; logged(): LogLine[] }> {
  if (child.stdout === null || child.stderr === null) throw new Error('no pipes');
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const [line] = await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data'),
    once(child, 'exit').then(() => assert.fail(`serve ended: ${errors}`)),
  ]);
  const { url } = JSON.parse(String(line)) as { url: string };
  return {
    url,
    logged: () =>
      errors
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text) as LogLine),
  };
}
