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
      'An empty data folder is set up as by sallyport init. SIGTERM or SIGINT finishes what is in flight (10 s); a second\none ends at once. With --json one line of JSON says where it listens, and the credentials of a first start.',
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
  const shown = credentials === null ? '' : `\n${firstCredentialsText(credentials)}`;
  return terminal.out(`Sallyport ${VERSION} listens on ${url}\n${shown}`);
}

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once, as it would have without us. */
function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    const signals = ['SIGTERM', 'SIGINT'] as const;
    const caught = (): void => {
      for (const signal of signals) process.off(signal, caught);
      resolve();
    };
    for (const signal of signals) process.on(signal, caught);
  });
}

/** An address that cannot be listened on is the operator's to mend, unlike a fault. */
function refusedAddress(error: unknown): CommandError | null {
  const { syscall, message } = error as NodeJS.ErrnoException;
  const isAddress = syscall === 'listen' || syscall === 'getaddrinfo' || syscall === 'bind';
  return isAddress ? new CommandError(`cannot serve: ${message}`, { cause: error }) : null;
}
