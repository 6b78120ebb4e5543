/**
 * The store as one customer sees it (contract §8.3): the rows that belong to the customer, and nothing else. The use cases, routes and
 * pages of a customer are made over this store, so none of them can reach a row of another customer, whatever ids it is given.
 *
 * `confinement.ts` says of each verb whether it is here. A verb that is here is confined in one of three ways:
 * - It accepts an id or a number, which must be the customer's own. The same statement looks up a row of someone else and a row that does
 *   not exist, and the answer is the same.
 * - It accepts a filter, to which the customer is added.
 * - It writes a record, which must be the customer's own.
 */
import type { Change } from '../domain/audit.ts';
import type { EventType, NewEvent } from '../domain/event.ts';
import { partsWithoutOwn } from './confinement.ts';
import { type Scope, scopeOf } from './customer-scope.ts';
import { type AuditFilter, type AuditRecord, OPERATOR_ACTOR } from './port/audit.ts';
import type { RecordPlace } from './port/deliveries.ts';
import type { Store } from './port/store.ts';

export function customerStoreOf(store: Store, customerId: string): Store {
  const scope = scopeOf(store, customerId);
  return {
    customerId,
    confirm: store.confirm,
    ...partsWithoutOwn(store),
    ...customerParts(store, scope),
    ...accessParts(store, scope),
    ...webhookParts(store, scope),
    ...eventParts(store, scope),
    ...deliveryParts(store, scope),
    ...listParts(store, scope),
    audit: auditPart(store, scope),
    instances: null,
  };
}

/** The customer itself: what it has used, and what it may still use. */
function customerParts(store: Store, { customerId, own, part }: Scope) {
  const { customers } = store;
  const ownAllowance = <T extends { readonly customerId: string }>(wanted: T): T => {
    if (wanted.customerId !== customerId) throw new Error('a customer publishes for itself');
    return wanted;
  };
  return {
    customers: part('customers', {
      get: async (id) => (id === customerId ? customers.get(id) : null),
      // Reads the customer's own row, whatever is asked for: the time says nothing of others.
      getByExternalId: async (externalId) => {
        const customer = await customers.get(customerId);
        return customer?.externalId === externalId ? customer : null;
      },
      webhookNumbers: async (id) => (id === customerId ? customers.webhookNumbers(id) : new Map()),
      belongings: (ids) => customers.belongings(ids.filter((id) => id === customerId)),
    }),
    usage: part('usage', {
      count: (counted, more, now) => {
        if (counted !== customerId) throw new Error('a customer cannot count usage of another owner');
        store.usage.count(counted, more, now);
      },
      days: (_, since, until) => store.usage.days(customerId, since, until),
      list: (period, after, limit) => store.usage.list({ ...period, ...own }, after, limit),
      sums: (period, after, limit) => store.usage.sums({ ...period, ...own }, after, limit),
    }),
    allowances: part('allowances', {
      take: (wanted, now) => store.allowances.take(wanted.map(ownAllowance), now),
      giveBack: (wanted, now) => store.allowances.giveBack(wanted.map(ownAllowance), now),
    }),
  };
}

/** Its users and applications, with their sessions and tokens. */
function accessParts(store: Store, { customerId, part, owns, ownIds, mine, audited, own, resource }: Scope) {
  const { users, applications, sessions } = store;
  return {
    users: part('users', {
      ...resource('user_account', users),
      update: (user, before, audit, first) => users.update(mine(user), mine(before), audited(audit), first),
      // Only the operator's last administrator has to stay.
      hasOtherAdministrator: async () => true,
      getByName: (_, userName) => users.getByName(customerId, userName),
      isEmpty: async () => false,
    }),
    invitations: part('invitations', {
      put: (invitation, user, audit, first) => store.invitations.put(invitation, mine(user), audited(audit), first),
      expiries: async (userIds) => store.invitations.expiries(await ownIds('user_account', userIds)),
    }),
    applications: part('applications', {
      ...resource('application', applications),
      update: (application, before, audit, first) =>
        applications.update(mine(application), mine(before), audited(audit), first),
      ofUser: async (userId) => ((await owns('user_account', userId)) ? applications.ofUser(userId) : []),
    }),
    tokens: part('tokens', {
      inForce: async (application, now, limit) =>
        (await owns('application', application.id))
          ? store.tokens.inForce(application, now, limit)
          : { count: 0, newestAt: null, isWhole: true },
    }),
    sessions: part('sessions', {
      ofUser: async (userId, now) => ((await owns('user_account', userId)) ? sessions.ofUser(userId, now) : []),
      end: async (session, audit) => {
        // A session of a portal link has no user.
        if (session.userId === null || (await owns('user_account', session.userId)))
          await sessions.end(session, audited(audit));
      },
      endAll: async (userId, keep, audit) => {
        if (await owns('user_account', userId)) await sessions.endAll(userId, keep, audited(audit));
      },
      setPassword: (change, audit) => sessions.setPassword({ ...change, before: mine(change.before) }, audited(audit)),
    }),
    registry: part('registry', {
      applications: (filter, before, limit) => store.registry.applications({ ...filter, ...own }, before, limit),
      users: (filter, before, limit) => store.registry.users({ ...filter, ...own }, before, limit),
    }),
  };
}

/** Its endpoints, keys and webhooks, and the event types that it may see. */
function webhookParts(store: Store, { customerId, part, owns, mine, audited, withNumber, resource }: Scope) {
  const { endpoints, keys, webhooks, eventTypes } = store;
  return {
    endpoints: part('endpoints', {
      ...resource('endpoint', endpoints),
      update: (endpoint, before, audit, first, starts, version) =>
        endpoints.update(mine(endpoint), mine(before), audited(audit), first, starts, version),
    }),
    keys: part('keys', {
      ...resource('pgp_key', keys),
      update: (key, before, audit, first) => keys.update(mine(key), mine(before), audited(audit), first),
      getByName: (_, name) => keys.getByName(customerId, name),
    }),
    eventTypes: part('eventTypes', {
      get: async (id) => shown(await eventTypes.get(id)),
      getByName: async (name) => shown(await eventTypes.getByName(name)),
      list: (after, limit, filter) => eventTypes.list(after, limit, { ...filter, public: 'true' }),
      all: async () => (await eventTypes.all()).filter(isShown),
      // The log has the events of all customers.
      isInLog: async () => false,
      latestSample: async () => null,
      volumes: async () => new Map(),
    }),
    webhooks: part('webhooks', {
      ...resource('webhook', webhooks),
      ofEndpoint: async (id) => ((await owns('endpoint', id)) ? webhooks.ofEndpoint(id) : []),
      standardOfEndpoint: async (id) => ((await owns('endpoint', id)) ? webhooks.standardOfEndpoint(id) : []),
      stoppedWithEndpoint: async (id) => ((await owns('endpoint', id)) ? webhooks.stoppedWithEndpoint(id) : []),
      versionAt: async (id) => ((await owns('endpoint', id)) ? webhooks.versionAt(id) : ''),
      ofKey: (_, name) => webhooks.ofKey(customerId, name),
      update: (webhook, before, audit, first) => webhooks.update(mine(webhook), mine(before), audited(audit), first),
      setState: (change, audit, unchanged) =>
        withNumber(change.progress.webhookNumber, () => webhooks.setState(change, audited(audit), unchanged)),
      resume: (webhookNumber, now) => withNumber(webhookNumber, () => webhooks.resume(webhookNumber, now)),
    }),
  };
}

/** The events that it publishes, and the logs of its webhooks. */
function eventParts(store: Store, { customerId, part, among, ofNumber, withNumber }: Scope) {
  const ownEvents = (events: readonly NewEvent[]): readonly NewEvent[] => {
    if (events.some(({ audience }) => audience !== customerId)) throw new Error('a customer publishes for itself');
    return events;
  };
  return {
    events: part('events', {
      latest: (types, _, limits) => store.events.latest(types, customerId, limits),
      judge: async (events) => store.events.judge(ownEvents(events)),
      publish: async (events) => store.events.publish(ownEvents(events)),
    }),
    dispatch: part('dispatch', {
      target: (number) => ofNumber(number, null, () => store.dispatch.target(number)),
      waiting: (number, cursor, limit) => ofNumber(number, [], () => store.dispatch.waiting(number, cursor, limit)),
      records: (number, first, last) => ofNumber(number, [], () => store.dispatch.records(number, first, last)),
    }),
    pulls: part('pulls', {
      acknowledge: (acknowledgement) =>
        withNumber(acknowledgement.webhookNumber, () => store.pulls.acknowledge(acknowledgement)),
      ends: async (wanted) => store.pulls.ends(await among(wanted)),
    }),
  };
}

/** Its deliveries and their attempts. */
function deliveryParts(store: Store, { customerId, part, numbers, among, audited, ofNumber, withNumber }: Scope) {
  const { deliveries, attempts } = store;
  /** Reads for the places in its own logs, at their positions; null for the others. */
  const inOwnLogs = async <Item>(
    places: readonly RecordPlace[],
    read: (own: readonly RecordPlace[]) => Promise<readonly (Item | null)[]>,
  ): Promise<(Item | null)[]> => {
    const known = new Set(await numbers());
    const found = await read(places.filter(({ webhookNumber }) => known.has(webhookNumber)));
    let next = 0;
    return places.map(({ webhookNumber }) => (known.has(webhookNumber) ? (found[next++] ?? null) : null));
  };
  return {
    deliveries: part('deliveries', {
      get: (address) => ofNumber(address.webhookNumber, null, () => deliveries.get(address)),
      at: (number, offset) => ofNumber(number, null, () => deliveries.at(number, offset)),
      atPlaces: (places) => inOwnLogs(places, deliveries.atPlaces),
      list: async (filter, before, limit) => {
        const known = await among(filter.webhookNumbers);
        if (filter.webhookNumber !== undefined && !known.includes(filter.webhookNumber))
          return { items: [], next: null };
        return deliveries.list({ ...filter, webhookNumbers: known, audience: customerId }, before, limit);
      },
      content: (number, offset) => ofNumber(number, null, () => deliveries.content(number, offset)),
      failures: async (wanted, within, most) => deliveries.failures(await among(wanted ?? undefined), within, most),
      offsetsBetween: (number, period) => ofNumber(number, null, () => deliveries.offsetsBetween(number, period)),
    }),
    replays: part('replays', {
      count: (range) => ofNumber(range.webhookNumber, 0, () => store.replays.count(range)),
      replay: (replay, audit) => withNumber(replay.webhookNumber, () => store.replays.replay(replay, audited(audit))),
      tryNow: (asked, audit) => withNumber(asked.webhookNumber, () => store.replays.tryNow(asked, audited(audit))),
    }),
    waitingKeys: part('waitingKeys', {
      list: (number, after, limit) => ofNumber(number, [], () => store.waitingKeys.list(number, after, limit)),
      giveUp: (asked, audit) => withNumber(asked.webhookNumber, () => store.waitingKeys.giveUp(asked, audited(audit))),
    }),
    attempts: part('attempts', {
      insert: (attempt) => withNumber(attempt.webhookNumber, () => attempts.insert(attempt)),
      get: async (id) => attempts.get(id, await numbers()),
      lastOf: (records) => inOwnLogs(records, attempts.lastOf),
      ofRecord: (number, offset, limit) => ofNumber(number, [], () => attempts.ofRecord(number, offset, limit)),
      batch: async (id) => attempts.batch(id, await numbers()),
      latest: async (limit, outcome, wanted) => attempts.latest(limit, outcome, await among(wanted ?? undefined)),
      latestOf: (number, limit, outcome) => ofNumber(number, [], () => attempts.latestOf(number, limit, outcome)),
      lastOutcomes: async (wanted) => attempts.lastOutcomes(await among(wanted)),
    }),
  };
}

/** Its audit log. */
function auditPart(store: Store, { customerId, part, audited, own }: Scope): Store['audit'] {
  /** An actor that is not of the customer is shown as the operator, without its id and address. */
  const seen = async (entries: readonly AuditRecord[]): Promise<AuditRecord[]> => {
    const actors = entries.map(({ actor }) => actor);
    const ofCustomer = entries.length === 0 ? new Set<string>() : await store.audit.ofCustomer(actors, customerId);
    return entries.map((entry) => asSeen(entry, ofCustomer.has(entry.actor)));
  };

  /** Null if nobody whom the customer may know has this name. */
  const actorFilter = async (actor: string | undefined): Promise<Pick<AuditFilter, 'actor' | 'notBy'> | null> => {
    if (actor === undefined) return {};
    if (actor === OPERATOR_ACTOR) return { notBy: customerId };
    const isKnown = isNamed(actor) || (await store.audit.ofCustomer([actor], customerId)).has(actor);
    return isKnown ? { actor } : null;
  };

  return part('audit', {
    append: (entry) => store.audit.append(audited(entry)),
    get: async (id) => {
      const entry = await store.audit.get(id, customerId);
      return entry === null ? null : ((await seen([entry]))[0] ?? null);
    },
    lastOf: async (action, targets) => {
      const own = await store.audit.ofCustomer(targets, customerId);
      return store.audit.lastOf(
        action,
        targets.filter((target) => own.has(target)),
      );
    },
    list: async (before, limit, { actor, ...filter } = {}) => {
      if ((filter.customerId ?? customerId) !== customerId) return [];
      const by = await actorFilter(actor);
      return by === null ? [] : seen(await store.audit.list(before, limit, { ...filter, ...by, ...own }));
    },
  });
}

/** The verbs that lists, searches and the overview read. */
function listParts(store: Store, { customerId, part, owns, ownIds, ofNumber, among, own }: Scope) {
  return {
    expiry: part('expiry', { all: (_, limit) => store.expiry.all(customerId, limit) }),
    overview: part('overview', {
      backlog: (_, longest) => store.overview.backlog(customerId, longest),
      ailing: (_, limit) => store.overview.ailing(customerId, limit),
      dead: () => store.overview.dead(customerId),
      setUp: () => store.overview.setUp(customerId),
    }),
    directory: part('directory', {
      webhooks: (filter, before, limit) => store.directory.webhooks({ ...filter, ...own }, before, limit),
      webhook: async (id) => ((await owns('webhook', id)) ? store.directory.webhook(id) : null),
      webhookNames: async (wanted) => store.directory.webhookNames(await among(wanted)),
      oldestWaitingAt: (number) => ofNumber(number, null, () => store.directory.oldestWaitingAt(number)),
      deadRecords: async (wanted, batches) => store.directory.deadRecords(await among(wanted), batches),
      states: () => store.directory.states(customerId),
      endpoints: (filter, before, limit) => store.directory.endpoints({ ...filter, ...own }, before, limit),
      countEndpoints: (filter, limit) => store.directory.countEndpoints({ ...filter, ...own }, limit),
      webhooksOf: async (ids, limit) => store.directory.webhooksOf(await ownIds('endpoint', ids), limit),
      endpointNames: (_, limit) => store.directory.endpointNames(customerId, limit),
    }),
    uses: part('uses', {
      ofEndpoints: async (ids) => store.uses.ofEndpoints(await ownIds('endpoint', ids)),
      ofKeys: async (ids) => store.uses.ofKeys(await ownIds('pgp_key', ids)),
      ofEventTypes: (names) => store.uses.ofEventTypes(names, customerId),
    }),
    terms: part('terms', { find: (text, _, limit) => store.terms.find(text, customerId, limit) }),
    search: part('search', { find: (text, _, limit) => store.search.find(text, customerId, limit) }),
    stateHistory: part('stateHistory', {
      ofWebhook: async (id, limit) => ((await owns('webhook', id)) ? store.stateHistory.ofWebhook(id, limit) : []),
    }),
  };
}

/** The actors that customers know besides their own users and applications: the holders of their links, and the service itself. */
function isNamed(actor: string): boolean {
  return actor === 'service' || actor.startsWith('portal-link:') || actor.startsWith('portal-token:');
}

/**
 * An entry as a customer sees it. Not its notes of the operator (`metadata`), nor the address of a visitor who is no user of the customer:
 * people of the operator open portal links, too.
 */
function asSeen(entry: AuditRecord, isByCustomer: boolean): AuditRecord {
  const { metadata, ...changes } = entry.changes;
  const shown = entry.target.startsWith('customer:') ? changes : entry.changes;
  if (isByCustomer) return { ...entry, changes: shown };
  const actor = isNamed(entry.actor) ? entry.actor : OPERATOR_ACTOR;
  return { ...entry, actor, changes: { ...shown, ...(shown.session && { session: withoutAddress(shown.session) }) } };
}

function withoutAddress({ from, to }: Change): Change {
  const of = (value: unknown): unknown => {
    if (value === null || typeof value !== 'object') return value;
    const { address, ...rest } = value as Readonly<Record<string, unknown>>;
    return rest;
  };
  return { from: of(from), to: of(to) };
}

function isShown(eventType: EventType): boolean {
  return eventType.public;
}

function shown(eventType: EventType | null): EventType | null {
  return eventType !== null && isShown(eventType) ? eventType : null;
}
