/** Puts together what the server, an embedding program and the commands share: everything but HTTP and the command line. */

import type { Worker } from 'node:worker_threads';
import { type Config, ConfigurationError, readSettingFile } from '../config/config.ts';
import { writeUsage } from '../customers/usage.ts';
import { announcedReceivers } from '../data/announcements.ts';
import type { Data, FirstCredentials } from '../data/data.ts';
import { makeFirstCredentials } from '../data/first-start.ts';
import { openData } from '../data/open.ts';
import { createFormatOf, type FormatOf } from '../delivery/format.ts';
import { createLargeBodies, type LargeBodies } from '../delivery/large-bodies.ts';
import { createLogWatch, type LogWatch } from '../delivery/reads/log-watch.ts';
import { createErasures, type ErasureWork } from '../events/erase.ts';
import type { Clock } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import type { Egress } from '../outbound/egress.ts';
import { readAuthorities } from '../outbound/tls.ts';
import { createTransport, type Transport } from '../outbound/transport.ts';
import type { ThreadEvents } from '../store/sqlite/driver/thread-writer.ts';
import type { ObserveAcknowledged } from '../webhooks/acknowledge.ts';
import { createServices, type Services } from './services.ts';

export type Composed = Omit<Data, 'firstCredentials' | 'firstStart'> & {
  readonly egress: Egress;
  readonly transport: Transport;
  readonly makeLargeBody: LargeBodies['make'];
  readonly formatOf: FormatOf;
  /** The address of the service, without a slash at its end; null if it is unknown: not configured, and it does not listen. */
  publicUrl(): string | null;
  /** The service listens at this address. */
  listensAt(address: string): void;
  readonly services: Services;
  readonly erasureWork: ErasureWork;
  readonly logWatch: LogWatch;
  readonly acknowledged: ObserveAcknowledged;
  /** Null once `credentialsShown` was called. If a start is interrupted before that, the next one has them again. */
  readonly firstCredentials: FirstCredentials | null;
  credentialsShown(): Promise<void>;
  /** Reports that there may be work to deliver. */
  wake(): void;
  /** Sets the listener. Without one, the server beside this process finds the work, or the erasure, without a call. */
  onWork(listener: WorkListener): void;
  close(): Promise<void>;
};

/** The notices of use cases to a server: for the dispatcher, and counts. */
type WorkListener = {
  wake(): void;
  recall(subject: string): void;
  readonly acknowledged?: ObserveAcknowledged;
};

export type ComposeOptions = {
  /** This process takes the lock of the data folder, as its one server does. */
  readonly exclusive: boolean;
  /**
   * Commits in threads, as a server does. Called once if one of them ends unexpectedly: from then on every write is refused, and only a
   * new process, or a new `compose`, writes again. Without it the event loop commits.
   */
  readonly onWriterEnd?: (error: Error) => void;
  /** The thread to commit in, if it is already started (`startDatabaseThread`). Null: the event loop commits, as in a command. */
  readonly databaseThread?: Worker | null | undefined;
  /** Make a new installation, even if the folder has lost its database. */
  readonly newInstallation?: boolean;
  readonly log: Log;
  /** The default is the system's clock. */
  readonly clock?: Clock;
};

/** Opens the data folder and creates the use cases. Throws `ConfigurationError` or `DataFolderError`. */
export async function compose(config: Config, options: ComposeOptions): Promise<Composed> {
  const { log, onWriterEnd, databaseThread: thread } = options;
  const inThread = onWriterEnd !== undefined && thread !== null;
  const egress: Egress = {
    operator: { allow: config.egressAllow },
    customers: { allow: config.customerEgressAllow, isForCustomers: true },
  };
  const transport = openTransport(config, egress);
  const { firstCredentials, firstStart, ...data } = await openData(config, {
    ...options,
    ...(inThread ? { writerThread: { ...threadEvents(log, onWriterEnd), thread } } : {}),
  });
  const largeBodies = createLargeBodies({
    source: data.storage.source,
    onFault: (err) => log.error({ err }, 'the thread that makes large bodies failed'),
    onCannotGiveWay: (err) =>
      log.warn({ err }, 'the system does not let the thread that makes large bodies give way to calls (setpriority)'),
  });
  let listener: WorkListener | null = null;
  let address: string | null = null;
  const publicUrl = (): string | null => (config.publicUrl ?? address)?.replace(/\/$/, '') ?? null;
  const formatOf = createFormatOf({ ...data, publicUrl });
  const { signals } = data.storage;
  const logWatch = createLogWatch(data.store.pulls.ends);
  const wake = (): void => {
    listener?.wake();
    logWatch.wake();
    signals?.work();
  };
  const recall = (subject: string): void => listener?.recall(subject);
  const acknowledged: ObserveAcknowledged = (id, records) => listener?.acknowledged?.(id, records);
  const close = async (): Promise<void> => {
    await transport.close();
    await largeBodies.close();
    await writeUsage(data.store.usage).catch((err: unknown) =>
      log.error({ err }, 'the last usage could not be written'),
    );
    await data.close();
  };
  try {
    const erasures = createErasures({ ...data, log, recall });
    const beside = { egress, transport, log, wake, erasures, logWatch, acknowledged };
    const services = createServices({ ...data, ...beside, formatOf, publicUrl });
    await services.products.refresh();
    const credentials =
      options.exclusive && firstStart ? await makeFirstCredentials({ ...data, firstCredentials }) : null;
    if (credentials !== null) log.info({ dataDir: data.dataDir }, 'first start: made the first credentials');
    return {
      ...data,
      egress,
      transport,
      makeLargeBody: largeBodies.make,
      formatOf,
      publicUrl,
      listensAt: (url) => {
        address = url;
      },
      services,
      erasureWork: erasures,
      logWatch,
      acknowledged,
      firstCredentials: credentials,
      credentialsShown: () => firstCredentials.forget(),
      wake,
      onWork: (next) => {
        listener = next;
        signals?.onWork(() => {
          next.wake();
          logWatch.wake();
        });
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function threadEvents(log: Log, onWriterEnd: (error: Error) => void): ThreadEvents {
  return {
    onEnd: (err) => {
      log.error({ err }, 'a thread of the database ended: nothing more can be written');
      onWriterEnd(err);
    },
    onCheckpointFailure: (err) => log.error({ err }, 'the log could not be copied into the database; writing goes on'),
  };
}

function openTransport({ caFile, egressProxy, dataDir }: Config, egress: Egress): Transport {
  const caPem = caFile === null ? null : readSettingFile('caFile', caFile);
  try {
    if (caPem !== null) readAuthorities(caPem);
  } catch (cause) {
    throw new ConfigurationError(`SALLYPORT_CA_FILE: ${caFile}: ${(cause as Error).message}`, { cause });
  }
  const receivers = announcedReceivers(dataDir);
  const developmentReceiver = (port: number): string | null => receivers(port, Date.now());
  return createTransport({ egress, caPem, proxyUrl: egressProxy?.reveal() ?? null, developmentReceiver });
}
