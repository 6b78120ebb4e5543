/** `sallyport serve`: runs the service until a signal ends it. */
import type { Worker } from 'node:worker_threads';
import { type Config, settingPrefix } from '../config/config.ts';
import { SETTING_NAMES } from '../config/names.ts';
import { DRAIN_MS } from '../delivery/limits.ts';
import { storeCompiledCode } from '../kernel/compiled-code.ts';
import type { Log } from '../kernel/log.ts';
import { VERSION } from '../kernel/version.ts';
import { standardError } from '../observe/log-destination.ts';
import type { Sallyport } from '../open.ts';
import type { CommandGroup, Invocation } from './command.ts';
import { CommandError, cannotListen } from './errors.ts';
import { leaveAtOnce } from './exit.ts';
import { firstCredentialsText, invitationText } from './init.ts';
import { dataOption } from './text/program-name.ts';

/** How long a service whose database thread ended waits for its requests to be answered before it exits. */
const WRITER_END_STOP_MS = 1000;

export const serveCommands: CommandGroup = [
  {
    name: 'serve',
    summary: 'Run the service',
    examples: [
      'sallyport serve',
      'sallyport serve --data /var/lib/sallyport --host 0.0.0.0 --public-url https://api.example.com',
    ],
    explanation:
      'Sets up an empty data folder as sallyport init does. SIGTERM or SIGINT stops the service after the ' +
      `requests in progress,\nwhich have ${DRAIN_MS / 1000} s; a second SIGINT stops it immediately. SIGHUP ` +
      'reloads the TLS certificate and its key for new connections.\nWith --json, one line of JSON has the ' +
      'address and the credentials of a first start.',
    settings: SETTING_NAMES,
    json: true,
    run: async (invocation) => {
      // First, so that an early signal is not lost.
      let renewRequested = false;
      let renew = (): void => {
        renewRequested = true;
      };
      const signalled = invocation.terminal.firstSignal(() => renew());
      const config = await invocation.config();
      const sallyport = await opened(invocation, config);
      let failure: unknown;
      try {
        const where = await sallyport.start();
        renew = sallyport.renewCertificate;
        if (renewRequested) renew();
        storeCompiledCode();
        const { firstCredentials } = sallyport;
        const isRead = await announce(invocation, where, config, sallyport);
        if (isRead && firstCredentials !== null) await sallyport.credentialsShown();
        failure = await Promise.race([signalled, sallyport.failed]);
      } catch (error) {
        await sallyport.stop();
        throw refusedAddress(config, error, invocation.terminal.env.npm_lifecycle_event === 'start') ?? error;
      }
      if (failure instanceof Error) throw await stoppedBy(failure, sallyport);
      // The next start does the rest, so that the process ends in time.
      await sallyport.stop().catch(leaveAtOnce);
      return 0;
    },
  },
];

async function opened(invocation: Invocation, config: Config): Promise<Sallyport> {
  const databaseThread = await databaseThreadOf(config);
  try {
    const { openSallyport } = await import('../open.ts');
    return (await openSallyport(config, { log: await logOf(invocation, config), databaseThread })).sallyport;
  } catch (error) {
    // It would stay if the process goes on, as a test does.
    void databaseThread?.terminate();
    throw error;
  }
}

/** The thread that writes an SQLite database, started before the rest of the program is loaded. */
async function databaseThreadOf({ databaseUrl }: Config): Promise<Worker | undefined> {
  if (databaseUrl !== null) return undefined;
  const { startDatabaseThread } = await import('../store/sqlite/driver/thread-writer.ts');
  return startDatabaseThread();
}

/** JSON lines. For a person at a terminal, text without requests unless a level is set. */
async function logOf({ terminal, text }: Invocation, { logLevel }: Config): Promise<Log> {
  const [{ createLog }, { humanLog }] = await Promise.all([import('../observe/log.ts'), import('./terminal.ts')]);
  if (!terminal.isErrorInteractive) return createLog(logLevel);
  const isSet = text('log-level') !== undefined || (terminal.env.SALLYPORT_LOG_LEVEL ?? '') !== '';
  return createLog(isSet ? logLevel : 'warn', humanLog(standardError));
}

/** Waits a moment for the replies to current requests, and returns the error that is the last line of the log. */
async function stoppedBy(cause: Error, { stop }: Pick<Sallyport, 'stop'>): Promise<CommandError> {
  const patience = new Promise<void>((resolve) => setTimeout(resolve, WRITER_END_STOP_MS).unref());
  await Promise.race([stop().catch(() => {}), patience]);
  return new CommandError(
    `a thread of the database ended (${cause.message}), so the service stopped; nothing that was acknowledged is ` +
      'lost; systemd, Docker or npm start starts it again',
    { cause },
  );
}

/** Prints the address and the first credentials. Returns whether someone reads them. */
async function announce(
  { terminal, json }: Invocation,
  { url, address }: { readonly url: string; readonly address: string },
  config: Config,
  { firstCredentials: credentials, firstInvitation }: Pick<Sallyport, 'firstCredentials' | 'firstInvitation'>,
): Promise<boolean> {
  if (json) return terminal.out(`${JSON.stringify({ url, address, dataDir: config.dataDir, ...credentials })}\n`);
  const known = url === address ? '' : ` (known as ${url})`;
  const listening = `Sallyport ${VERSION} listens on ${address}${known}\n`;
  if (terminal.isInteractive) {
    const first =
      credentials === null
        ? ''
        : `\n${firstCredentialsText(config, credentials, local(await firstInvitation()), terminal)}`;
    const option = dataOption(config, process.cwd());
    const tryOut = `${terminal.program()} listen --register --event order.created${option}`;
    return terminal.out(`${listening}${first}${nextSteps(local(url), tryOut)}`);
  }
  if (credentials === null) return terminal.out(listening);
  // For a program, the object of contract §6.2 on its own line.
  const invitation = invitationText(local(await firstInvitation()), terminal);
  return terminal.out(`${listening}\n${JSON.stringify(credentials)}\n${invitation}`);
}

/** With the name of this machine in place of its address, because browsers allow passkeys only for names. */
function local<T extends string | null>(url: T): T {
  return (url === null ? null : url.replace(/^(https?:\/\/)(?:127\.0\.0\.1|\[::1\])(?=[:/]|$)/, '$1localhost')) as T;
}

function nextSteps(url: string, tryOut: string): string {
  return `
The portal:      ${url}/
Try a delivery:  ${tryOut}
Ctrl-C stops the service.
`;
}

/** The operator can fix an unusable address, so it is not an internal error. */
function refusedAddress(config: Config, error: unknown, isNpmStart: boolean): CommandError | null {
  const { code, syscall } = error as NodeJS.ErrnoException;
  const isAddress = syscall === 'listen' || syscall === 'getaddrinfo' || syscall === 'bind';
  if (!isAddress) return null;
  const setting = code === 'EADDRINUSE' || code === 'EACCES' ? 'port' : 'host';
  return cannotListen(error, settingPrefix(config, setting), config.port, isNpmStart);
}
