/** `sallyport serve`: the service, until a signal ends it. */
import { SETTING_NAMES } from '../config-names.ts';
import type { FirstCredentials } from '../data-folder.ts';
import { VERSION } from '../version.ts';
import { CommandError, type CommandGroup, type Invocation } from './command.ts';
import { firstCredentialsText } from './first-credentials.ts';

export const serveCommands: CommandGroup = [
  {
    name: 'serve',
    summary: 'Run the service',
    explanation:
      'An empty data folder is set up as by sallyport init. SIGTERM or SIGINT finishes what is in flight (10 s); a second\nSIGINT ends at once. With --json one line of JSON says where it listens, and the credentials of a first start.',
    settings: SETTING_NAMES,
    json: true,
    run: async (invocation) => {
      // Before anything is made, so that a signal that comes early is not lost.
      const signalled = firstSignal();
      const config = await invocation.config();
      const { createSallyport } = await import('../sallyport.ts');
      const sallyport = await createSallyport(config);
      try {
        const { url } = await sallyport.start();
        const { firstCredentials } = sallyport;
        const isRead = await announce(invocation, url, config.dataDir, firstCredentials);
        if (isRead && firstCredentials !== null) await sallyport.credentialsShown();
        await signalled;
      } catch (error) {
        await sallyport.stop();
        throw refusedAddress(error) ?? error;
      }
      await sallyport.stop();
      return 0;
    },
  },
];

/** Answers whether somebody reads it. */
async function announce(
  { terminal, json }: Invocation,
  url: string,
  dataDir: string,
  credentials: FirstCredentials | null,
): Promise<boolean> {
  if (json) return terminal.out(`${JSON.stringify({ url, dataDir, ...credentials })}\n`);
  const listening = `Sallyport ${VERSION} listens on ${url}\n`;
  if (credentials === null) return terminal.out(listening);
  // A person gets lines to read; a program that reads this, the object of wire.md §6 on a line of its own.
  const shown = terminal.isInteractive ? firstCredentialsText(credentials) : `${JSON.stringify(credentials)}\n`;
  return terminal.out(`${listening}\n${shown}`);
}

/**
 * Resolves at the first SIGTERM or SIGINT. A SIGINT that comes later ends the process at once, as it would have without us: it is
 * a person who will not wait. One that comes with the first is the same signal, sent to a whole group of processes and passed on
 * by a parent too, as service managers and npm do; a SIGTERM never cuts a stop short.
 */
function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    let firstAt: number | null = null;
    const caught = (signal: NodeJS.Signals): void => {
      firstAt ??= performance.now();
      if (signal === 'SIGINT' && performance.now() - firstAt > SAME_SIGNAL_MS) process.exit(INTERRUPTED);
      resolve();
    };
    process.on('SIGTERM', caught);
    process.on('SIGINT', caught);
  });
}

/** Two signals within this time are one. */
const SAME_SIGNAL_MS = 500;
/** What a shell reports of a process that SIGINT ended. */
const INTERRUPTED = 130;

/** An address that cannot be listened on is the operator's to mend, unlike a fault. */
function refusedAddress(error: unknown): CommandError | null {
  const { syscall, message } = error as NodeJS.ErrnoException;
  const isAddress = syscall === 'listen' || syscall === 'getaddrinfo' || syscall === 'bind';
  return isAddress ? new CommandError(`cannot serve: ${message}`, { cause: error }) : null;
}
