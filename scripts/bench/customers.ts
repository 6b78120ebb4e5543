/**
 * What customers cost while they are silent: publishing one event for a customer, and the pages of its portal read, in a database with one
 * customer and in one with many, which have ten webhooks each. Prints microseconds of CPU time per operation, all threads together, the two
 * databases in turn in every round, and the ratio of each round.
 *
 *     node scripts/bench/customers.ts [--customers 10000] [--rounds 7]
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import BetterSqlite3 from 'better-sqlite3';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import { createIds } from '../../src/kernel/ids.ts';
import { createLog } from '../../src/observe/log.ts';
import { createSallyport, EMBEDDING_PROGRAM, type Sallyport } from '../../src/sallyport.ts';
import { median } from './report/statistics.ts';

const { values } = parseArgs({
  options: { customers: { type: 'string', default: '10000' }, rounds: { type: 'string', default: '7' } },
});
const WEBHOOKS_EACH = 10;
const WARMING_ROUNDS = 2;
const EVENTS = 1000;
const READS = 100;
const AT_ONCE = 16;
const TYPE = 'order.created';

type Side = { readonly name: string; readonly sallyport: Sallyport; readonly customerId: string };
type Work = (side: Side) => Promise<unknown>;

const folder = mkdtempSync('/var/tmp/bench-customers-');
try {
  const sides = [await open('one', 0), await open('many', Number(values.customers) - 1)] as const;
  const operations: readonly (readonly [name: string, times: number, work: Work])[] = [
    ['publish one event for a customer', EVENTS, publish],
    ['list 50 deliveries of a customer', READS, listDeliveries],
    ['list the webhooks of a customer', READS, listWebhooks],
  ];
  for (const [name, times, work] of operations) await compare(name, times, work, sides);
  for (const { sallyport } of sides) await sallyport.stop();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Opens a database with one customer that has ten webhooks, and `others` further ones. */
async function open(name: string, others: number): Promise<Side> {
  const dataDir = join(folder, name);
  await (await createSallyport({ dataDir }, createLog('error'))).stop();
  if (others > 0) addCustomers(join(dataDir, DATABASE_FILE), others);
  const sallyport = await createSallyport({ dataDir }, createLog('error'));
  const { customers, eventTypes, endpoints, webhooks } = sallyport.services;
  const { id: customerId } = await customers.create({ name: 'measured' }, EMBEDDING_PROGRAM);
  await eventTypes.create({ name: TYPE, description: '' }, EMBEDDING_PROGRAM);
  const endpoint = await endpoints.create(
    { customerId, name: 'receiver', url: 'https://receiver.example/' },
    EMBEDDING_PROGRAM,
  );
  for (let n = 0; n < WEBHOOKS_EACH; n += 1) {
    await webhooks.create(
      { customerId, name: `webhook ${n}`, endpointId: endpoint.id, eventTypes: [n === 0 ? TYPE : 'other.*'] },
      EMBEDDING_PROGRAM,
    );
  }
  return { name, sallyport, customerId };
}

/** Writes customers whose webhooks are stopped, straight into the file: each gets the same types as the measured one. */
function addCustomers(path: string, count: number): void {
  const db = new BetterSqlite3(path);
  const ids = createIds(Date.now, randomBytes);
  const now = Date.now();
  const customer = db.prepare(
    `INSERT INTO customer (id, name, metadata, active, created_at, updated_at) VALUES (?, ?, '{}', 1, ?, ?)`,
  );
  const endpoint = db.prepare(
    `INSERT INTO endpoint (id, customer_id, name, url, api_key, secret, secret_created_at, token_challenge, verified, enabled,
      enable_when_verified, created_at, updated_at) VALUES (?, ?, 'receiver', 'https://receiver.example/', x'00', x'00', ?, 0, 0, 1, 1, ?, ?)`,
  );
  const webhook = db.prepare(
    `INSERT INTO webhook (number, id, customer_id, name, endpoint_id, event_types, custom_headers, ordered, max_batch_records, retry_policy,
      max_attempts, standard_webhooks, heartbeat_seconds, timeout_seconds, created_at, updated_at)
     VALUES (?, ?, ?, 'webhook', ?, '[]', '[]', 0, 100, 'exponential', 20, 0, 300, 15, ?, ?)`,
  );
  const progress = db.prepare(
    `INSERT INTO webhook_progress (webhook_number, state, state_at, next_offset, cursor_offset, failure_streak, dead_streak)
     VALUES (?, 'stopped', ?, 0, 0, 0, 0)`,
  );
  const subscription = db.prepare('INSERT INTO subscription VALUES (?, ?, ?, 0)');
  db.transaction(() => {
    for (let n = 0; n < count; n += 1) {
      const [customerId, endpointId] = [ids.uuid(), ids.uuid()];
      customer.run(customerId, `customer ${n}`, now, now);
      endpoint.run(endpointId, customerId, now, now, now);
      for (let w = 0; w < WEBHOOKS_EACH; w += 1) {
        const number = scattered(n * WEBHOOKS_EACH + w + 1);
        webhook.run(number, ids.uuid(), customerId, endpointId, now, now);
        progress.run(number, now);
        subscription.run(w === 0 ? TYPE : 'other.*', customerId, number);
      }
    }
  })();
  db.close();
}

/** A different number of 26 bits for each `n`, as scattered as those that the service draws. The factor is odd, so no two are equal. */
function scattered(n: number): number {
  return Math.imul(n, 0x9e37_79b1) & 0x3ff_ffff;
}

async function compare(name: string, times: number, work: Work, sides: readonly [Side, Side]): Promise<void> {
  const costs = new Map<Side, number[]>(sides.map((side) => [side, []]));
  for (let round = -WARMING_ROUNDS; round < Number(values.rounds); round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const micros = await cost(times, () => work(side));
      if (round >= 0) costs.get(side)?.push(micros);
    }
  }
  const [one = [], many = []] = sides.map((side) => costs.get(side));
  const ratios = many.map((micros, round) => micros / (one[round] ?? Number.NaN));
  const [low, high] = [Math.min(...ratios), Math.max(...ratios)];
  process.stdout.write(
    `${name}: ${median(one).toFixed(1)} µs with one customer, ${median(many).toFixed(1)} µs with ${values.customers}; ratio ${median(ratios).toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})\n`,
  );
}

/** Microseconds of CPU time per call, of all threads, with some calls at once. */
async function cost(times: number, work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  let left = times;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

function publish({ sallyport, customerId }: Side): Promise<unknown> {
  return sallyport.publish({ type: TYPE, customerId, data: { text: 'x'.repeat(1000) } });
}

function listDeliveries({ sallyport, customerId }: Side): Promise<unknown> {
  return sallyport.services.deliveries.list({ customerId }, null, 50);
}

function listWebhooks({ sallyport, customerId }: Side): Promise<unknown> {
  return sallyport.services.webhooks.list('', 50, { customerId });
}
