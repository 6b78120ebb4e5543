/** One run that calls the verbs of the store, always in the same order and with the same rows, so that it runs the same statements. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { deliveryAddress } from '../../src/kernel/ids.ts';
import { noFigures } from '../../src/store/port/figures.ts';
import type { StepResult } from '../../src/store/port/steps.ts';
import type { PostgresDatabase } from '../../src/store/postgres/driver/postgres.ts';
import { recordReader } from '../../src/store/shared/delivery/dispatch.ts';
import { batchOf } from './attempts.ts';
import { attemptOf, claimNext, hold, OWNER, publishMany, run, settleBatch } from './batches.ts';
import { dropLastPartitions } from './postgres.ts';
import {
  ACTOR,
  makeApplication,
  makeCaller,
  makeEndpoint,
  makeEventType,
  makeKey,
  makeUser,
  makeWebhook,
  openTestServices,
  type TestServices,
  tokenOf,
} from './services.ts';
import { oneLine } from './statements.ts';
import { onPostgres } from './store.ts';

export type VerbRun = {
  /** The texts that ran, each once, on one line and sorted. */
  readonly texts: readonly string[];
  /** The verbs that did not run. */
  readonly missing: readonly string[];
};

const TYPE = 'order.placed';
const DAY_MS = 86_400_000;
const HEARTBEAT = { kind: 'heartbeat', batchId: null, firstOffset: null, lastOffset: null } as const;

export async function runVerbs(t: TestContext): Promise<VerbRun> {
  const texts = new Set<string>();
  const s = await openTestServices(t, { onStatement: (sql) => texts.add(oneLine(sql)) });
  const left = watchVerbs(s.store);
  const made = await writeResources(s);
  await readResources(s, made);
  await readDeliveries(s, made);
  await changeAndRemove(s, made);
  await keepHouse(s, made);
  return { texts: [...texts].sort(), missing: [...left].sort() };
}

/** The names of the verbs that have not been called. */
function watchVerbs(store: object): ReadonlySet<string> {
  const left = new Set<string>();
  for (const [part, verbs] of Object.entries(store)) {
    if (verbs === null || typeof verbs !== 'object') continue;
    const watched = verbs as Record<string, unknown>;
    for (const [verb, given] of Object.entries(watched)) {
      if (typeof given !== 'function') continue;
      left.add(`${part}.${verb}`);
      watched[verb] = (...args: unknown[]): unknown => {
        left.delete(`${part}.${verb}`);
        return given.apply(verbs, args);
      };
    }
  }
  return left;
}

type Made = Awaited<ReturnType<typeof writeResources>>;

async function writeResources(s: TestServices) {
  // As an upgrade does: on PostgreSQL a copied template already has them.
  const [products, types] = [await s.store.products.all(), await s.store.eventTypes.all()];
  await s.store.products.replaceBuiltIn(products.filter(({ builtIn }) => builtIn));
  await s.store.eventTypes.replaceBuiltIn(types.filter(({ builtIn }) => builtIn));
  const { id: customerId } = await s.customers.create({ name: 'Acme', externalId: 'acme-1' }, ACTOR);
  await s.portalLinks.create(customerId, { role: 'viewer' }, ACTOR);
  await s.portalTokens.create(customerId, { role: 'viewer', expiresInSeconds: 60 }, ACTOR);
  const user = await makeUser(s, { customerId, userName: 'grace', displayName: 'Grace', role: 'administrator' });
  await makeUser(s, { userName: 'ada', role: 'administrator' });
  const { token: invitation } = await s.invitations.invite(user.id, ACTOR);
  await s.invitations.find(invitation);
  const begun = await s.sessions.begin(user, 'password', { address: '127.0.0.1', userAgent: 'a test' });
  assert.ok(begun);
  await s.sessions.find(begun.token, true);
  const { id: productId } = await s.products.create({ name: 'Orders API', scopes: [], rules: [] }, ACTOR);
  await makeEventType(s, TYPE, { sample: { order: 1 }, searchPaths: ['data.text'] });
  const { application, clientSecret } = await makeApplication(s, { userId: (await makeUser(s)).id });
  const token = await tokenOf(s, application.clientId, clientSecret);
  await s.gate.authenticate([`Bearer ${token}`]);
  const endpoint = await makeEndpoint(s, { customerId });
  const key = await makeKey(s);
  const { id: webhookId } = await makeWebhook(s, [TYPE], { customerId, endpointId: endpoint.id });
  const webhook = await s.webhooks.get(webhookId);
  const spare = await makeWebhook(s, ['employee.*'], { key: true, filter: { 'data.division': 'sales' } });
  const { webhookNumber: number } = webhook.progress;
  await s.webhooks.start(webhook.id, ACTOR);
  await run(s, number);
  await publishMany(s, TYPE, 4, () => ({ audience: customerId, subject: 'person', dataJson: '{"text":"data"}' }));
  await s.publish({ type: TYPE, data: {}, customerId, idempotencyKey: 'once' }, ACTOR);
  await settleBatch(s, await claimNext(s, number, 1), { kind: 'delivered', at: s.clock() });
  const batch = await claimNext(s, number, 1);
  await s.store.settlements.rowOf(batch, OWNER);
  await settleBatch(s, batch, { kind: 'dead', at: s.clock() });
  await settleAudited(s, number);
  await s.store.attempts.insert(attemptOf(s, batch, HEARTBEAT));
  const caller = await makeCaller(s, ['employees:create', 'employees:edit'], {
    constraints: { divisions: ['sales'] },
  });
  const person = { userName: 'kim', firstName: 'Kim', lastName: 'Lee', email: 'kim@example.com', division: 'sales' };
  const { userId } = await s.employees.create(person, caller);
  await s.employees.patch(userId, { lastName: 'Li' }, caller);
  return { customerId, user, productId, application, token, endpoint, key, webhook, spare, number, begun };
}

/** A settlement with an audit entry, as of a webhook that stops. PostgreSQL writes it with the same list of statements as SQLite. */
async function settleAudited(s: TestServices, webhookNumber: number): Promise<void> {
  const [sent, dead] = [await claimNext(s, webhookNumber, 1), await claimNext(s, webhookNumber, 1)];
  const held = await hold(s, webhookNumber);
  const now = s.clock();
  const slow = batchOf(dead.lastOffset + 1, dead.lastOffset + 1, { webhookNumber, id: s.ids.uuid() });
  await s.store.settlements.settle({
    webhookNumber,
    hold: held,
    owner: OWNER,
    batches: [
      { batch: sent, fate: { kind: 'delivered', at: now }, attempt: null },
      { batch: dead, fate: { kind: 'dead', at: now }, attempt: null },
    ],
    now,
    health: null,
    changes: [],
    audit: s.entry(),
    slow: [slow],
    position: { coveredOffset: slow.lastOffset + 1, sentAt: now },
  });
}

async function readResources({ store, clock }: TestServices, made: Made): Promise<void> {
  const { customerId, user, application, endpoint, key, webhook, productId } = made;
  const now = clock();
  for (const [part, id] of [
    ['customers', customerId],
    ['users', user.id],
    ['applications', application.id],
    ['endpoints', endpoint.id],
    ['keys', key.id],
    ['webhooks', webhook.id],
    ['products', productId],
    ['eventTypes', 'none'],
  ] as const) {
    await store[part].get(id);
    await store[part].list('', 10);
    await store[part].list({ sort: { by: 'name', descending: true }, place: null }, 10).catch(() => undefined);
    await store[part].list(id, 10);
  }
  await store.customers.getByExternalId('acme-1');
  await store.customers.search({ text: 'Ac', active: true }, null, 10);
  await store.customers.search({}, customerId, 10);
  await store.customers.names([customerId]);
  await store.customers.belongings([customerId]);
  await store.customers.health([customerId]);
  await store.customers.webhookNumbers(customerId);
  await store.customers.webhookNumbersOf([customerId]);
  for (const table of ['user_account', 'application', 'endpoint', 'pgp_key', 'webhook'] as const) {
    await store.customers.owns(customerId, table, webhook.id);
    await store.customers.ownersOf(table, [webhook.id]);
  }
  await store.portalLinks.find(new Uint8Array(32), now);
  await store.portalLinks.renewUrl(new Uint8Array(32));
  await store.users.getByName(null, 'ada');
  await store.users.getByName(customerId, 'grace');
  await store.users.isEmpty();
  await store.sessions.ofUser(user.id, now);
  await store.passkeys.find(new Uint8Array(32));
  await store.passkeys.ofUser(user.id);
  await store.products.all();
  await store.products.version();
  await store.applications.getClient(application.clientId);
  await store.applications.ofUser(user.id);
  await store.applications.holding(['employees:view']);
  await store.applications.holders({ scope: 'employees:view', permission: 'employees:view' }, '', 10);
  await store.applications.others({ scope: 'employees:view', permission: 'employees:view' }, '', 10);
  await store.tokens.inForce(application, now, 10);
  await store.employees.get(user.id);
  await store.employees.list({ divisions: ['sales'], after: '', limit: 10 });
  await store.employees.list({ divisions: null, after: '', limit: 10 });
  await store.keys.getByName(null, key.name);
  await store.eventTypes.getByName(TYPE);
  await store.eventTypes.isInLog(TYPE);
  await store.eventTypes.latestSample(TYPE, 10_000);
  await store.eventTypes.volumes([TYPE], 0, 10);
  await store.eventTypes.sources();
  while (!(await store.terms.step(clock() + 60_000, 10)).done);
  assert.ok((await store.terms.find('data', null, 10)).length > 0);
  await store.terms.find('data', customerId, 10);
  await store.deliveries.list({ text: 'data' }, null, 10);
  for (let after: number | null = -1; after !== null; ) ({ next: after } = await store.terms.forget(after, 10));
  await store.webhooks.ofEndpoint(endpoint.id);
  await store.webhooks.standardOfEndpoint(endpoint.id);
  await store.webhooks.versionAt(endpoint.id);
  await store.webhooks.stoppedWithEndpoint(endpoint.id);
  await store.webhooks.ofKey(null, key.name);
  await store.webhooks.ofPattern('employee.*');
  await store.webhooks.unencryptedOf({ name: TYPE, public: true });
  await store.webhooks.failingSince({ since: now, quietUntil: now }, 10);
  await store.stateHistory.ofWebhook(webhook.id, 10);
  await store.registry.users({ text: 'gra' }, null, 10);
  await store.registry.applications({ userId: user.id, text: 'app' }, null, 10);
  await store.directory.webhooks({ endpointId: endpoint.id, text: 'web' }, null, 10);
  await store.directory.webhooks({ keyName: key.name }, null, 10);
  await store.directory.webhooks({ troubled: 'yes', eventType: TYPE }, null, 10);
  await store.directory.webhook(webhook.id);
  await store.directory.states(customerId);
  await store.directory.states(null);
  await store.directory.endpoints({ text: 'end', state: 'problems' }, null, 10);
  await store.directory.countEndpoints({ text: 'end', state: 'problems' }, 10);
  await store.directory.webhooksOf([endpoint.id], 10);
  await store.eventTypes.offered();
  await store.uses.subscribers('order.placed', customerId, 10);
  await store.events.find(webhook.id);
  await store.directory.endpointNames(customerId, 10);
  await store.uses.ofEndpoints([endpoint.id]);
  await store.uses.ofKeys([key.id]);
  await store.uses.ofPatterns([TYPE]);
  await store.uses.ofEventTypes([TYPE], customerId);
  await store.search.find('ac', null, 10);
  await store.search.find(webhook.id, customerId, 10);
  await store.audit.list(null, 10, { actor: 'application:test', action: 'webhook', since: 1, until: now });
  await store.audit.list(null, 10, { customerId, exactAction: 'webhook.create', exactTarget: `webhook:${webhook.id}` });
  await store.audit.ofCustomer([`user:${user.id}`], customerId);
  await store.audit.firstBroken();
  const head = await store.audit.head();
  await store.audit.hasHead(head ?? assert.fail());
  const [entry] = await store.audit.list(null, 1);
  await store.audit.get(entry?.id ?? '');
}

async function readDeliveries(
  { store, database, clock, ids }: TestServices,
  { customerId, number }: Made,
): Promise<void> {
  const now = clock();
  const [delivery] = (await store.deliveries.list({ webhookNumber: number }, null, 1)).items;
  const [attempt] = await store.attempts.latestOf(number, 1);
  assert.ok(delivery && attempt);
  const address = deliveryAddress(delivery.id) ?? assert.fail();
  await store.deliveries.get(address);
  await store.deliveries.at(number, 0);
  await store.deliveries.atPlaces([{ webhookNumber: number, offset: 0 }]);
  for (const filter of [{}, { eventId: delivery.eventId }, { state: 'dead' }, { state: 'pending' }] as const) {
    await store.deliveries.list(filter, null, 10);
    await store.deliveries.list({ ...filter, webhookNumber: number }, address, 10);
  }
  await store.deliveries.failures([number]);
  await store.deliveries.content(number, 0);
  await store.deliveries.offsetsBetween(number, { since: 0, until: null });
  await store.deliveries.offsetsBetween(number, { since: 0, until: now });
  const range = { webhookNumber: number, first: 0, last: 10, states: ['dead'] } as const;
  await store.replays.count(range);
  await store.attempts.get(attempt.id);
  await store.attempts.lastOf([{ webhookNumber: number, offset: 0 } as never]);
  await store.attempts.ofRecord(number, 0, 10);
  await store.attempts.batch(attempt.batchId ?? '');
  await store.attempts.latest(10);
  await store.attempts.lastOutcomes([number]);
  await store.events.latest([TYPE], customerId, { events: 10, maxBytes: 10_000 });
  await store.events.latest([TYPE], null, { events: 10, maxBytes: 10_000 });
  await store.dispatch.changed();
  await store.dispatch.positions([number]);
  store.dispatch.appended();
  await store.dispatch.ends([number]);
  await store.dispatch.beginSession(number, { id: 'session', at: now });
  await store.dispatch.stoppedAmong([number]);
  await store.dispatch.target(number);
  await store.dispatch.dueBatches(number, now, 10, []);
  await store.dispatch.firstPending(number, []);
  await store.dispatch.waiting(number, 0, 10);
  await store.dispatch.waitingKeys(number, 0, 10);
  await store.dispatch.dueByKey(number, now, 10, []);
  await store.dispatch.unlabelled(number, 10);
  await store.dispatch.firstOfKeys(number, ['k']);
  await store.dispatch.keysAfter(number, '', 10);
  await store.waitingKeys.list(number, '', 10);
  await store.dispatch.records(number, 0, 10);
  // As the thread for large bodies reads them.
  await recordReader(database)(number, 0, 10);
  await store.dispatch.releaseAll(now);
  await store.pulls.ends([number]);
  await store.queues.read(10);
  await store.directory.oldestWaitingAt(number);
  await store.directory.webhookNames([number]);
  await store.directory.deadRecords([number], 10);
  for (const owner of [customerId, null]) {
    await store.overview.backlog(owner, 10);
    await store.overview.ailing(owner, 10);
    await store.overview.dead(owner);
    await store.overview.setUp(owner);
    await store.expiry.all(owner, 10);
  }
  const entry = { at: now, actor: 'service', action: 'webhook.replay', target: 'webhook:1', customerId, changes: {} };
  await store.replays.replay({ ...range, now, newId: ids.uuid } as never, { ...entry, id: ids.uuid() } as never);
  const pending = { webhookNumber: number, offset: 0, ordered: true, now };
  await store.replays.tryNow(pending, { ...entry, id: ids.uuid() } as never);
  await store.replays.tryNow({ ...pending, ordered: 'key' }, { ...entry, id: ids.uuid() } as never);
  await store.replays.count({ ...range, orderingKey: 'k' });
  await store.replays.replay(
    { ...range, orderingKey: 'k', now, newId: ids.uuid } as never,
    { ...entry, id: ids.uuid() } as never,
  );
  await store.waitingKeys.giveUp({ webhookNumber: number, key: 'k', now }, { ...entry, id: ids.uuid() } as never);
}

async function changeAndRemove(s: TestServices, made: Made): Promise<void> {
  const { customerId, user, application, endpoint, key, webhook, spare, begun, productId } = made;
  const pull = await s.webhooks.create({ name: 'pull', mode: 'pull', eventTypes: [TYPE], customerId }, ACTOR);
  await s.webhooks.start(pull.id, ACTOR);
  await publishMany(s, TYPE, 1, () => ({ audience: customerId }));
  await s.readRecords(pull.id, {});
  await s.webhooks.acknowledge(pull.id, { throughOffset: 0 });
  await s.customers.patch(customerId, { name: 'Acme Ltd' }, ACTOR);
  await s.users.patch(user.id, { displayName: 'Grace Hopper' }, ACTOR);
  await s.applications.patch(application.id, { name: 'Renamed' }, ACTOR);
  await s.applications.regenerateSecret(application.id, {}, ACTOR);
  await s.applications.revokeTokens(application.id, ACTOR);
  await s.endpoints.patch(endpoint.id, { name: 'Renamed' }, ACTOR);
  await s.endpoints.rotateSecret(endpoint.id, {}, ACTOR);
  await s.keys.patch(key.id, { name: 'renamed' }, ACTOR);
  await s.products.patch(productId, { name: 'Renamed' }, ACTOR);
  await s.webhooks.stop(webhook.id, ACTOR);
  await s.webhooks.patch(webhook.id, { name: 'Renamed' }, ACTOR);
  await s.store.sessions.touch(begun.session.id, s.clock());
  await s.store.sessions.end(begun.session, s.entry());
  await s.store.sessions.endAll(user.id, null, s.entry());
  await s.webhooks.remove(spare.id, ACTOR);
  await s.keys.remove(key.id, ACTOR);
  await s.products.remove(productId, ACTOR);
  await s.applications.remove(application.id, ACTOR);
  const alone = await makeEndpoint(s);
  await s.endpoints.remove(alone.id, ACTOR);
  await s.users.remove((await makeUser(s)).id, ACTOR);
  await makeEventType(s, 'order.removed');
  const type = await s.store.eventTypes.getByName('order.removed');
  await s.eventTypes.patch(type?.id ?? '', { description: 'Later.' }, ACTOR);
  await s.eventTypes.remove(type?.id ?? '', ACTOR);
  await s.customers.remove((await s.customers.create({ name: 'Gone' }, ACTOR)).id, ACTOR);
}

async function keepHouse(
  { store, database, clock, ids, entry, advance }: TestServices,
  { number }: Made,
): Promise<void> {
  const erasure = { id: ids.uuid(), subject: 'person', actor: 'service', startedAt: clock() };
  await store.erasures.begin(erasure, entry());
  await store.erasures.open();
  await steps(async () => store.erasures.step((await store.erasures.get(erasure.id)) ?? assert.fail(), 100));
  await store.erasures.discardWaiting((await store.erasures.get(erasure.id)) ?? assert.fail(), -1, 100);
  await store.erasures.finish(erasure.id, clock(), entry());
  await store.erasures.forgetCopies();
  store.usage.count(null, { events: 1 }, clock());
  await store.usage.write(10);
  const wanted = [{ customerId: 'none', events: 1, perSecond: 1 }];
  await store.allowances.take(wanted, clock());
  await store.allowances.giveBack(wanted, clock());
  await store.audit.append(entry());
  await store.tokens.revoke(1, ids.uuid());
  await store.eventTypes.version();
  await store.keptReplies.find({ applicationId: ids.uuid(), key: 'once' }, clock());
  const days = { since: '2000-01-01', until: '2100-01-01' };
  await store.usage.days(null, days.since, days.until);
  await store.usage.list(days, null, 10);
  await store.usage.list(days, { customerId: null, day: days.since }, 10);
  await store.usage.sums(days, undefined, 10);
  await store.usage.daysOfAll(days.since, days.until);
  await store.usage.purge(days.since, 10);
  const used = ids.uuid();
  store.applicationUses.note(used, clock());
  store.applicationUses.latest(used);
  await store.applicationUses.write(10);
  for (const spanSeconds of [60, 600, 3600] as const) {
    await store.figures.read({ spanSeconds, webhookNumber: number, from: 0, to: clock() });
    await store.figures.attempts({ spanSeconds, webhookNumbers: [number], from: 0 });
  }
  const figures = { ...noFigures(), latencies: new Map([[1, 1]]) };
  await store.figures.add([{ webhookNumber: number, at: clock(), figures }]);
  await store.figures.purge(clock(), 10);
  await store.settings.proveWritable(clock());
  await store.settings.checkMasterKey();
  await store.settings.knowsMasterKey();
  const theme = { name: 'Shop', logo: null, accent: null };
  await store.settings.putPortalTheme(theme, null, entry());
  await store.settings.portalTheme();
  await store.expiry.next(clock(), [30, 7, 1]);
  advance(40 * DAY_MS);
  if (onPostgres) await dropLastPartitions(database as PostgresDatabase);
  const now = clock();
  await store.retention.nextWebhook(0);
  await store.retention.records({ webhookNumber: number, from: 0, deliveredBy: now, deadBy: now }, 100);
  const { byAge, shortLived } = store.retention;
  if (byAge.kind === 'rows') {
    await byAge.attempts(now, 10);
    await byAge.unwantedEvents({ after: 0, before: now }, 10);
    await byAge.tokens({ after: 0, now }, 10);
  } else {
    await byAge.step({ deliveredSince: now, recordsSince: now, attemptsSince: now }, now);
  }
  await shortLived?.(now, 10);
  await store.retention.idempotencyKeys(now, 10);
  await store.retention.erasures(now, 10);
  await store.retention.keptReplies(now, 10);
  await steps(() => store.removals.step(100));
  await store.clockLead.moveWebhooks(1, now);
  await store.clockLead.moveRetries(1, now);
  await store.clockLead.resume(now);
  await steps(() => store.clockLead.step(now, 100));
  await store.clockLead.take(now);
  const { instances } = store;
  if (instances === null) return;
  await instances.renew(3_600_000);
  await instances.takeDuty('housekeeping');
  await instances.giveBack([number]);
  await instances.list();
  await instances.expire(9_999_999);
  await instances.leave();
}

/** Repeats a step until nothing is left. */
async function steps(step: () => Promise<StepResult>): Promise<void> {
  for (let rest = 20; rest > 0; rest -= 1) if ((await step()).done) return;
  assert.fail('a step never ends');
}
