/**
 * The whole service: what `serve` runs, and what a program that embeds it imports.
 *
 *     const sallyport = await createSallyport({ dataDir: './data' });
 *     const { url } = await sallyport.start();
 */
import { createGate } from './access/gate.ts';
import { createThrottle } from './access/throttle.ts';
import { type Composed, compose } from './compose.ts';
import { type Config, completeConfig, listeningUrl, type Options } from './config/config.ts';
import type { FirstCredentials } from './data/data-folder.ts';
import { inviteFirstAdministrator } from './data/first-start.ts';
import { createDispatcher, type Dispatcher } from './delivery/dispatcher.ts';
import { createOauthTokens, createTestOauth } from './delivery/oauth.ts';
import { createSend, type Send } from './delivery/send.ts';
import { createTestDelivery } from './delivery/test-delivery.ts';
import { createEmbedding, type Embedding } from './embedding.ts';
import { checkedEvents, type PublishInput, readEvents } from './events/publish.ts';
import { writeApplicationUses } from './housekeeping/application-uses.ts';
import { logAuditHead } from './housekeeping/audit-head.ts';
import { createHousekeeping } from './housekeeping/housekeeping.ts';
import type { Retention } from './housekeeping/retention.ts';
import { watchStorage } from './housekeeping/storage-watch.ts';
import { administration, authorizationServer } from './http/api-routes.ts';
import { createRemoteAddress } from './http/request.ts';
import { metricsRoutes } from './http/routes/metrics.ts';
import { openApiRoutes } from './http/routes/openapi.ts';
import { createListener, createRequestHandler } from './http/server.ts';
import { openServingCertificate, type ServingCertificate } from './http/serving-certificate.ts';
import type { Clock } from './kernel/ids.ts';
import { createLifetime, once, refusedAfterStop } from './kernel/lifetime.ts';
import { CATALOGUE_WATCH_MS, DRAIN_MS, STOP_MS } from './kernel/limits/limits.ts';
import { Refusal } from './kernel/refusal.ts';
import { type AttemptFeed, createAttemptFeed } from './observe/attempt-feed.ts';
import { type CheckClock, createClockWatch } from './observe/clock-watch.ts';
import { createFigures, type FigureKeeper } from './observe/figures.ts';
import { createLog, type Log } from './observe/log.ts';
import { createMetrics, type Metrics } from './observe/metrics.ts';
import { createPortal } from './portal/portal.ts';
import { type ProgramServices, readingServices } from './program-services.ts';
import { EMBEDDING_PROGRAM } from './resources/acting.ts';
import type { Services } from './services.ts';

export { actingOf } from './access/callers.ts';
export { type Config, ConfigurationError, defaultConfig, type Options, readConfig } from './config/config.ts';
export { DataFolderError } from './data/data-folder.ts';
export { type Caller, callerOf, type Embedding, type Middleware } from './embedding.ts';
export type { EventInput, JsonValue, PublishInput } from './events/publish.ts';
export { StoppedError } from './kernel/lifetime.ts';
export { type FieldProblem, Refusal, type RefusalCode } from './kernel/refusal.ts';
export { type Acting, EMBEDDING_PROGRAM } from './resources/acting.ts';

export type Sallyport = Embedding & {
  /** The use cases. They reject with `StoppedError` once `stop` was called. */
  readonly services: ProgramServices;
  /** What was made for the first administrator at the first start of a data folder; null once it was shown. */
  readonly firstCredentials: FirstCredentials | null;
  /** Whoever has shown the first credentials says so: they are forgotten. */
  credentialsShown(): Promise<void>;
  /** A one-time link by which the first administrator sets a password of its own; null where there are no first credentials. */
  firstInvitation(): Promise<string | null>;
  /**
   * Publishes one event, or several with `{events: […]}`, all or none (contract §4). Durable when it resolves. Dates go out as their ISO
   * text. Rejects with a `Refusal` that names the field of what JSON cannot carry, and with `StoppedError` once `stop` was called.
   */
  publish(input: PublishInput): ReturnType<Services['publish']>;
  /** Begins to deliver, and listens: at `address`, which is known to clients as `url`. Later calls get the same result. */
  start(): Promise<{ readonly url: string; readonly address: string }>;
  /** Begins to deliver without listening: for a program that has `middleware` in a server of its own. Later calls change nothing. */
  startDelivery(): Promise<void>;
  /** Reads the certificate and its key again, for connections from then on. What cannot be used is told to the log alone. */
  renewCertificate(): void;
  /**
   * Resolves with the reason if a thread of the database ends unexpectedly, and never otherwise. From then on everything that writes
   * is refused as `unavailable`, and nothing is delivered. Nothing that was acknowledged is lost: call `stop` and create another
   * Sallyport, or end the process and let its supervisor start it again. `sallyport serve` does the latter.
   */
  readonly failed: Promise<Error>;
  /**
   * Stops accepting, finishes what is under way (8 s at most), and closes the data folder. Later calls wait for the same stop; every
   * other call rejects with `StoppedError` from now on, and the middleware answers 503. Rejects after 9.5 s, with the folder still open,
   * where another process keeps the database locked for example; nothing that was acknowledged is lost then.
   */
  stop(): Promise<void>;
};

/** The services that answer from memory, at once. */
const IN_MEMORY: ReadonlySet<string> = new Set(['compiled', 'scopeNames', 'isPossible']);

/**
 * Opens the data folder, making it at the first start. Options that are left out have their defaults; the environment is read by
 * `readConfig` alone. Throws `ConfigurationError` or `DataFolderError`.
 * The `clock` of `overrides` is what everything here takes for the time, so that days can pass within a test.
 */
export async function createSallyport(
  options: Options = {},
  givenLog?: Log,
  overrides: { readonly clock?: Clock } = {},
): Promise<Sallyport> {
  const config = completeConfig(options);
  const log = givenLog ?? createLog(config.logLevel);
  const certificate = openServingCertificate(config, { log, clock: overrides.clock ?? Date.now });
  const { promise: failed, resolve: onWriterEnd } = Promise.withResolvers<Error>();
  const composed = await compose(config, { exclusive: true, log, onWriterEnd, ...overrides });
  try {
    // A test's clock is not set: the time that it shows has passed.
    const stopwatch = overrides.clock ?? (() => performance.now());
    return assemble(composed, { config, log, certificate, stopwatch, failed });
  } catch (error) {
    // Else the folder would stay locked as long as the process lives.
    await composed.close();
    throw error;
  }
}

type Surroundings = {
  readonly config: Config;
  readonly log: Log;
  readonly certificate: ServingCertificate;
  /** Milliseconds that only grow. */
  readonly stopwatch: () => number;
  readonly failed: Sallyport['failed'];
};

function assemble(composed: Composed, { config, log, certificate, stopwatch, failed }: Surroundings): Sallyport {
  const { store, clock, services } = composed;
  const metrics = createMetrics({ queues: store.queues, clock });
  const figures = createFigures({ store: store.figures, clock });
  const feed = createAttemptFeed();
  const checkClock = createClockWatch({ clockLead: store.clockLead, clock, stopwatch, log });
  const { send, dispatcher } = createDelivery(composed, { checkClock, log, metrics, figures, feed });
  composed.onWork(dispatcher);
  const testDelivery = feed.observed(createTestDelivery({ ...composed, send, webhooks: services.webhooks }));
  const doors = { ...composed, dispatcher, log, testDelivery };
  const housekeeping = createHousekeeping({
    ...composed,
    checkClock,
    log,
    retention: retentionOf(config),
    further: [figures.job, ...certificate.jobs],
    observe: metrics.observeStep,
  });
  const gate = createGate({ store, clock, catalogue: services.products.compiled });
  const remoteAddress = createRemoteAddress(config.trustedProxies);
  let address: string | null = null;
  const issuer = (): string => config.publicUrl ?? address ?? refuseUnknownAddress();
  const knownAddress = (): string | null => config.publicUrl ?? address;
  const testOauth = createTestOauth({ ...doors, endpoints: services.endpoints });
  const beside = { config, testOauth, throttle: createThrottle(), publicUrl: knownAddress };
  const portal = createPortal({ ...doors, metrics, figures, feed, ...beside });
  // In a host program's server the portal is not served.
  const signInPath = (): string | null => (address === null ? null : '/sign-in');
  const described = [
    ...authorizationServer({ ...composed, gate, issuer, knownAddress, signInPath, stylesheet: portal.stylesheet }),
    ...administration(doors),
    ...metricsRoutes({ metrics, gate }),
  ];
  // Styles are at addresses that no host program has: they hold a hash.
  const routes = [...described, ...openApiRoutes({ routes: described, publicUrl: issuer }), ...portal.assets];
  let catalogueWatch: NodeJS.Timeout | null = null;
  let endWatch = (): void => {};
  const lifetime = createLifetime();
  const { during } = lifetime;
  const deliver = once(async () => {
    await dispatcher.start();
    housekeeping.start();
    composed.erasureWork.start();
    endWatch = watchStorage({ ...composed, log });
    catalogueWatch = setInterval(() => {
      services.products
        .refreshIfChanged()
        .catch((error: unknown) => log.error({ err: error }, 'the API catalogue could not be read'));
    }, CATALOGUE_WATCH_MS);
  });
  // Streams end with it: otherwise a stop would wait for those who watch.
  const stopping = new AbortController();
  const handler = createRequestHandler({
    ...{ gate, clock, log, remoteAddress, elsewhere: portal.elsewhere, stopping: stopping.signal },
    routes: [...routes, ...portal.pages],
    observe: [metrics.observeRequest, figures.observeRequest],
  });
  const listener = createListener({ handler, tls: certificate.tls, clock, log });
  const listen = once(async () => {
    address = listeningUrl(config, await listener.listen(config.host, config.port));
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
  return {
    // The portal is for who listens by themselves: a host program has pages of its own at these paths.
    ...embedding,
    failed,
    services: refusedAfterStop(during, readingServices(services), IN_MEMORY),
    firstCredentials: composed.firstCredentials,
    credentialsShown: () => during(composed.credentialsShown),
    firstInvitation: () => during(async () => inviteFirstAdministrator(composed, issuer())),
    publish: (input) => during(async () => services.publish(readEvents(checkedEvents(input)), EMBEDDING_PROGRAM)),
    startDelivery: () => lifetime.starting(deliver),
    start: () => lifetime.starting(listenAndDeliver),
    renewCertificate: () => certificate.renew(listener.serve),
    stop: once(() => {
      const stopped = lifetime.stop(async (idle) => {
        if (catalogueWatch !== null) clearInterval(catalogueWatch);
        endWatch();
        stopping.abort();
        const patience = new Promise<void>((resolve) => setTimeout(resolve, DRAIN_MS).unref());
        const drained = Promise.race([idle, patience]);
        await Promise.all([
          ...[listener.close(), dispatcher.stop(), housekeeping.stop(), composed.erasureWork.stop()],
          drained,
        ]);
        await figures.flush().catch((err: unknown) => log.error({ err }, 'the last figures could not be written'));
        await writeApplicationUses(store.applicationUses).catch((err: unknown) =>
          log.error({ err }, 'the last uses of applications could not be written'),
        );
        await logAuditHead({ audit: store.audit, log }).catch((err: unknown) =>
          log.error({ err }, 'the head of the audit log could not be read'),
        );
        await composed.close();
        log.info('stopped');
      });
      return withinStopTime(stopped, log);
    }),
  };
}

/** What is not done in time is left to the next start: the lock of another process, say, keeps outcomes from being written. */
async function withinStopTime(stopped: Promise<void>, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      log.error('the stop took too long');
      reject(new Error(`the stop took longer than ${STOP_MS} ms; what is not done is left to the next start`));
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
  readonly log: Log;
  readonly metrics: Metrics;
  readonly figures: FigureKeeper;
  readonly feed: AttemptFeed;
};

function createDelivery(
  { store, clock, ids, random, transport, makeLargeBody }: Composed,
  { checkClock, log, metrics, figures, feed }: DeliveryParts,
): { send: Send; dispatcher: Dispatcher } {
  const send = createSend({
    transport,
    oauth: createOauthTokens({ transport, clock }),
    onFault: (endpointId, problem) =>
      log.error({ endpointId, problem }, 'an attempt could not be made: a fault of ours'),
  });
  const jitter = (): number => Buffer.from(random(4)).readUInt32BE() / 2 ** 32;
  const parts = { store, clock, checkClock, ids, log, send, makeLargeBody, jitter };
  const observe = [metrics.observeSettled, figures.observeSettled, feed.observeSettled];
  return { send, dispatcher: createDispatcher({ ...parts, observe, answeredRequests: metrics.answeredRequests }) };
}

function retentionOf({ retentionDeliveredDays, retentionDeadDays, retentionAttemptsDays }: Config): Retention {
  return { deliveredDays: retentionDeliveredDays, deadDays: retentionDeadDays, attemptsDays: retentionAttemptsDays };
}

/** In a program that listens by itself nobody but its operator knows where. */
function refuseUnknownAddress(): never {
  throw new Refusal(
    'unavailable',
    'SALLYPORT_PUBLIC_URL is not set, and it takes the address that clients see to do this',
  );
}
