/**
 * The public API: what an embedding program imports. docs/embedding.md is its reference.
 *
 *     const sallyport = await createSallyport({ dataDir: './data' });
 *     const { url } = await sallyport.start();
 */
import { ConfigurationError, completeConfig, type Options as Settings } from './config/config.ts';
import { createLog } from './observe/log.ts';
import { openSallyport, type Sallyport } from './open.ts';
import { isLogger, LOG_METHODS, type Logger, logTo } from './program/log.ts';
import { apiRoutes } from './http/api-routes.ts';

export { type Config, ConfigurationError, readConfig } from './config/config.ts';
export type { FirstCredentials } from './data/data.ts';
export { DataFolderError } from './data/data.ts';
export {
  type Caller,
  callerOf,
  type Embedding,
  type HostRequest,
  type HostResponse,
  type Middleware,
} from './embedding.ts';
export type { EventInput, JsonValue, PublishInput } from './events/publish.ts';
export { StoppedError } from './kernel/lifetime.ts';
export { type FieldProblem, Refusal, type RefusalCode } from './kernel/refusal.ts';
export type { Sallyport } from './open.ts';
export type {
  AcknowledgeInput,
  ApplicationInput,
  ApplicationQuery,
  CustomerInput,
  CustomerQuery,
  DeliveryQuery,
  EndpointInput,
  EndpointQuery,
  ErasureInput,
  EventTypeInput,
  FilterPreviewInput,
  KeyInput,
  PageQuery,
  PortalLinkInput,
  ProductInput,
  RecordsQuery,
  RegenerateSecretInput,
  ReplayInput,
  RotateApiKeyInput,
  RotateSecretInput,
  UsagePeriod,
  UserInput,
  UserQuery,
  WebhookInput,
  WebhookQuery,
} from './program/inputs.ts';
export type { LogFields, Logger } from './program/log.ts';
export type { Program, Resource } from './program/program.ts';
export type {
  Acknowledged,
  Application,
  ApplicationWithSecret,
  Attempt,
  Customer,
  CustomerUsage,
  Delivery,
  DeliveryWithAttempts,
  Endpoint,
  EndpointWithSecret,
  Erasure,
  EventType,
  FilterPreview,
  Invitation,
  Key,
  Page,
  PortalLink,
  Product,
  Published,
  RecordsBody,
  Replayed,
  Usage,
  User,
  Webhook,
} from './program/records.ts';
export type { MergePatch } from './resources/input.ts';

/** The settings of docs/configuration.md, and `log`. All are optional. */
export type Options = Settings & {
  /** Gets the lines of the log from `logLevel` on. Default: JSON lines on standard error. */
  readonly log?: Logger | undefined;
};

/**
 * Opens the data folder, and creates it at the first start. Options left out have their defaults; only `readConfig` reads the environment.
 * Throws `ConfigurationError` or `DataFolderError`.
 */
<<<<<<< /tmp/im_o
export async function createSallyport(options: Options = {}): Promise<Sallyport> {
  const config = completeConfig(options, ['log']);
  const { log } = options;
  if (log !== undefined && !isLogger(log))
    throw new ConfigurationError(`log must have the functions ${LOG_METHODS.join(', ')}`);
  const opened = await openSallyport(config, {
    log: log === undefined ? createLog(config.logLevel) : logTo(log, config.logLevel),
=======
export async function createSallyport(
  options: Options = {},
  givenLog?: Log,
  overrides: Pick<ComposeOptions, 'clock' | 'databaseThread'> = {},
): Promise<Sallyport> {
  const config = completeConfig(options);
  const log = givenLog ?? createLog(config.logLevel);
  const certificate = openServingCertificate(config, { log, clock: overrides.clock ?? Date.now });
  const { promise: failed, resolve: onWriterEnd } = Promise.withResolvers<Error>();
  const composed = await compose(config, { exclusive: true, log, onWriterEnd, ...overrides });
  try {
    // A test's clock only advances, so it measures durations too.
    const stopwatch = overrides.clock ?? (() => performance.now());
    return assemble(composed, { config, log, certificate, stopwatch, failed });
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

function assemble(composed: Composed, { config, log, certificate, stopwatch, failed }: Surroundings): Sallyport {
  const { store, clock, services } = composed;
  const { instances } = store;
  const metrics = createMetrics({ queues: store.queues, clock, instances });
  const figures = createFigures({ store: store.figures, clock });
  const feed = createAttemptFeed(instances === null ? null : store.attempts.live);
  // Several instances agree on the clock of their database, which none of them watches.
  const checkClock =
    instances === null ? createClockWatch({ clockLead: store.clockLead, clock, stopwatch, log }) : async () => {};
  const membership =
    instances === null ? null : createMembership({ instances, instance: () => thisInstance(address), log });
  const { send, dispatcher } = createDelivery(composed, { checkClock, membership, log, metrics, figures, feed });
  composed.onWork({
    ...dispatcher,
    // Acknowledged records count as delivered.
    acknowledged: (id, { webhookNumber, first: firstOffset, last: lastOffset }) => {
      const settled = {
        batch: { webhookNumber, firstOffset, lastOffset },
        fate: { kind: 'delivered', at: clock() },
        attempt: null,
      } as const;
      for (const observe of [metrics.observeSettled, figures.observeSettled]) observe(id, settled);
    },
  });
  const testDelivery = feed.observed(createTestDelivery({ ...composed, send, webhooks: services.webhooks }));
  const doors = { ...composed, dispatcher, log, testDelivery };
  const ofCustomer = createCustomers({ ...composed, log, send, figures, feed });
  const housekeeping = createHousekeeping({
    ...composed,
    checkClock,
    log,
    retention: retentionOf(config),
    further: [figures.job, ...certificate.jobs],
    ...(membership === null ? {} : { hasDuty: membership.hasDuty }),
    observe: metrics.observeStep,
  });
  const { compiled: catalogue, refreshIfChanged } = services.products;
  const refreshCatalogue = instances === null ? undefined : refreshIfChanged;
  const gate = createGate({ store, clock, catalogue, refreshCatalogue });
  const remoteAddress = createRemoteAddress(config.trustedProxies);
  let address: string | null = null;
  const issuer = (): string => config.publicUrl ?? address ?? refuseUnknownAddress();
  const knownAddress = (): string | null => config.publicUrl ?? address;
  const testOauth = createTestOauth({ ...doors, endpoints: services.endpoints });
  const beside = { config, testOauth, throttle: store.failures.throttle('sign-in'), publicUrl: knownAddress };
  const offered = (): readonly string[] => [...CUSTOMER_SCOPES, ...services.products.offered()];
  const portal = createPortal({ ...doors, metrics, figures, feed, ofCustomer, offered, ...beside });
  // The portal is not served in the server of an embedding program.
  const signInPath = (): string | null => (address === null ? null : '/sign-in');
  // Ends streams and waits: otherwise a stop would wait for the viewers of live pages and for readers of records.
  const stopping = new AbortController();
  const api = { clock, publicUrl: issuer, gate, stopping: stopping.signal };
  const routes = [
    ...apiRoutes({
      ...portal,
      ...api,
      services,
      store,
      testDelivery,
      dispatcher,
      log,
      metrics,
      knownAddress,
      signInPath,
    }),
    // Their paths contain a hash, so no embedding program has the same ones.
    ...portal.assets,
  ];
  let catalogueWatch: NodeJS.Timeout | null = null;
  let endWatch = (): void => {};
  let announcement: Announcement | null = null;
  const lifetime = createLifetime();
  const { during } = lifetime;
  const deliver = once(async () => {
    await dispatcher.start();
    housekeeping.start();
    composed.erasureWork.start();
    endWatch = watchStorage({ ...composed.storage, dataDir: composed.dataDir, log });
    try {
      if (composed.storage.hasOneServer) announcement = announceServer(config, knownAddress(), composed.vault);
    } catch (err) {
      log.warn({ err }, 'the settings could not be written for commands beside this server; they use their own');
    }
    catalogueWatch = setInterval(() => {
      services.products
        .refreshIfChanged()
        .catch((error: unknown) => log.error({ err: error }, 'the API catalogue could not be read'));
    }, CATALOGUE_WATCH_MS);
  });
  const handler = createRequestHandler({
    ...{ gate, clock, log, remoteAddress, elsewhere: portal.elsewhere, stopping: stopping.signal },
    // SQLite needs none: nothing can be read before it is durable.
    ...(instances !== null && { confirm: store.confirm }),
    routes: [...routes, ...portal.pages],
    routeFor: createRouteFor((customerId) => customerAdministration({ ...api, ...ofCustomer(customerId) })),
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
    // Without the portal: an embedding program has its own pages at these paths.
    ...embedding,
    failed,
    services: refusingUnfitTexts(refusedAfterStop(during, readingServices(services), IN_MEMORY)),
    firstCredentials: composed.firstCredentials,
    credentialsShown: () => during(composed.credentialsShown),
    firstInvitation: () => during(async () => inviteFirstAdministrator(composed, issuer())),
    publish: (input) => during(async () => services.publish(readEvents(eventsText(input)), EMBEDDING_PROGRAM)),
    startDelivery: () => lifetime.starting(deliver),
    start: () => lifetime.starting(listenAndDeliver),
    renewCertificate: () => certificate.renew(listener.serve),
    stop: once(() => {
      const stopped = lifetime.stop(async (idle) => {
        if (catalogueWatch !== null) clearInterval(catalogueWatch);
        endWatch();
        announcement?.end();
        stopping.abort();
        composed.logWatch.close();
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

/** Work that is not done in time is left to the next start, for example outcomes while another process locks the database. */
async function withinStopTime(stopped: Promise<void>, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      log.error('the stop took too long');
      reject(new Error(`the stop took longer than ${STOP_MS} ms; the rest is left to the next start`));
    }, STOP_MS);
>>>>>>> /tmp/im_t
  });
  return opened.sallyport;
}
