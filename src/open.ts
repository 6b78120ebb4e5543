/** Puts the whole service together. `sallyport serve` runs it, and `createSallyport` (sallyport.ts) gives it to an embedding program. */

import { hostname } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { CUSTOMER_SCOPES } from './access/built-in.ts';
import { actingOf } from './access/callers.ts';
import { type Caller, createGate } from './access/gate.ts';
import { type Config, listeningUrl } from './config/config.ts';
import type { FirstCredentials } from './data/data.ts';
import { inviteFirstAdministrator } from './data/first-start.ts';
import { createDispatcher, type Dispatcher } from './delivery/dispatcher.ts';
import { DRAIN_MS } from './delivery/limits.ts';
import { createMembership, type Membership } from './delivery/membership.ts';
import { createOauthTokens, createTestOauth } from './delivery/oauth.ts';
import { createSend, type Send } from './delivery/send.ts';
import type { ObserveSettled } from './delivery/settle.ts';
import { createTestDelivery } from './delivery/trials/test-delivery.ts';
import { type Acting, EMBEDDING_PROGRAM } from './domain/acting.ts';
import { createEmbedding, type Embedding } from './embedding.ts';
import { writeApplicationUses } from './housekeeping/application-uses.ts';
import { logAuditHead } from './housekeeping/audit-head.ts';
import { createHousekeeping, type Housekeeping } from './housekeeping/housekeeping.ts';
import type { Retention } from './housekeeping/retention.ts';
import { createRouteFor } from './http/customer-routes.ts';
import { createCustomersApi } from './http/customers-api.ts';
import { CUSTOMERS_CACHED } from './http/limits.ts';
import { createRemoteAddress } from './http/request.ts';
import { apiRoutes, customerAdministration } from './http/routes/api-routes.ts';
import { createListener, createRequestHandler } from './http/server.ts';
import { openServingCertificate, type ServingCertificate } from './http/serving-certificate.ts';
import type { CheckClock } from './kernel/clock.ts';
import type { Clock } from './kernel/ids.ts';
import { createLifetime, once, refusedAfterStop } from './kernel/lifetime.ts';
import type { Log } from './kernel/log.ts';
import { memoized } from './kernel/lru.ts';
import { unknownAddress } from './kernel/refusal.ts';
import { VERSION } from './kernel/version.ts';
import { type AttemptFeed, createAttemptFeed } from './observe/attempt-feed.ts';
import { createClockWatch } from './observe/clock-watch.ts';
import { createFigures, type FigureKeeper } from './observe/figures.ts';
import { createMetrics, type Metrics } from './observe/metrics.ts';
import { createUsageObserver } from './observe/usage.ts';
import { createPortal } from './portal/portal.ts';
import { createProgram } from './program/create.ts';
import type { Program } from './program/program.ts';
import { type Composed, compose } from './services/compose.ts';
import { createCustomerServices } from './services/customer-services.ts';
import { createRunOnce } from './services/once.ts';
import type { Services } from './services/services.ts';
import { createWatches } from './services/watches.ts';
import type { NewInstance } from './store/port/instances.ts';
import type { ObserveAcknowledged } from './webhooks/acknowledge.ts';

/** Time limit of the whole stop: the process ends within 10 s (contract §6.7). */
export const STOP_MS = 9500;

export type Sallyport = Embedding &
  Program & {
    /**
     * The same methods for a caller, such as `callerOf(request)`: they reach the resources of its customer, grant no right that it lacks,
     * and the audit log has its name. They do not check scopes, which a guard does.
     */
    as(caller: Caller): Program;
    /** The credentials that the first start of a data folder made for the administrator; null once they were shown. */
    readonly firstCredentials: FirstCredentials | null;
    /** Call this after showing the first credentials: they are then forgotten. */
    credentialsShown(): Promise<void>;
    /** A one-time link with which the first administrator sets a password; null without first credentials. */
    firstInvitation(): Promise<string | null>;
    /** Starts to deliver and to listen at `address`; clients use `url`. Later calls return the same result. */
    start(): Promise<{ readonly url: string; readonly address: string }>;
    /** Starts to deliver without listening, for a program that uses `middleware` in its own server. Later calls do nothing. */
    startDelivery(): Promise<void>;
    /** Reads the certificate and its key again, for new connections. Logs an error and keeps the old ones if they cannot be used. */
    renewCertificate(): void;
    /**
     * Resolves with the reason if a thread of the database ends unexpectedly, and never otherwise. From then on every write is refused as
     * `unavailable`, and nothing is delivered. Nothing acknowledged is lost: call `stop` and create another Sallyport, or end the process
     * and let its supervisor restart it, as `sallyport serve` does.
     */
    readonly failed: Promise<Error>;
    /**
     * Stops accepting requests, finishes open ones (at most 8 s), and closes the data folder. Later calls wait for the same stop.
     * Every other call rejects with `StoppedError` from then on, and the middleware answers 503. Rejects after 9.5 s with the folder still
     * open, for example if another process keeps the database locked; nothing acknowledged is lost.
     */
    stop(): Promise<void>;
  };

/** Options that only tests and the command line set. */
type Internals = {
  readonly log: Log;
  /** Replaces the system's clock everywhere. A test can advance it. */
  readonly clock?: Clock;
  /** The thread that writes the SQLite database, if it is already started. */
  readonly databaseThread?: Worker | null | undefined;
};

/** The result of `createSallyport`, and the use cases behind it. */
type OpenedSallyport = { readonly sallyport: Sallyport; readonly services: Services };

/** Opens the data folder, and creates it at the first start. Throws `ConfigurationError` or `DataFolderError`. */
export async function openSallyport(config: Config, internals: Internals): Promise<OpenedSallyport> {
  const { log, clock } = internals;
  const certificate = openServingCertificate(config, { log, clock: clock ?? Date.now });
  const { promise: failed, resolve: onWriterEnd } = Promise.withResolvers<Error>();
  const composed = await compose(config, { exclusive: true, onWriterEnd, ...internals });
  try {
    // A test's clock only advances, so it measures durations too.
    const stopwatch = clock ?? (() => performance.now());
    const sallyport = assemble(composed, { config, log, certificate, stopwatch, failed });
    return { sallyport, services: composed.services };
  } catch (error) {
    // Otherwise the folder would stay locked until the process ends.
    await composed.close();
    throw error;
  }
}

type Surroundings = {
  readonly config: Config;
  readonly log: Log;
  readonly certificate: ServingCertificate;
  /** Milliseconds of a monotonic clock. */
  readonly stopwatch: () => number;
  readonly failed: Sallyport['failed'];
};

function assemble(composed: Composed, surroundings: Surroundings): Sallyport {
  const { config, log, certificate, failed } = surroundings;
  const { store, clock, services } = composed;
  let address: string | null = null;
  const knownAddress = (): string | null => config.publicUrl ?? address;
  const addressFor = (customerId: string | null) => (): string => knownAddress() ?? refuseUnknownAddress(customerId);
  const issuer = addressFor(null);
  const work = createWork(composed, surroundings, () => address);
  const { dispatcher, housekeeping } = work;
  const addresses = { own: () => address, known: knownAddress, addressFor };
  const doors = createDoors(composed, surroundings, work, addresses);
  const { gate, routes, handler, remoteAddress, ofCustomer, stopping } = doors;
  const watches = createWatches(composed, { config, log, knownAddress });
  const lifetime = createLifetime();
  const { during } = lifetime;
  const deliver = once(async () => {
    await dispatcher.start();
    housekeeping.start();
    composed.erasureWork.start();
    watches.start();
  });
  const listener = createListener({ handler, tls: certificate.tls, clock, log });
  const listen = once(async () => {
    address = listeningUrl(config, await listener.listen(config.host, config.port));
    composed.listensAt(address);
    return address;
  });
  const listenAndDeliver = once(async () => {
    const at = await listen();
    const url = issuer();
    await deliver();
    log.info({ url, address: at }, 'listening');
    return { url, address: at };
  });
  const embedding = createEmbedding({ routes, handler, gate, clock, log, remoteAddress, during });
  const shared = { clock, runOnce: createRunOnce({ store, clock }) };
  const programFor = (customerId: string | null, acting: Acting): Program => {
    const own = customerId === null ? services : ofCustomer(customerId).services;
    const operator = customerId === null ? services : null;
    const publicUrl = addressFor(customerId);
    return refusedAfterStop(during, createProgram({ own, operator, acting, publicUrl, ...shared }));
  };
  return {
    // Without the portal: an embedding program has its own pages at these paths.
    ...embedding,
    ...programFor(null, EMBEDDING_PROGRAM),
    as: (caller) => programFor(caller.customerId, actingOf(caller)),
    failed,
    firstCredentials: composed.firstCredentials,
    credentialsShown: () => during(composed.credentialsShown),
    firstInvitation: () => during(async () => inviteFirstAdministrator(composed, issuer())),
    startDelivery: () => lifetime.starting(deliver),
    start: () => lifetime.starting(listenAndDeliver),
    renewCertificate: () => certificate.renew(listener.serve),
    stop: once(() => {
      const stopped = lifetime.stop(async (idle) => {
        watches.end();
        stopping.abort();
        composed.logWatch.close();
        await endWork(composed, work, [listener.close(), withinDrainTime(idle)]);
        log.info('stopped');
      });
      return withinStopTime(stopped, log);
    }),
  };
}

/**
 * Makes the gate, the API and the portal, and the handler of their routes. `own` is the address at which this process
 * listens, `known` the one that clients use, and `addressFor` throws if that is unknown.
 */
function createDoors(
  composed: Composed,
  { config, log }: Surroundings,
  { metrics, figures, feed, send, dispatcher }: Work,
  { own, known, addressFor }: Addresses,
) {
  const { store, clock, services } = composed;
  const { instances } = store;
  const testDelivery = feed.observed(createTestDelivery({ ...composed, send, webhooks: services.webhooks }));
  const shared = { ...composed, dispatcher, log, testDelivery };
  const ofCustomer = memoized(CUSTOMERS_CACHED, (customerId: string) =>
    createCustomerServices({ ...composed, log, send, figures, feed }, customerId),
  );
  const { compiled: catalogue, refreshIfChanged: refreshCatalogue } = services.products;
  const gate = createGate({ store, clock, catalogue, ...(instances !== null && { refreshCatalogue }) });
  const remoteAddress = createRemoteAddress(config.trustedProxies);
  const testOauth = createTestOauth({ ...shared, endpoints: services.endpoints });
  const { egressAddresses } = config;
  const beside = { config, egressAddresses, testOauth, throttle: store.failures.throttle('sign-in'), publicUrl: known };
  const offered = (): readonly string[] => [...CUSTOMER_SCOPES, ...services.products.offered()];
  const customersApi = createCustomersApi(() => routes);
  const portal = createPortal({ ...shared, metrics, figures, feed, ofCustomer, offered, customersApi, ...beside });
  // Ends streams and waits: otherwise a stop would wait for the viewers of live pages and for readers of records.
  const stopping = new AbortController();
  const api = { clock, publicUrl: addressFor(null), gate, stopping: stopping.signal };
  const routes = [
    ...apiRoutes({
      ...shared,
      ...portal,
      ...api,
      metrics,
      knownAddress: known,
      egressAddresses,
      // The portal is not served in the server of an embedding program.
      signInPath: () => (own() === null ? null : '/sign-in'),
    }),
    // Their paths contain a hash, so no embedding program has the same ones.
    ...portal.assets,
  ];
  const handler = createRequestHandler({
    gate,
    clock,
    log,
    remoteAddress,
    elsewhere: portal.elsewhere,
    stopping: stopping.signal,
    // SQLite needs none: nothing can be read before it is durable.
    ...(instances !== null && { confirm: store.confirm }),
    routes: [...routes, ...portal.pages],
    routeFor: createRouteFor((customerId) =>
      customerAdministration({ ...api, ...ofCustomer(customerId), publicUrl: addressFor(customerId) }),
    ),
    observe: [metrics.observeRequest, figures.observeRequest],
  });
  return { gate, routes, handler, remoteAddress, ofCustomer, stopping };
}

type Addresses = {
  own(): string | null;
  known(): string | null;
  /** As callers of this customer read a refusal; null: those of the operator. */
  addressFor(customerId: string | null): () => string;
};

/** The work in the background, and its measurements. */
type Work = Omit<DeliveryParts, 'checkClock' | 'membership'> & {
  readonly send: Send;
  readonly dispatcher: Dispatcher;
  readonly housekeeping: Housekeeping;
};

function createWork(
  composed: Composed,
  { config, log, certificate, stopwatch }: Surroundings,
  address: () => string | null,
): Work {
  const { store, clock } = composed;
  const { instances } = store;
  const metrics = createMetrics({ queues: store.queues, clock, instances });
  const figures = createFigures({ store: store.figures, clock });
  const feed = createAttemptFeed(instances === null ? null : store.attempts.live);
  // Several instances agree on the clock of their database, which none of them watches.
  const checkClock =
    instances === null ? createClockWatch({ clockLead: store.clockLead, clock, stopwatch, log }) : async () => {};
  const membership =
    instances === null ? null : createMembership({ instances, instance: () => thisInstance(address()), log });
  const { send, dispatcher } = createDelivery(composed, { checkClock, membership, log, metrics, figures, feed });
  const acknowledged = observeAcknowledged(clock, [metrics.observeSettled, figures.observeSettled]);
  composed.onWork({ ...dispatcher, acknowledged });
  const housekeeping = createHousekeeping({
    ...composed,
    checkClock,
    log,
    retention: retentionOf(config),
    further: [figures.job, ...certificate.jobs],
    ...(membership === null ? {} : { hasDuty: membership.hasDuty }),
    observe: metrics.observeStep,
  });
  return { metrics, figures, feed, send, dispatcher, housekeeping, log };
}

/** Ends everything that writes, and `others` at the same time, and then closes the data. */
async function endWork(
  composed: Composed,
  { dispatcher, housekeeping, figures, log }: Work,
  others: readonly Promise<void>[],
): Promise<void> {
  await Promise.all([dispatcher.stop(), housekeeping.stop(), composed.erasureWork.stop(), ...others]);
  await writeLast(composed, { figures, log });
  await composed.close();
}

function withinDrainTime(idle: Promise<void>): Promise<void> {
  const patience = new Promise<void>((resolve) => setTimeout(resolve, DRAIN_MS).unref());
  return Promise.race([idle, patience]);
}

/** Acknowledged records count as delivered. */
function observeAcknowledged(clock: Clock, observers: readonly ObserveSettled[]): ObserveAcknowledged {
  return (id, { webhookNumber, first: firstOffset, last: lastOffset }) => {
    const settled = {
      batch: { webhookNumber, firstOffset, lastOffset },
      fate: { kind: 'delivered', at: clock() },
      attempt: null,
    } as const;
    for (const observe of observers) observe(id, settled);
  };
}

/** Counts that are in memory, and the head of the audit log. A stop does not fail for them. */
async function writeLast(
  { store }: Composed,
  { figures, log }: { readonly figures: FigureKeeper; readonly log: Log },
): Promise<void> {
  await figures.flush().catch((err: unknown) => log.error({ err }, 'the last figures could not be written'));
  await writeApplicationUses(store.applicationUses).catch((err: unknown) =>
    log.error({ err }, 'the last uses of applications could not be written'),
  );
  await logAuditHead({ audit: store.audit, log }).catch((err: unknown) =>
    log.error({ err }, 'the head of the audit log could not be read'),
  );
}

/** Work that is not done in time is left to the next start, for example outcomes while another process locks the database. */
async function withinStopTime(stopped: Promise<void>, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      log.error('the stop took too long');
      reject(new Error(`the stop took longer than ${STOP_MS} ms; the rest is left to the next start`));
    }, STOP_MS);
  });
  try {
    await Promise.race([stopped, late]);
  } finally {
    clearTimeout(timer);
  }
}

type DeliveryParts = {
  readonly checkClock: CheckClock;
  readonly membership: Membership | null;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly figures: FigureKeeper;
  readonly feed: AttemptFeed;
};

function createDelivery(
  { store, clock, ids, random, transport, makeLargeBody, formatOf }: Composed,
  { checkClock, membership, log, metrics, figures, feed }: DeliveryParts,
): { send: Send; dispatcher: Dispatcher } {
  const send = createSend({
    transport,
    oauth: createOauthTokens({ transport, clock }),
    onFault: (endpointId, problem) =>
      log.error({ endpointId, problem }, 'an attempt could not be made because of a fault of Sallyport'),
  });
  const jitter = (): number => Buffer.from(random(4)).readUInt32BE() / 2 ** 32;
  const parts = { store, clock, checkClock, membership, ids, log, send, makeLargeBody, formatOf, jitter };
  const observe = [
    metrics.observeSettled,
    figures.observeSettled,
    feed.observeSettled,
    createUsageObserver(store.usage, clock),
  ];
  return { send, dispatcher: createDispatcher({ ...parts, observe, answeredRequests: metrics.answeredRequests }) };
}

function thisInstance(address: string | null): NewInstance {
  return { name: hostname(), version: VERSION, address };
}

function retentionOf({ retentionDeliveredDays, retentionDeadDays, retentionAttemptsDays }: Config): Retention {
  return { deliveredDays: retentionDeliveredDays, deadDays: retentionDeadDays, attemptsDays: retentionAttemptsDays };
}

/** Sallyport does not know the address of an embedding program's server. */
function refuseUnknownAddress(customerId: string | null): never {
  throw unknownAddress(customerId);
}
