/** `sallyport version`. */
import { VERSION } from '../kernel/version.ts';
import type { CommandGroup } from './command.ts';

export const versionCommands: CommandGroup = [
  {
    name: 'version',
    summary: 'Print the version',
    json: true,
    run: async ({ terminal, json }) => {
      await terminal.out(json ? `${JSON.stringify({ version: VERSION })}\n` : `${VERSION}\n`);
      return 0;
    },
  },
];
