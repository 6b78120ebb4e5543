import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext } from 'node:test';
import type { AcceptedView } from '../../src/events/publish.ts';
import { cleanUp } from '../support/cleanup.ts';
import { deferred } from '../support/deferred.ts';
import { messageIds, TYPE, takeRecords, until } from '../support/dispatching.ts';
import { connect, deliveriesOf, makeEventType, publish } from '../support/journey.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService, temporaryFolder } from '../support/service.ts';
import { onSqlite } from '../support/store.ts';
import { sharedCertificates } from '../support/tls.ts';

/** Set in the process that has a mount table of its own. */
const MAY_MOUNT = 'FULL_DISK_MAY_MOUNT';

const IMPORT_MAP = new URL('../../scripts/runtimes/deno/import-map.json', import.meta.url);
const FLAGS =
  'deno' in process.versions
    ? ['test', '--no-check', '--allow-all', '--quiet', `--import-map=${IMPORT_MAP}`]
    : ['--disable-warning=ExperimentalWarning'];

/** A disk of a few megabytes, mounted for the test, or null where this account may not mount one. */
function mountSmallDisk(t: TestContext, megabytes: number): string | null {
  const folder = join(temporaryFolder(t), 'disk');
  mkdirSync(folder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch (error) {
    if (process.env[MAY_MOUNT] !== undefined) throw error;
    return null;
  }
  cleanUp(t, () => execFileSync('umount', [folder]));
  return folder;
}

/**
 * Runs this file again as the root of a user namespace, which any account may have that the system lets (user_namespaces(7)). Where
 * it does not, the test is skipped, but not in continuous integration: it is the only one of a full disk.
 */
async function runWhereDisksCanBeMounted(t: TestContext): Promise<void> {
  // With the environment of this test's runner, it would report to that runner and always exit with 0.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const again = [process.execPath, ...FLAGS, import.meta.filename];
  const child = spawn('unshare', ['--map-root-user', '--mount', ...again], {
    env: { ...env, [MAY_MOUNT]: 'yes' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  cleanUp(t, () => void child.kill('SIGKILL'));
  const told = Promise.all([child.stdout, child.stderr].map((stream) => stream.setEncoding('utf8').toArray()));
  const status = await once(child, 'exit').then(
    ([code]) => Number(code),
    () => null,
  );
  const text = (await told).flat().join('');
  if (status === 0) return;
  const isKept = status === null || /^unshare: /m.test(text);
  if (isKept && process.env.CI === undefined) return t.skip(`no small disk can be mounted here: ${text.trim()}`);
  assert.fail(`in a user namespace: ${text}`);
}

/** Takes up all that is left of a disk. */
function fillUp(disk: string): string {
  const filler = join(disk, 'filler');
  let chunk = Buffer.alloc(1024 * 1024);
  while (chunk.length >= 4096) {
    try {
      writeFileSync(filler, chunk, { flag: 'a' });
    } catch {
      chunk = chunk.subarray(0, chunk.length / 2);
    }
  }
  return filler;
}

describe('a disk that is full', () => {
  onSqlite(
    'refuses events that cannot be stored, loses no accepted one, and repeats none once there is space',
    async (t) => {
      const disk = mountSmallDisk(t, 12);
      if (disk === null) return runWhereDisksCanBeMounted(t);
      const first = await startService(t);
      await first.stop();
      const dataDir = join(disk, 'data');
      cpSync(first.dataDir, dataDir, { recursive: true });
      const { ca, server } = sharedCertificates();
      const service = await startService(t, {
        ca,
        writerThread: true,
        after: { dataDir, credentials: first.credentials },
      });
      const { admin } = service;
      const receiver = await startReceiver(t, server, { clock: service.clock });
      await makeEventType(admin, TYPE);
      const { at, webhook } = await connect({ admin, receiver }, [TYPE], {
        webhook: { maxBatchRecords: 1, timeoutSeconds: 60 },
      });
      const accepted = await publish(admin, TYPE, { n: 0 });
      await at.next();
      await service.log.nextAttempt(webhook.id);

      // Eight are under way, more wait, and then the disk is full before any is answered.
      const open = deferred();
      at.answer(async () => {
        await open.promise;
        return { status: 200 };
      });
      accepted.push(...(await publish(admin, TYPE, ...Array.from({ length: 30 }, (_, n) => ({ n })))));
      await takeRecords(at, 8);
      const filler = fillUp(disk);
      let refused = 0;
      while (refused < 3) {
        const event = { type: TYPE, data: { text: 'x'.repeat(200_000) } };
        const reply = await admin.post<AcceptedView>('events', event);
        if (reply.status === 202) accepted.push(...reply.body.events.map(({ id }) => id));
        else {
          assert.equal(reply.status, 503);
          assert.ok(Number(reply.headers.get('retry-after')) > 0);
          refused += 1;
        }
      }
      open.resolve();
      await service.log.line(({ msg }) => msg === 'the outcome of an attempt cannot be written yet');
      assert.equal((await fetch(`${service.url}/livez`)).status, 200);
      assert.equal((await fetch(`${service.url}/readyz`)).status, 503);

      rmSync(filler);
      await until('everything', async () =>
        (await deliveriesOf(admin, webhook)).every(({ state }) => state === 'delivered'),
      );
      assert.deepEqual([...messageIds(at)].sort(), [...accepted].sort());
      await until('ready again', async () => (await fetch(`${service.url}/readyz`)).status === 200);
      accepted.push(...(await publish(admin, TYPE, { n: 99 })));
      await until('the last', () => messageIds(at).length === accepted.length);
    },
  );
});
