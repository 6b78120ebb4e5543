/**
 * Two customers and the operator do things at random. Whatever one customer reads then equals what it reads in a world in which the other
 * never did anything: every list with every filter and order, details, deliveries, attempts, records, audit log, figures, search, overview.
 */

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { deliveryAddress, randomBytes } from '../../src/kernel/ids.ts';
import { Refusal } from '../../src/kernel/refusal.ts';
import { createAttemptFeed } from '../../src/observe/attempt-feed.ts';
import { createFigures, type FigureKeeper } from '../../src/observe/figures.ts';
import { createLog } from '../../src/observe/log.ts';
import { type CustomerServices, createCustomerServices } from '../../src/services/customer-services.ts';
import type { Services } from '../../src/services/services.ts';
import { claimNext, settleBatch } from '../support/batches.ts';
import { readingServices, type UntypedServices } from '../support/reading-services.ts';
import { repeats } from '../support/repeats.ts';
import { actingAs, makeEventType, openTestServices, type TestServices } from '../support/services.ts';
import { onPostgres } from '../support/store.ts';
import { egressOf, LOOPBACK, loopbackTransport } from '../support/transport.ts';
import { pgpVector } from '../support/vectors.ts';

repeats('postgres');

type Owner = 'a' | 'b' | 'operator';
type Command = { readonly by: Owner; readonly what: Verb; readonly name: number; readonly pick: number };

const TYPES = ['order.placed', 'order.paid', 'stock.low'];
const SUBJECTS = ['jane', 'john'];
const NAMES = ['Shop', 'shop two', 'ERP'];

/** A part of the service, as one owner sees it, with what it has made so far. */
type Side = {
  readonly services: UntypedServices;
  readonly customerId: string | null;
  readonly made: Record<'users' | 'applications' | 'endpoints' | 'keys' | 'webhooks', string[]>;
};
type World = {
  readonly s: TestServices;
  readonly figures: FigureKeeper;
  readonly sides: Readonly<Record<Owner, Side>>;
  readonly own: CustomerServices;
};

const at = <T>(list: readonly T[], pick: number): T | undefined => list[pick % Math.max(1, list.length)];

async function make(side: Side, kind: keyof Side['made'], body: object, by: Owner): Promise<void> {
  const services = side.services as unknown as Record<
    string,
    { create(body: object, acting: unknown): Promise<unknown> }
  >;
  const made = (await services[kind]?.create(body, actingAs(`user:${by}`))) as {
    id?: string;
    application?: { id: string };
  };
  side.made[kind].push(made.application?.id ?? made.id ?? '');
}

type Run = (world: World, side: Side, command: Command) => Promise<unknown>;

const VERBS = {
  user: (_, side, { name, by }) => make(side, 'users', { userName: `u${name}`, role: 'viewer' }, by),
  application: (_, side, { name, pick, by }) => {
    const userId = at(side.made.users, pick) ?? '0193a1f0-0000-7000-8000-00000000ffff';
    return make(side, 'applications', { name: NAMES[name], userId }, by);
  },
  endpoint: (_, side, { name, pick, by }) =>
    make(side, 'endpoints', { name: NAMES[name], url: `https://receiver.example/${pick}` }, by),
  key: (_, side, { name, by }) => make(side, 'keys', { name: `key-${name}`, publicKey: pgpVector('curve25519') }, by),
  webhook: (_, side, { name, pick, by }) => {
    const endpointId = at(side.made.endpoints, pick) ?? '0193a1f0-0000-7000-8000-00000000ffff';
    const filter = pick % 3 === 0 ? { 'data.n': { $gte: 5 } } : null;
    const encryptionKeyName = pick % 4 === 1 ? `key-${name}` : null;
    const eventTypes = [pick % 2 === 0 ? 'order.*' : (TYPES[name] ?? '*')];
    return make(side, 'webhooks', { name: NAMES[name], endpointId, filter, encryptionKeyName, eventTypes }, by);
  },
  start: (_, side, { pick, by }) =>
    side.services.webhooks.start(at(side.made.webhooks, pick) ?? '', actingAs(`user:${by}`)),
  stop: (_, side, { pick, by }) =>
    side.services.webhooks.stop(at(side.made.webhooks, pick) ?? '', actingAs(`user:${by}`)),
  rename: (_, side, { name, pick, by }) =>
    side.services.webhooks.patch(at(side.made.webhooks, pick) ?? '', { name: NAMES[name] }, actingAs(`user:${by}`)),
  disable: (_, side, { pick, by }) =>
    side.services.endpoints.patch(
      at(side.made.endpoints, pick) ?? '',
      { enabled: pick % 2 === 0 },
      actingAs(`user:${by}`),
    ),
  deactivateUser: (_, side, { pick, by }) =>
    side.services.users.patch(at(side.made.users, pick) ?? '', { active: pick % 2 === 0 }, actingAs(`user:${by}`)),
  remove: (_, side, { pick, by }) => {
    const kind = (['webhooks', 'endpoints', 'keys', 'users', 'applications'] as const)[pick % 5] ?? 'webhooks';
    return side.services[kind].remove(at(side.made[kind], pick) ?? '', actingAs(`user:${by}`));
  },
  publish: (_, side, { name, pick, by }) => {
    const event = { type: TYPES[name] ?? '', data: { n: pick }, subject: SUBJECTS[pick % 2] ?? null };
    return side.services.publish({ events: [event, { ...event, data: { n: pick + 1 } }] }, actingAs(`user:${by}`));
  },
  everyone: ({ sides }, _, { name, pick }) =>
    sides.operator.services.publish(
      { type: TYPES[name] ?? '', data: { n: pick }, audience: 'everyone', subject: SUBJECTS[pick % 2] ?? null },
      actingAs('user:operator'),
    ),
  forOwner: ({ sides }, { customerId }, { name, pick }) =>
    sides.operator.services.publish(
      { type: TYPES[name] ?? '', data: { n: pick }, customerId },
      actingAs('user:operator'),
    ),
  deliver: async (world, side, { pick }) => {
    const { s, figures } = world;
    const id = at(side.made.webhooks, pick);
    const webhook = id === undefined ? null : await s.store.webhooks.get(id);
    if (webhook === null) return;
    const { webhookNumber, state } = webhook.progress;
    const [log] = await s.rows(
      `SELECT next_offset, cursor_offset FROM webhook_status WHERE webhook_number = ${webhookNumber}`,
    );
    if (!['started', 'running', 'failing'].includes(state) || Number(log?.next_offset) <= Number(log?.cursor_offset))
      return;
    const batch = await claimNext(s, webhookNumber, 1);
    const fate = { kind: pick % 2 === 0 ? 'delivered' : 'dead', at: s.clock() } as const;
    await settleBatch(s, batch, fate, pick % 2 === 0 ? {} : { responseStatus: 503, errorClass: 'http_status' });
    const [attempt] = await s.store.attempts.latestOf(webhookNumber, 1);
    if (attempt !== undefined) figures.observeSettled(webhook.id, { batch, fate, attempt });
  },
  replay: (_, side, { pick, by }) =>
    side.services.webhooks.replay(at(side.made.webhooks, pick) ?? '', { states: ['dead'] }, actingAs(`user:${by}`)),
  suspend: async ({ s }, { customerId }, { pick }) => {
    if (customerId !== null) await s.customers.patch(customerId, { active: pick % 2 === 0 }, actingAs('user:operator'));
  },
  erase: ({ s }, _, { pick }) => s.erasures.erase({ subject: SUBJECTS[pick % 2] ?? '' }, actingAs('user:operator')),
} satisfies Readonly<Record<string, Run>>;
type Verb = keyof typeof VERBS;

async function openWorld(t: TestContext): Promise<World> {
  const s = await openTestServices(t);
  for (const name of TYPES) await makeEventType(s, name);
  const figures = createFigures({ store: s.store.figures, clock: s.clock });
  const parts = {
    ...s,
    services: s as unknown as Services,
    random: randomBytes,
    egress: egressOf(LOOPBACK),
    log: createLog('silent'),
    transport: loopbackTransport(t, { egress: LOOPBACK, caPem: null }),
    wake: () => undefined,
    send: () => Promise.reject(new Error('nothing is sent here')),
    figures,
    feed: createAttemptFeed(),
  };
  const sideOf = (services: UntypedServices, customerId: string | null): Side => ({
    services,
    customerId,
    made: { users: [], applications: [], endpoints: [], keys: [], webhooks: [] },
  });
  const customer = async (name: string) => {
    const { id } = await s.customers.create({ name }, actingAs('user:operator'));
    return createCustomerServices(parts as unknown as Parameters<typeof createCustomerServices>[0], id);
  };
  const [a, b] = [await customer('a'), await customer('b')];
  /** `readingServices` reads all of them. Those that customers do not have are not called. */
  const full = ({ services }: CustomerServices): Services => ({ ...s, ...services }) as unknown as Services;
  const sides = {
    a: sideOf(readingServices(full(a)), a.store.customerId),
    b: sideOf(readingServices(full(b)), b.store.customerId),
    operator: sideOf(s, null),
  };
  return { s, figures, sides, own: a };
}

/** Runs the commands of some. Each takes a second, also those that are left out. Returns what became of those of `a`. */
async function play(world: World, commands: readonly Command[], without: Owner | null): Promise<string[]> {
  const outcomes: string[] = [];
  for (const command of commands) {
    world.s.advance(1000);
    // Whatever is done for everybody is the operator's.
    const isForAll = command.what === 'everyone' || command.what === 'erase';
    if (command.by === without && !isForAll) continue;
    const run: Run = VERBS[command.what];
    let outcome = 'done';
    try {
      await run(world, world.sides[command.by], command);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      outcome = `${error.code} ${error.message}`;
    }
    if (command.by === 'a') outcomes.push(`${command.what}: ${outcome}`);
  }
  return outcomes;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** Numbers of the whole service, which no view shows, and random bytes. */
const LEFT_OUT = /^(?:webhookNumber|number|tokensRevokedThrough|\w+Hash|key)$/;

/** As JSON, with ids by the order of their first appearance. */
function plain(value: unknown): string {
  const known = new Map<string, string>();
  const text = JSON.stringify(
    value,
    (name, member) => (LEFT_OUT.test(name) ? undefined : member instanceof Map ? [...member.values()] : member),
    1,
  );
  return text
    .replace(UUID, (id) => {
      const name = known.get(id) ?? `id ${known.size}`;
      known.set(id, name);
      return name;
    })
    .replace(/spc_\w+/g, 'a client id');
}

/** Everything that the customer reads. */
async function everythingOf({ own: { services, store, figures } }: World): Promise<string> {
  const seen: Record<string, unknown> = {};
  const lists = {
    users: [{}, { role: 'viewer' }, { active: 'true' }, { userName: 'u1' }],
    applications: [{}, { name: NAMES[0] ?? '' }, { active: 'true' }],
    endpoints: [{}, { name: NAMES[1] ?? '' }, { enabled: 'false' }],
    keys: [{}],
    webhooks: [{}, { state: 'started' }, { state: 'stopped' }, { eventType: 'order.*' }],
  } as const;
  const sorts = { users: 'userName', applications: 'name', endpoints: 'name', keys: null, webhooks: 'name' } as const;
  for (const kind of Object.keys(lists) as (keyof typeof lists)[]) {
    for (const filter of lists[kind]) {
      const name = `${kind} ${JSON.stringify(filter)}`;
      seen[name] = await services[kind].list('', 100, filter);
      seen[`${name}, one`] = await services[kind].list('', 1, filter);
      for (const descending of [true, false]) {
        const by = sorts[kind] ?? 'createdAt';
        const after = { sort: { by, descending }, place: null };
        seen[`${name} by ${by} ${descending}`] = await services[kind].list(after, 100, filter);
      }
    }
  }
  const webhooks = await services.webhooks.list('', 100);
  for (const search of [
    {},
    { state: 'dead' },
    { state: 'pending' },
    { eventType: TYPES[0] ?? '' },
    { subject: 'jane' },
  ]) {
    const { items, next } = await services.deliveries.list(search as object, null, 3);
    seen[`deliveries ${JSON.stringify(search)}`] = [items, next !== null];
    for (const { id, eventId } of items) {
      seen[`delivery ${id}`] = [await services.deliveries.get(id), await services.deliveries.content(id)];
      seen[`event ${eventId}`] = await services.deliveries.list({ eventId }, null, 10);
    }
    if (next !== null)
      seen[`further ${JSON.stringify(search)}`] = await store.deliveries.list({}, deliveryAddress(next), 10);
  }
  for (const { id, progress } of webhooks) {
    const { webhookNumber } = progress;
    seen[`webhook ${id}`] = [
      await services.webhooks.previewFilter(id, { filter: null, limit: 20 }),
      await store.directory.webhook(id),
      await store.stateHistory.ofWebhook(id, 20),
      await store.dispatch.records(webhookNumber, 0, 100),
      await store.attempts.latestOf(webhookNumber, 20),
      await figures.series('day', webhookNumber),
      await store.directory.deadRecords([webhookNumber], 10),
      await figures.days([webhookNumber]),
    ];
  }
  seen.audit = await store.audit.list(null, 200);
  seen.overview = [
    await store.overview.backlog(null, 10),
    await store.overview.ailing(null, 10),
    await store.overview.dead(null),
    await store.overview.setUp(null),
  ];
  seen.figures = [await figures.series('hour', 0), await store.directory.states(null)];
  seen.failures = [await store.deliveries.failures(null), await store.attempts.latest(20)];
  // Texts that random client ids do not contain.
  seen.search = await Promise.all(['shop', 'key-0', 'order.'].map((text) => store.search.find(text, null, 20)));
  seen.directory = [await store.directory.webhooks({}, null, 50), await store.directory.endpoints({}, null, 50)];
  seen.registry = [await store.registry.applications({}, null, 50), await store.registry.users({}, null, 50)];
  seen.names = [await store.directory.endpointNames(null, 50), await store.expiry.all(null, 50)];
  seen.catalogue = [await store.eventTypes.all(), await store.uses.ofEventTypes(TYPES, null)];
  return plain(Object.entries(seen));
}

const command: fc.Arbitrary<Command> = fc.record({
  by: fc.constantFrom<Owner>('a', 'a', 'b', 'b', 'operator'),
  what: fc.constantFrom(...(Object.keys(VERBS) as Verb[])),
  name: fc.nat({ max: NAMES.length - 1 }),
  pick: fc.nat({ max: 11 }),
});
/** Something for everybody to begin with, so that most commands find something. */
const BEGINNING: readonly Command[] = (['b', 'a', 'operator'] as const).flatMap((by) =>
  (['user', 'application', 'endpoint', 'key', 'webhook', 'start', 'publish', 'forOwner', 'deliver'] as const).map(
    (what) => ({
      by,
      what,
      name: 0,
      pick: 2,
    }),
  ),
);

it('a customer reads the same as if the other had never done anything', async (t) => {
  const results: string[] = [];
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40 }), async (drawn) => {
      const commands = [...BEGINNING, ...drawn];
      const [both, alone] = [await openWorld(t), await openWorld(t)];
      const outcomes = await play(both, commands, null);
      assert.deepEqual(outcomes.map(withoutIds), (await play(alone, commands, 'b')).map(withoutIds));
      const seen = await everythingOf(both);
      assert.equal(differenceOf(seen, await everythingOf(alone)), null);
      results.push(...outcomes);
    }),
    { numRuns: onPostgres ? 5 : 25 },
  );
  assert.ok(results.filter((outcome) => outcome.endsWith(': done')).length > results.length / 3, results.join('\n'));
});

/** The first lines that differ; null if none do. */
function differenceOf(one: string, other: string): string | null {
  const [a, b] = [one.split('\n'), other.split('\n')];
  const first = a.findIndex((line, n) => line !== b[n]);
  if (first === -1 && a.length === b.length) return null;
  const section = a.slice(0, Math.max(0, first)).findLast((line) => /^ {2}"/.test(line));
  return [section, ...a.slice(first - 8, first + 4), 'and without the other:', ...b.slice(first, first + 4)].join('\n');
}

function withoutIds(text: string): string {
  return text.replace(UUID, 'id');
}
