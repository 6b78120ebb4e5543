/** Everything but the doors: what the server, an embedding program and the commands share. */
import { type Config, ConfigurationError, readSettingFile } from './config/config.ts';
import { type Data, type FirstCredentials, openData } from './data/data-folder.ts';
import { makeFirstCredentials } from './data/first-start.ts';
import { createLargeBodies, type LargeBodies } from './delivery/large-bodies.ts';
import { createErasures, type ErasureWork } from './events/erase.ts';
import type { Clock } from './kernel/ids.ts';
import type { Log } from './observe/log.ts';
import type { EgressPolicy } from './outbound/egress.ts';
import { readAuthorities } from './outbound/tls.ts';
import { createTransport, type Transport } from './outbound/transport.ts';
import { createServices, type Services } from './services.ts';

export type Composed = Omit<Data, 'firstCredentials' | 'firstStart'> & {
  readonly egress: EgressPolicy;
  readonly transport: Transport;
  readonly makeLargeBody: LargeBodies['make'];
  readonly services: Services;
  readonly erasureWork: ErasureWork;
  /** Not null until `credentialsShown`, which whoever shows them calls; a start that was cut short before shows them again. */
  readonly firstCredentials: FirstCredentials | null;
  credentialsShown(): Promise<void>;
  /** Tells that there may be work to deliver. */
  wake(): void;
  /** Who is told. Without a listener nobody is, and the server beside this process finds the work, or the erasure, by itself. */
  onWork(listener: WorkListener): void;
  /** Has threads write to the database from soon on: for the one server of a data folder, when it is ready. They take 50 ms of a processor. */
  startThreads(): void;
  close(): Promise<void>;
};

/** A dispatcher, as those who make work for it see it. */
export type WorkListener = { wake(): void; recall(subject: string): void };

export type ComposeOptions = {
  /** This process is the one server of the data folder. */
  readonly exclusive: boolean;
  /** Make a new installation, also where the folder has lost its database. */
  readonly anew?: boolean;
  readonly log: Log;
  /** The system's where absent. */
  readonly clock?: Clock;
};

/** Opens the data folder and puts the use cases together. Throws `ConfigurationError` or `DataFolderError`. */
export async function compose(config: Config, { log, ...options }: ComposeOptions): Promise<Composed> {
  const egress: EgressPolicy = { allow: config.egressAllow };
  const transport = openTransport(config, egress);
  const { firstCredentials, firstStart, ...data } = await openData(config, { ...options, log });
  const largeBodies = createLargeBodies({
    ...{ store: data.store, path: data.db.connection.name },
    onFault: (err) => log.error({ err }, 'the thread that makes large bodies failed; they are made without'),
    onCannotGiveWay: (err) =>
      log.warn({ err }, 'the system does not let the thread that makes large bodies give way to calls (setpriority)'),
  });
  let listener: WorkListener | null = null;
  const wake = (): void => listener?.wake();
  const recall = (subject: string): void => listener?.recall(subject);
  const close = async (): Promise<void> => {
    await transport.close();
    await largeBodies.close();
    await data.close();
  };
  try {
    const erasures = createErasures({ ...data, log, recall });
    const services = createServices({ ...data, egress, transport, log, wake, erasures });
    await services.products.refresh();
    const credentials =
      options.exclusive && firstStart ? await makeFirstCredentials({ ...data, firstCredentials }) : null;
    if (credentials !== null) log.info({ dataDir: data.dataDir }, 'first start: made the first credentials');
    return {
      ...data,
      egress,
      transport,
      makeLargeBody: largeBodies.make,
      services,
      erasureWork: erasures,
      firstCredentials: credentials,
      credentialsShown: () => firstCredentials.forget(),
      wake,
      onWork: (next) => {
        listener = next;
      },
      startThreads: () =>
        void data.db.startThreads((err) => log.error({ err }, 'a thread of the database failed; writing goes on')),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function openTransport({ caFile, egressProxy }: Config, egress: EgressPolicy): Transport {
  const caPem = caFile === null ? null : readSettingFile('caFile', caFile);
  try {
    if (caPem !== null) readAuthorities(caPem);
  } catch (cause) {
    throw new ConfigurationError(`SALLYPORT_CA_FILE: ${caFile}: ${(cause as Error).message}`, { cause });
  }
  return createTransport({ egress, caPem, proxyUrl: egressProxy?.reveal() ?? null });
}
