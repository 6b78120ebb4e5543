/** The single binary, alone in an empty folder on a machine that offers it nothing: no path, no variables, no other file. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { VERSION } from '../src/kernel/version.ts';
import { cleanUp } from './support/cleanup.ts';
import { testEndToEnd } from './support/command-circle.ts';
import { newDatabase } from './support/postgres.ts';

const BUILD = fileURLToPath(new URL('../scripts/build-binary.ts', import.meta.url));
const NAME = 'sallyport';
const run = promisify(execFile);

test('only src/kernel/assets.ts asks where the code is: in the binary it is nowhere', () => {
  const src = fileURLToPath(new URL('../src/', import.meta.url));
  const files = (readdirSync(src, { recursive: true }) as string[]).filter((file) => file.endsWith('.ts'));
  const asking = files.filter((file) => /\bimport\.meta\b|\b__dirname\b/.test(readFileSync(join(src, file), 'utf8')));
  assert.deepEqual(asking, ['kernel/assets.ts']);
});

describe('the single binary', () => {
  let parent: string;
  let folder: string;
  let temporary: string;

  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'binary-'));
    const built = join(parent, 'built');
    await run(process.execPath, ['--disable-warning=ExperimentalWarning', BUILD, built]);
    folder = join(parent, 'alone');
    temporary = join(parent, 'temporary');
    for (const path of [folder, temporary]) mkdirSync(path);
    copyFileSync(built, join(folder, NAME));
  });
  after(() => {
    rmSync(parent, { recursive: true, force: true });
  });

  const environment = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
    PATH: '',
    TMPDIR: temporary,
    ...more,
  });

  it('answers with any NODE_OPTIONS', async () => {
    const env = environment({ NODE_OPTIONS: '--require=/nowhere.js' });
    const { stdout, stderr } = await run(join(folder, NAME), ['version'], { cwd: folder, env });
    assert.deepEqual([stdout, stderr], [`${VERSION}\n`, '']);
  });

  it('goes the whole circle: first start, token, event, signed and encrypted delivery, backup, end', async (t) => {
    await testEndToEnd(t, { file: join(folder, NAME), folder, env: environment() });
    assert.deepEqual(readdirSync(folder).sort(), ['data', NAME]);
    assert.deepEqual(readdirSync(join(folder, 'data')).sort(), ['master.key', 'sallyport.db', 'serve.lock']);
  });

  it('brings the client of PostgreSQL', async (t) => {
    const env = environment({ SALLYPORT_DATABASE_URL: await newDatabase(t), SALLYPORT_DATA: join(folder, 'key') });
    await run(join(folder, NAME), ['init'], { cwd: folder, env });
    const { stdout } = await run(join(folder, NAME), ['user', 'list'], { cwd: folder, env });
    assert.match(stdout, /admin/);
    assert.deepEqual(readdirSync(join(folder, 'key')), ['master.key']);
    rmSync(join(folder, 'key'), { recursive: true });
  });

  it('leaves nothing but its data folder when it is killed, either', async (t) => {
    const child = spawn(join(folder, NAME), ['serve', '--json', '--port', '0'], {
      cwd: folder,
      env: environment(),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    cleanUp(t, () => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    assert.deepEqual(readdirSync(temporary), []);
    assert.deepEqual(readdirSync(folder).sort(), ['data', NAME]);
  });

  it('leaves nothing among temporary files, and does without a folder for them', async () => {
    const data = join(parent, 'data');
    await run(join(folder, NAME), ['init', '--data', data], { cwd: folder, env: environment() });
    assert.deepEqual(readdirSync(temporary), []);
    const nowhere = { cwd: folder, env: environment({ TMPDIR: join(parent, 'no-such-folder') }) };
    const { stdout } = await run(join(folder, NAME), ['doctor', '--json', '--data', data], nowhere);
    assert.equal((JSON.parse(stdout) as { ok: boolean }).ok, true);
    assert.equal(existsSync(join(parent, 'no-such-folder')), false);
  });
});
