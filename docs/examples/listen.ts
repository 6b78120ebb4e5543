/** `sallyport listen` is a receiver for development: it makes its own certificate, verifies each delivery and shows it. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cleanUp, startSallyport, subscribe } from './set-up.ts';

const secret = 'an example of a secret';
const folder = mkdtempSync(join(tmpdir(), 'sallyport-listen-'));
const command = join(import.meta.dirname, '..', '..', 'scripts', 'sallyport');
const options = ['--json', '--port', '0', '--secret', secret, '--certificate-folder', folder];
const listening = spawn(command, ['listen', ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
type Line = { url: string; certificateFile: string; what: string; delivery: { records: { offset: number }[] } };
const lines = createInterface(listening.stdout)[Symbol.asyncIterator]();
const readLine = async (): Promise<Line> => JSON.parse((await lines.next()).value ?? '{}');

// The first line says where it listens, the others show the deliveries.
const { url, certificateFile } = await readLine();
const { sallyport, call } = await startSallyport({ caFile: certificateFile });
await subscribe(call, { url, eventType: 'order.created', endpoint: { secret } });
await sallyport.publish({ type: 'order.created', data: { orderId: 42 } });

const { what, delivery } = await readLine();
console.log(`${what} of ${delivery.records.length} record, offset ${delivery.records[0]?.offset}`);

await cleanUp();
listening.kill();
await new Promise((resolve) => listening.once('close', resolve));
rmSync(folder, { recursive: true });

// Output:
// delivery of 1 record, offset 0
