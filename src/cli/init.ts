/** `sallyport init`, and how the first credentials are shown. */
import { INVITATION_MS } from '../access/limits.ts';
import { type Config, dataPlace } from '../config/config.ts';
import { type FirstCredentials, masterKeyPath } from '../data/data.ts';
import type { CommandGroup } from './command.ts';
import { CommandError } from './errors.ts';
import { DATA_SETTINGS } from './open.ts';
import { recordText } from './output.ts';
import type { Terminal } from './terminal.ts';

export const initCommands: CommandGroup = [
  {
    name: 'init',
    summary: 'Create the data folder and the first credentials',
    examples: ['sallyport init', 'sallyport init --data /var/lib/sallyport --json'],
    explanation:
      'Creates the database, the master key, an administrator, and an application with every administration ' +
      'scope, and prints\ntheir credentials once. sallyport serve does the same in an empty data folder, but not ' +
      'in one that has lost its database.',
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const config = await invocation.config();
      const [{ compose }, { createLog }] = await Promise.all([
        import('../services/compose.ts'),
        import('../observe/log.ts'),
      ]);
      const composed = await compose(config, { exclusive: true, newInstallation: true, log: createLog('warn') });
      try {
        const credentials = composed.firstCredentials;
        if (credentials === null) {
          throw new CommandError(`${dataPlace(config)} is already initialised, and its credentials were shown then`);
        }
        const { terminal, json } = invocation;
        // Without an invitation link: only `serve` and `sallyport user invite` know the address.
        const text = json
          ? `${JSON.stringify(credentials)}\n`
          : firstCredentialsText(config, credentials, null, terminal);
        if (await terminal.out(text)) await composed.credentialsShown();
      } finally {
        await composed.close();
      }
      return 0;
    },
  },
];

/** The first credentials for a person. `invitation`: the link by which the administrator sets a password, if any. */
export function firstCredentialsText(
  config: Config,
  credentials: FirstCredentials,
  invitation: string | null,
  terminal: Pick<Terminal, 'program'>,
): string {
  const place =
    config.databaseUrl === null
      ? `The data is in ${config.dataDir}.`
      : `The data is in the database ${dataPlace(config)}. Every further instance needs a copy of the master key ${masterKeyPath(config)}.`;
  return `${place} These credentials are shown only once:

${recordText({
  administrator: credentials.adminUserName,
  password: credentials.adminPassword,
  'client id': credentials.clientId,
  'client secret': credentials.clientSecret,
})}${invitationText(invitation, terminal)}`;
}

/** Empty without a link. */
export function invitationText(invitation: string | null, { program }: Pick<Terminal, 'program'>): string {
  if (invitation === null) return '';
  return `
Open this link to choose your own password and sign in to the portal. It works once, for ${INVITATION_MS / 3_600_000} hours
(${program()} user invite admin makes another):

  ${invitation}
`;
}
