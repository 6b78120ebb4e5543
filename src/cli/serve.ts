/** `sallyport serve`: runs the service until a signal ends it. */
import { type Config, settingPrefix } from '../config/config.ts';
import { SETTING_NAMES } from '../config/names.ts';
import { WRITER_END_STOP_MS } from '../kernel/limits/database.ts';
import { DRAIN_MS } from '../kernel/limits/limits.ts';
import { VERSION } from '../kernel/version.ts';
import type { Sallyport } from '../sallyport.ts';
import type { CommandGroup, Invocation } from './command.ts';
import { CommandError } from './errors.ts';
import { firstSignal, leaveAtOnce } from './exit.ts';
import { firstCredentialsText } from './init.ts';

export const serveCommands: CommandGroup = [
  {
    name: 'serve',
    summary: 'Run the service',
    explanation: `Sets up an empty data folder as sallyport init does. SIGTERM or SIGINT stops the service after the requests in progress,\nwhich have ${DRAIN_MS / 1000} s; a second SIGINT stops it at once. SIGHUP reloads the TLS certificate and its key for new connections.\nWith --json, one line of JSON has the address and the credentials of a first start.`,
    settings: SETTING_NAMES,
    json: true,
    run: async (invocation) => {
      // First, so that an early signal is not lost.
      let renewRequested = false;
      let renew = (): void => {
        renewRequested = true;
      };
      const signalled = firstSignal(() => renew());
      const config = await invocation.config();
      const { createSallyport } = await import('../sallyport.ts');
      const sallyport = await createSallyport(config);
      let failure: unknown;
      try {
        const where = await sallyport.start();
        renew = sallyport.renewCertificate;
        if (renewRequested) renew();
        const { firstCredentials } = sallyport;
        const isRead = await announce(invocation, where, config.dataDir, sallyport);
        if (isRead && firstCredentials !== null) await sallyport.credentialsShown();
        failure = await Promise.race([signalled, sallyport.failed]);
      } catch (error) {
        await sallyport.stop();
        throw refusedAddress(config, error) ?? error;
      }
      if (failure instanceof Error) throw await stoppedBy(failure, sallyport);
      // The next start does the rest, so that the process ends in time.
      await sallyport.stop().catch(leaveAtOnce);
      return 0;
    },
  },
];

/** Lets requests under way be answered for a moment, and returns the error that is the last line of the log. */
async function stoppedBy(cause: Error, { stop }: Pick<Sallyport, 'stop'>): Promise<CommandError> {
  const patience = new Promise<void>((resolve) => setTimeout(resolve, WRITER_END_STOP_MS).unref());
  await Promise.race([stop().catch(() => {}), patience]);
  return new CommandError(
    `a thread of the database ended (${cause.message}), so the service stopped; nothing that was acknowledged is lost; systemd, Docker or npm start starts it again`,
    { cause },
  );
}

/** Prints the address and the first credentials. Returns whether somebody reads them. */
async function announce(
  { terminal, json }: Invocation,
  { url, address }: { readonly url: string; readonly address: string },
  dataDir: string,
  { firstCredentials: credentials, firstInvitation }: Pick<Sallyport, 'firstCredentials' | 'firstInvitation'>,
): Promise<boolean> {
  if (json) return terminal.out(`${JSON.stringify({ url, address, dataDir, ...credentials })}\n`);
  const known = url === address ? '' : ` (known as ${url})`;
  const listening = `Sallyport ${VERSION} listens on ${address}${known}\n`;
  if (credentials === null) return terminal.out(listening);
  // Lines for a person; for a program, the object of contract §6 on its own line.
  const shown = terminal.isInteractive
    ? firstCredentialsText(credentials, await firstInvitation())
    : `${JSON.stringify(credentials)}\n`;
  return terminal.out(`${listening}\n${shown}`);
}

/** The operator can fix an unusable address, so it is not an internal error. */
function refusedAddress(config: Config, error: unknown): CommandError | null {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const isAddress = syscall === 'listen' || syscall === 'getaddrinfo' || syscall === 'bind';
  if (!isAddress) return null;
  const setting = code === 'EADDRINUSE' || code === 'EACCES' ? 'port' : 'host';
  return new CommandError(`${settingPrefix(config, setting)}cannot serve: ${message}`, { cause: error });
}
