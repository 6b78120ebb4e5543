/**
 * Prints as JSON which files of src/ run for a token request, and which run for an event from `publish` until its delivery is settled. Run
 * it with `--import ran-files.mjs`; without, as by `node --test`, it does nothing. Each walk is repeated, and only files that run every
 * time count: the others belong to timers.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { cleanUp, requestToken, serveHttps, startSallyport, subscribe } from '../../docs/examples/set-up.ts';

if (!('ranFiles' in globalThis)) process.exit();

const WALKS = 8;
/** The files through which an embedding program publishes. The walk begins after them. */
const ENTRY_FILES: readonly string[] = ['open.ts', 'program/create.ts', 'services/compose.ts', 'kernel/lifetime.ts'];
const ranFiles = (globalThis as unknown as { ranFiles(): Promise<string[]> }).ranFiles;

async function walk(once: () => Promise<unknown>): Promise<string[]> {
  let files: string[] | null = null;
  await once();
  for (let taken = 0; taken < WALKS; taken++) {
    // Longer than a step of background work.
    await pause(100);
    await ranFiles();
    await once();
    const ran = await ranFiles();
    files = (files ?? ran).filter((file) => ran.includes(file));
  }
  return (files ?? []).sort();
}

const { sallyport, url, dataDir, application, call } = await startSallyport();
const receiver = await serveHttps((request, response) => {
  request.resume().once('end', () => response.writeHead(204).end());
});
await subscribe(call, { url: receiver, eventType: 'order.created' });

const database = new Database(join(dataDir, 'sallyport.db'), { readonly: true });
const settled = database.prepare("SELECT count(*) FROM batch WHERE state = 'delivered'").pluck();
let published = 0;
const deliver = async (): Promise<void> => {
  await sallyport.publish({ events: [{ type: 'order.created', data: { orderId: 1 } }] });
  published += 1;
  while (Number(settled.get()) < published) await pause(2);
  // Waits for the work after the commit.
  await pause(20);
};

const token = await walk(() => requestToken(url, application));
const event = (await walk(deliver)).filter((file) => !ENTRY_FILES.includes(file));
database.close();
await cleanUp();
process.stdout.write(JSON.stringify({ token, event }));
