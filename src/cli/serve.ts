/** `sallyport serve`: the service, until a signal ends it. */
import { type Config, settingPrefix } from '../config/config.ts';
import { SETTING_NAMES } from '../config/names.ts';
import { VERSION } from '../kernel/version.ts';
import type { Sallyport } from '../sallyport.ts';
import type { CommandGroup, Invocation } from './command.ts';
import { CommandError } from './errors.ts';
import { firstCredentialsText } from './first-credentials.ts';
import { leaveAtOnce } from './leave.ts';
import { firstSignal } from './signal.ts';

export const serveCommands: CommandGroup = [
  {
    name: 'serve',
    summary: 'Run the service',
    explanation:
      'An empty data folder is set up as by sallyport init. SIGTERM or SIGINT finishes what is in flight (8 s); a second\nSIGINT ends at once. SIGHUP has the certificate and its key read again, for connections from then on.\nWith --json one line of JSON says where it listens, and the credentials of a first start.',
    settings: SETTING_NAMES,
    json: true,
    run: async (invocation) => {
      // Before anything is made, so that a signal that comes early is not lost.
      let isAskedToRenew = false;
      let renew = (): void => {
        isAskedToRenew = true;
      };
      const signalled = firstSignal(() => renew());
      const config = await invocation.config();
      const { createSallyport } = await import('../sallyport.ts');
      const sallyport = await createSallyport(config);
      try {
        const where = await sallyport.start();
        renew = sallyport.renewCertificate;
        if (isAskedToRenew) renew();
        const { firstCredentials } = sallyport;
        const isRead = await announce(invocation, where, config.dataDir, sallyport);
        if (isRead && firstCredentials !== null) await sallyport.credentialsShown();
        await signalled;
      } catch (error) {
        await sallyport.stop();
        throw refusedAddress(config, error) ?? error;
      }
      // What is not done by now is left to the next start, and the process ends in time.
      await sallyport.stop().catch(leaveAtOnce);
      return 0;
    },
  },
];

/** Answers whether somebody reads it. */
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
  // A person gets lines to read; a program that reads this, the object of contract §6 on a line of its own.
  const shown = terminal.isInteractive
    ? firstCredentialsText(credentials, await firstInvitation())
    : `${JSON.stringify(credentials)}\n`;
  return terminal.out(`${listening}\n${shown}`);
}

/** An address that cannot be listened on is the operator's to mend, unlike a fault. */
function refusedAddress(config: Config, error: unknown): CommandError | null {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const isAddress = syscall === 'listen' || syscall === 'getaddrinfo' || syscall === 'bind';
  if (!isAddress) return null;
  const setting = code === 'EADDRINUSE' || code === 'EACCES' ? 'port' : 'host';
  return new CommandError(`${settingPrefix(config, setting)}cannot serve: ${message}`, { cause: error });
}
