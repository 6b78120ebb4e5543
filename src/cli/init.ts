/** `sallyport init`. */
import type { CommandGroup } from './command.ts';
import { CommandError } from './errors.ts';
import { firstCredentialsText } from './first-credentials.ts';
import { DATA_SETTINGS } from './open.ts';

export const initCommands: CommandGroup = [
  {
    name: 'init',
    summary: 'Make the data folder and the first credentials',
    explanation:
      'Makes the database, the master key, an administrator, and an application with every administration scope,\nand prints their credentials, once. sallyport serve does the same on an empty data folder, but not\non one that has lost its database.',
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const config = await invocation.config();
      const [{ compose }, { createLog }] = await Promise.all([import('../compose.ts'), import('../observe/log.ts')]);
      const composed = await compose(config, { exclusive: true, anew: true, log: createLog('warn') });
      try {
        const credentials = composed.firstCredentials;
        if (credentials === null) {
          throw new CommandError(`${config.dataDir} has had its first start: its credentials were shown then`);
        }
        const { terminal, json } = invocation;
        // Where it will be served is for `serve` to know: the link is made there, or by `sallyport user invite`.
        const text = json ? `${JSON.stringify(credentials)}\n` : firstCredentialsText(credentials, null);
        if (await terminal.out(text)) await composed.credentialsShown();
      } finally {
        await composed.close();
      }
      return 0;
    },
  },
];
