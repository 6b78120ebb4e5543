/**
 * `npm run demo:cluster` shows three instances of Sallyport on one PostgreSQL database. While events flow to a receiver, one instance is
 * killed and PostgreSQL crashes and restarts. At the end every acknowledged event has arrived: it prints how many were lost, and exits with
 * 1 unless that is 0. PostgreSQL 15 or newer must be installed; the demo starts a server of its own in a temporary folder.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCertificate } from '../src/cli/listen/self-signed.ts';
import { parseEnvelope } from '../src/wire/envelope.ts';
import { type Program, runSallyport } from '../test/chaos/life.ts';
import { startCluster } from '../test/support/postgres.ts';
import { type Client, createApi, EDGE, requestToken } from './demo/api.ts';

const INSTANCES = 3;
const WEBHOOKS = ['ordered', 'unordered'] as const;
const FLOWS_MS = 4000;
const REQUESTS_AT_ONCE = 4;
const EVENTS_PER_REQUEST = 10;
const ARRIVES_WITHIN_MS = 60_000;

const startedAt = performance.now();
const tell = (text: string): void => {
  process.stdout.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)} s  ${text}\n`);
};
const folder = mkdtempSync(join(tmpdir(), 'sallyport-demo-'));
const endings: (() => void)[] = [() => rmSync(folder, { recursive: true, force: true })];
try {
  process.exitCode = (await play()) === 0 ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  for (const end of endings.toReversed()) end();
}

/** Returns how many acknowledged events were lost. */
async function play(): Promise<number> {
  const cluster = await startCluster({ synchronous_commit: 'on', full_page_writes: 'on' });
  endings.push(cluster.stop);
  tell(`PostgreSQL listens on port ${cluster.port}`);
  const identity = makeCertificate(['127.0.0.1'], Date.now());
  const caFile = join(folder, 'receiver.pem');
  writeFileSync(caFile, identity.certificate);
  const receiver = await startReceiver(identity.certificate, identity.privateKey);

  const settings = (n: number) => ({
    SALLYPORT_DATA: join(folder, `instance-${n}`),
    SALLYPORT_MASTER_KEY_FILE: join(folder, 'master.key'),
    SALLYPORT_DATABASE_URL: cluster.url('postgres'),
    SALLYPORT_PORT: '0',
    SALLYPORT_CA_FILE: caFile,
    SALLYPORT_EGRESS_ALLOW: '127.0.0.1/32',
    SALLYPORT_LOG_LEVEL: 'fatal',
  });
  const instances: Instance[] = [];
  for (let n = 0; n < INSTANCES; n += 1) {
    instances.push(await startInstance(settings(n)));
    tell(`instance ${n + 1} listens at ${instances[n]?.url}`);
  }
  const [first, second] = instances as [Instance, Instance];
  const { access_token: token } = await requestToken(first.url, first);
  await subscribe(first.url, token, receiver.origin);

  const acknowledged = new Set<string>();
  const over = new AbortController();
  const publishing = Promise.all(
    Array.from({ length: REQUESTS_AT_ONCE }, (_, n) => publish(instances, token, n, acknowledged, over.signal)),
  );
  await sleep(FLOWS_MS / 2);
  tell(`${acknowledged.size} events acknowledged, ${receiver.arrived.size} records arrived at two webhooks`);
  second.program.kill('SIGKILL');
  tell('instance 2 was killed');
  await sleep(FLOWS_MS);
  tell(`${acknowledged.size} events acknowledged, ${receiver.arrived.size} records arrived at two webhooks`);
  await cluster.crash();
  tell('PostgreSQL crashed and is back');
  await sleep(FLOWS_MS);
  over.abort();
  await publishing;

  const missing = (): number =>
    [...acknowledged].filter((id) => !WEBHOOKS.every((name) => receiver.arrived.has(`/${name} ${id}`))).length;
  for (const giveUpAt = performance.now() + ARRIVES_WITHIN_MS; missing() > 0 && performance.now() < giveUpAt; ) {
    await sleep(100);
  }
  const lost = missing();
  tell(
    `${acknowledged.size} events acknowledged, ${receiver.arrived.size} records arrived at two webhooks, ` +
      `${receiver.repeats()} repeats, lost: ${lost}`,
  );
  return lost;
}

type Instance = Client & { readonly url: string; readonly program: Program };

async function startInstance(env: Readonly<Record<string, string>>): Promise<Instance> {
  const program = runSallyport(['serve', '--json'], env);
  endings.push(() => program.kill('SIGKILL'));
  const line = await program.firstLine;
  if (line === null) throw new Error(`an instance did not start: ${program.log()}`);
  return { ...(JSON.parse(line) as Client & { url: string }), program };
}

async function startReceiver(cert: string, key: string) {
  const arrived = new Set<string>();
  let records = 0;
  const server = createServer({ cert, key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => {
      const parsed = parseEnvelope(Buffer.concat(chunks));
      for (const { messageId } of parsed.ok ? parsed.envelope.records : []) {
        arrived.add(`${request.url} ${messageId}`);
        records += 1;
      }
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endings.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `https://127.0.0.1:${port}`, arrived, repeats: () => records - arrived.size };
}

async function subscribe(url: string, token: string, receiver: string): Promise<void> {
  const api = createApi(url, token);
  await api.call(201, 'POST', `${EDGE}/event-types`, { name: 'order.created', description: 'An order was created' });
  for (const name of WEBHOOKS) {
    const ordered = name === 'ordered';
    const endpoint = { name, url: `${receiver}/${name}`, tokenChallenge: false, enabled: true };
    const { body } = await api.call<{ id: string }>(201, 'POST', `${EDGE}/endpoints`, endpoint);
    const webhook = { name, endpointId: body.id, eventTypes: ['order.created'], ordered, maxBatchRecords: 20 };
    const made = await api.call<{ id: string }>(201, 'POST', `${EDGE}/webhooks`, webhook);
    await api.call(200, 'POST', `${EDGE}/webhooks/${made.body.id}/start`);
  }
  tell('an ordered and an unordered webhook send to the receiver');
}

type Accepted = { readonly events: readonly { readonly id: string }[] };

/** Publishes until it is told to stop. A request that is not acknowledged is sent again to another instance, with the same keys. */
async function publish(
  instances: readonly Instance[],
  token: string,
  worker: number,
  acknowledged: Set<string>,
  over: AbortSignal,
): Promise<void> {
  for (let request = 0; !over.aborted; request += 1) {
    const events = Array.from({ length: EVENTS_PER_REQUEST }, (_, n) => ({
      type: 'order.created',
      data: { orderId: n },
      idempotencyKey: `${worker}-${request}-${n}`,
    }));
    for (let round = request; ; round += 1) {
      const { url } = instances[round % instances.length] as Instance;
      const response = await fetch(`${url}${EDGE}/events`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ events }),
      }).catch(() => null);
      if (response?.status === 202) {
        for (const { id } of ((await response.json()) as Accepted).events) acknowledged.add(id);
        break;
      }
      await sleep(50);
    }
  }
}
