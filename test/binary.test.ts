/** The single binary, alone in an empty folder on a machine that offers it nothing: no path, no variables, no other file. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { FirstCredentials } from '../src/data-folder.ts';
import { VERSION } from '../src/version.ts';
import { createClient, succeeded, tokenFor } from './support/client.ts';
import type { Json } from './support/command-folder.ts';
import { startReceiver } from './support/receiver.ts';
import { makeCertificates } from './support/tls.ts';
import { type Gnupg, startGnupg } from './wire/gnupg.ts';

const BUILD = fileURLToPath(new URL('../scripts/build-binary.ts', import.meta.url));
const NAME = 'sallyport';
const run = promisify(execFile);

test('only src/assets.ts asks where the code is: in the binary it is nowhere', () => {
  const src = fileURLToPath(new URL('../src/', import.meta.url));
  const files = (readdirSync(src, { recursive: true }) as string[]).filter((file) => file.endsWith('.ts'));
  const asking = files.filter((file) => /\bimport\.meta\b|\b__dirname\b/.test(readFileSync(join(src, file), 'utf8')));
  assert.deepEqual(asking, ['assets.ts']);
});

describe('the single binary', () => {
  let parent: string;
  let folder: string;
  let temporary: string;
  let gpg: Gnupg;

  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'binary-'));
    gpg = startGnupg();
    const built = join(parent, 'built');
    await run(process.execPath, ['--disable-warning=ExperimentalWarning', BUILD, built]);
    folder = join(parent, 'alone');
    temporary = join(parent, 'temporary');
    for (const path of [folder, temporary]) mkdirSync(path);
    copyFileSync(built, join(folder, NAME));
  });
  after(() => {
    gpg.close();
    rmSync(parent, { recursive: true, force: true });
  });

  const environment = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => ({
    PATH: '',
    TMPDIR: temporary,
    ...more,
  });
  const json = async <T = Json>(...args: readonly string[]): Promise<T> => {
    const { stdout } = await run(join(folder, NAME), [...args, '--json'], { cwd: folder, env: environment() });
    return JSON.parse(stdout) as T;
  };

  it('answers, whatever NODE_OPTIONS says', async () => {
    const env = environment({ NODE_OPTIONS: '--require=/nowhere.js' });
    const { stdout, stderr } = await run(join(folder, NAME), ['version'], { cwd: folder, env });
    assert.deepEqual([stdout, stderr], [`${VERSION}\n`, '']);
  });

  it('goes the whole circle: first start, token, event, signed and encrypted delivery, backup, end', async (t) => {
    const { ca, server } = makeCertificates();
    const receiver = await startReceiver(t, server);
    const { publicKey, privateKey } = gpg.makeKey('hr', 'rsa2048');
    const hook = receiver.endpoint('/hook', { privateKeys: { hr: privateKey } });
    const caFile = join(parent, 'ca.pem');
    const keyFile = join(parent, 'key.asc');
    writeFileSync(caFile, ca);
    writeFileSync(keyFile, publicKey);

    const credentials = await json<FirstCredentials>('init');
    assert.equal(credentials.dataDir, join(folder, 'data'));
    const outbound = ['--ca-file', caFile, '--egress-allow', '127.0.0.1,::1'];
    const child = spawn(join(folder, NAME), ['serve', '--json', '--port', '0', ...outbound], {
      cwd: folder,
      env: environment(),
    });
    t.after(() => child.kill('SIGKILL'));
    const url = await announcedUrl(child);

    const { secret, apiKey } = hook;
    const agreed = ['--secret', secret, '--api-key', apiKey];
    const endpoint = await json('endpoint', 'create', '--name', 'hr', '--url', hook.url, ...agreed);
    await json('key', 'import', keyFile, '--name', 'hr');
    await json('event', 'type-create', '--name', 'order.placed');
    const webhook = ['--name', 'hr', '--endpoint', endpoint.id, '--event', 'order.*', '--key', 'hr'];
    await json('webhook', 'start', (await json('webhook', 'create', ...webhook)).id);

    const admin = createClient(url, await tokenFor(url, credentials));
    await succeeded(admin.post('events', { type: 'order.placed', data: { number: 17 } }));
    const { records } = await hook.next();
    assert.deepEqual(
      records.map(({ data }) => data),
      [{ number: 17 }],
    );

    await json('backup', join(parent, 'backup.db'));
    assert.equal((await json<{ ok: boolean }>('doctor')).ok, true);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    assert.deepEqual(readdirSync(folder).sort(), ['data', NAME]);
    assert.deepEqual(readdirSync(join(folder, 'data')).sort(), ['master.key', 'sallyport.db', 'serve.lock']);
  });

  it('leaves nothing among temporary files, and does without a folder for them', async () => {
    assert.deepEqual(readdirSync(temporary), []);
    const nowhere = { cwd: folder, env: environment({ TMPDIR: join(parent, 'no-such-folder') }) };
    const { stdout } = await run(join(folder, NAME), ['doctor', '--json'], nowhere);
    assert.equal((JSON.parse(stdout) as { ok: boolean }).ok, true);
    assert.equal(existsSync(join(parent, 'no-such-folder')), false);
  });
});

/** Waits until it listens. */
async function announcedUrl(child: ChildProcess): Promise<string> {
  if (child.stdout === null || child.stderr === null) throw new Error('no pipes');
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const [line] = await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data'),
    once(child, 'exit').then(() => assert.fail(`serve ended: ${errors}`)),
  ]);
  return (JSON.parse(String(line)) as { url: string }).url;
}
