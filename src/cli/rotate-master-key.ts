/** `sallyport rotate-master-key`: seals every secret under a new master key. The server must be stopped meanwhile. */
import { COMMAND_LINE } from '../resources/acting.ts';
import type { CommandGroup } from './command.ts';
import { DATA_SETTINGS } from './open.ts';

/** Nobody keeps it here: where the key leaked, its copy would be the leak. */
const OLDER_BACKUPS =
  'The old key is gone from here. Backups made before need it and cannot be restored without; make a new one: sallyport backup <file>';

export const rotateMasterKeyCommands: CommandGroup = [
  {
    name: 'rotate-master-key',
    summary: 'Replace the key that secrets are sealed under',
    explanation:
      'Stop the server first. Everything is sealed anew in one transaction; if it is cut short, the next start finishes it.\nNo copy of the old key is kept here, and backups made before need it: where they shall remain of use, copy it first.',
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const config = await invocation.config();
      const [{ openData, masterKeyPath, requireDatabase }, { rotateMasterKey }] = await Promise.all([
        import('../data/data-folder.ts'),
        import('../data/rotation.ts'),
      ]);
      requireDatabase(config);
      const data = await openData(config, { exclusive: true });
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
        const told = `${resealed} ${resealed === 1 ? 'row is' : 'rows are'} sealed under the new key in ${masterKeyPath(config)}.\n${OLDER_BACKUPS}\n`;
        await terminal.out(json ? `${JSON.stringify({ resealed })}\n` : told);
        return 0;
      } finally {
        await data.close();
      }
    },
  },
];
