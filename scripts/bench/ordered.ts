/**
 * Records a second that one ordered webhook delivers with one record a POST, to a receiver that answers in 1 ms, and what each costs the
 * service in CPU time: a batch leaves only once the one before is settled, so this is the latency of a delivery. Then the same beside
 * guarded calls. Run: `node scripts/bench/ordered.ts [records]`.
 */
import { Agent, get } from 'node:http';
import { makeCertificates } from '../../test/support/tls.ts';
import { requestToken } from '../demo/api.ts';
import { cpuMillis } from './harness/cpu.ts';
import { receiverSettings } from './harness/deliveries.ts';
import { createEmployee, EDGE, registerReaders, type Service, startService } from './harness/service.ts';
import { makeWorkFolder, removeFolder } from './harness/work-folder.ts';
import { startReceiver } from './receiver-process.ts';

const RECORDS = Number(process.argv[2] ?? 1000);
const ANSWER_AFTER_MS = 1;
const CALLERS = 16;
const TYPE = 'bench.ordered';

type Calls = { readonly latenciesMs: number[]; stop(): Promise<void> };

/** Callers of a guarded route, each with one request under way. */
async function startCalls(service: Service): Promise<Calls> {
  const { path } = await createEmployee(service);
  const [reader] = await registerReaders(service, 1);
  if (reader === undefined) throw new Error('no application was registered');
  const { access_token: token } = await requestToken(service.url, reader);
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
  const latenciesMs: number[] = [];
  let isOver = false;
  const call = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const from = performance.now();
      const request = get(
        `${service.url}${path}`,
        { agent, headers: { authorization: `Bearer ${token}` } },
        (answer) => {
          answer.resume().on('end', () => {
            latenciesMs.push(performance.now() - from);
            resolve();
          });
        },
      );
      request.on('error', reject);
    });
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!isOver) await call();
  });
  return {
    latenciesMs,
    stop: async () => {
      isOver = true;
      await Promise.all(callers);
      agent.destroy();
    },
  };
}

function p99Of(latenciesMs: readonly number[]): number {
  return latenciesMs.toSorted((a, b) => a - b)[Math.floor(latenciesMs.length * 0.99)] ?? Number.NaN;
}

const certificates = makeCertificates();
const receiver = await startReceiver(certificates.server, ANSWER_AFTER_MS);
const folder = makeWorkFolder('/var/tmp');
const service = await startService({
  dataDir: `${folder}/ordered`,
  env: receiverSettings(`${folder}/ca.pem`, certificates),
});
const { admin } = service;

async function deliver(name: string, webhookId: string, calls: Calls | null): Promise<void> {
  const event = { type: TYPE, data: { text: 'x'.repeat(200) } };
  for (let left = RECORDS; left > 0; left -= 1000) {
    await admin.call(202, 'POST', `${EDGE}/events`, { events: Array<unknown>(Math.min(left, 1000)).fill(event) });
  }
  const { requests: before } = await receiver.received();
  const cpuBefore = cpuMillis(service.pid);
  calls?.latenciesMs.splice(0);
  const from = performance.now();
  await admin.call(200, 'POST', `${EDGE}/webhooks/${webhookId}/start`);
  while ((await receiver.received()).requests - before < RECORDS)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const seconds = (performance.now() - from) / 1000;
  const cpuMicros = ((cpuMillis(service.pid) - cpuBefore) * 1000) / RECORDS;
  await admin.call(200, 'POST', `${EDGE}/webhooks/${webhookId}/stop`);
  const p99 =
    calls === null
      ? ''
      : `, calls: ${(calls.latenciesMs.length / seconds).toFixed(0)}/s, p99 ${p99Of(calls.latenciesMs).toFixed(1)} ms`;
  process.stdout.write(
    `${name.padEnd(20)} ${(RECORDS / seconds).toFixed(0).padStart(6)} records/s, ${cpuMicros.toFixed(0)} µs each${p99}\n`,
  );
}

try {
  await admin.call(201, 'POST', `${EDGE}/event-types`, { name: TYPE });
  const endpoint = { name: 'receiver', url: `${receiver.origin}/hook` };
  const { id: endpointId } = (await admin.call<{ id: string }>(201, 'POST', `${EDGE}/endpoints`, endpoint)).body;
  const webhook = { name: 'ordered', endpointId, eventTypes: [TYPE], ordered: true, maxBatchRecords: 1 };
  const { id } = (await admin.call<{ id: string }>(201, 'POST', `${EDGE}/webhooks`, webhook)).body;
  await deliver('alone', id, null);
  const calls = await startCalls(service);
  await deliver('beside calls', id, calls);
  await calls.stop();
} finally {
  await service.stop();
  receiver.stop();
  removeFolder(folder);
}
