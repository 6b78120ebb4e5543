import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { verifyBackup } from '../../src/data/backup.ts';
import { createDownloads, type Download } from '../../src/data/download.ts';
import { isAuthentic } from '../../src/data/manifest.ts';
import { open, startedFolder } from '../support/data-folder.ts';
import { NOW, openTestStore, type TestStore, temporaryFolder } from '../support/store.ts';

/** Makes a database of a few MiB, which is copied in several steps. */
async function startLarge(t: TestContext): Promise<TestStore> {
  const s = await openTestStore(t);
  fill(s.sqlite.connection);
  return s;
}

function fill(connection: TestStore['sqlite']['connection']): void {
  connection.prepare("INSERT INTO setting (name, value) VALUES ('large', zeroblob(?))").run(6 * 1024 * 1024);
}

const leftOf = (path: string): string[] => readdirSync(dirname(path)).filter((name) => name.includes('download'));

async function read({ content }: Download): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('a downloaded backup', () => {
  it('is complete, and its file is unlinked before it is sent', async (t) => {
    const s = await startLarge(t);
    const download = await createDownloads(s.path, s.vault).begin(NOW, new AbortController().signal);
    assert.ok(download);
    assert.deepEqual(leftOf(s.path), []);
    const bytes = await read(download);
    assert.equal(bytes.length, download.bytes);
    const file = join(temporaryFolder(t), 'backup.db');
    writeFileSync(file, bytes);
    const verdict = await verifyBackup(file);
    assert.ok(verdict.ok && verdict.facts.takenAt === NOW, JSON.stringify(verdict));
    assert.ok(isAuthentic(verdict.manifest, s.vault));
  });

  it('stops being copied once its client disconnects, and leaves no files', async (t) => {
    const s = await startLarge(t);
    const downloads = createDownloads(s.path, s.vault);
    const gone = new AbortController();
    const begun = downloads.begin(NOW, gone.signal);
    gone.abort(new Error('the client has gone'));
    await assert.rejects(begun, /the client has gone/);
    assert.deepEqual(leftOf(s.path), []);
    const next = await downloads.begin(NOW, new AbortController().signal);
    assert.ok(next);
    await read(next);
  });

  it('prevents another download until it is complete or its client disconnects', async (t) => {
    const s = await startLarge(t);
    const downloads = createDownloads(s.path, s.vault);
    const gone = new AbortController();
    const never = new AbortController().signal;
    const copying = downloads.begin(NOW, gone.signal);
    assert.equal(await downloads.begin(NOW, never), null);
    const first = await copying;
    assert.ok(first);
    assert.equal(await downloads.begin(NOW, never), null);
    const closed = once(first.content as never, 'close');
    gone.abort();
    await closed;
    for (const _ of ['second', 'third']) {
      const next = await downloads.begin(NOW, never);
      assert.ok(next);
      const ended = once(next.content as never, 'close');
      await read(next);
      await ended;
    }
  });

  it('of a process that was killed while copying is removed by the next server of the folder', async (t) => {
    const config = await startedFolder(t);
    const server = await open(t, config);
    fill(server.db.connection);
    const path = join(config.dataDir, 'sallyport.db');
    const [, signal] = await downloadUntilKilled(path);
    assert.equal(signal, 'SIGKILL');
    assert.ok(leftOf(path).includes(`${basename(path)}.download`));
    await open(t, config, false);
    assert.notDeepEqual(leftOf(path), []);
    await server.close();
    await open(t, config);
    assert.deepEqual(leftOf(path), []);
  });
});

/** Runs a process that begins a download and kills itself while copying. */
async function downloadUntilKilled(path: string): Promise<unknown[]> {
  const program = `
    import('./src/data/download.ts').then(({ createDownloads }) => {
      createDownloads(process.env.COPIED_FILE, { authenticate: () => '' }).begin(${NOW}, new AbortController().signal);
      const { statSync } = require('node:fs');
      const look = () => {
        const copy = statSync(process.env.COPIED_FILE + '.download', { throwIfNoEntry: false });
        if (copy !== undefined && copy.size > 0) process.kill(process.pid, 'SIGKILL');
        setImmediate(look);
      };
      look();
    });`;
  const child = spawn(process.execPath, ['-e', program], {
    env: { ...process.env, COPIED_FILE: path },
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return once(child, 'exit');
}
