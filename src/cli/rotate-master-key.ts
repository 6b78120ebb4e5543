/** `sallyport rotate-master-key`: encrypts every secret with a new master key. The server must be stopped. */
import { COMMAND_LINE } from '../resources/acting.ts';
import type { CommandGroup } from './command.ts';
import { DATA_SETTINGS } from './open.ts';

/** The command keeps no copy of the old key: if the key leaked, the copy would be the leak. */
const OLDER_BACKUPS =
  'The old key was deleted. Older backups cannot be restored without it. Make a new backup: sallyport backup <file>';

export const rotateMasterKeyCommands: CommandGroup = [
  {
    name: 'rotate-master-key',
    summary: 'Replace the key that encrypts the stored secrets',
    examples: ['sallyport rotate-master-key'],
    explanation:
      'Stop the server first. Encrypts everything again in one transaction; if it is interrupted, the next start finishes it.\nOlder backups need the old key, which is deleted: copy it first if you want to keep them.',
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const config = await invocation.config();
      const [{ masterKeyPath }, { openFolder, requireDatabase }, { rotateMasterKey }] = await Promise.all([
        import('../data/data.ts'),
        import('../data/data-folder.ts'),
        import('../data/rotation.ts'),
      ]);
      requireDatabase(config);
      const data = await openFolder(config, { exclusive: true });
      try {
        const { ids, clock } = data;
        const resealed = await rotateMasterKey({
          ...data,
          path: masterKeyPath(config),
          audit: {
            id: ids.uuid(),
            at: clock(),
            actor: COMMAND_LINE.actor,
            action: 'master-key.rotate',
            target: 'master-key:1',
            changes: { key: { from: '[secret]', to: '[secret]' } },
          },
        });
        const { terminal, json } = invocation;
        const told = `${resealed} ${resealed === 1 ? 'row is' : 'rows are'} encrypted with the new key in ${masterKeyPath(config)}.\n${OLDER_BACKUPS}\n`;
        await terminal.out(json ? `${JSON.stringify({ resealed })}\n` : told);
        return 0;
      } finally {
        await data.close();
      }
    },
  },
];
