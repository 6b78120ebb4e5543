/** `sallyport rotate-master-key`: encrypts every secret with a new master key. No server may run. */

import { dirname } from 'node:path';
import { type Config, dataPlace } from '../config/config.ts';
import type { Data } from '../data/data.ts';
import { COMMAND_LINE } from '../domain/acting.ts';
import { auditEntry } from '../domain/audit.ts';
import type { CommandGroup } from './command.ts';
import { CommandError } from './errors.ts';
import { DATA_SETTINGS } from './open.ts';

/** The command keeps no copy of the old key: if the key leaked, the copy would be the leak. */
const OLDER_BACKUPS =
  'The old key was deleted. Older backups cannot be restored without it. Make a new backup: sallyport backup <file>';
const OTHER_INSTANCES =
  'The old key was deleted. Copy the new one to every other instance before you start it. Older backups cannot ' +
  'be used without the\nold key: make a new one.';

export const rotateMasterKeyCommands: CommandGroup = [
  {
    name: 'rotate-master-key',
    summary: 'Replace the key that encrypts the stored secrets',
    examples: ['sallyport rotate-master-key'],
    explanation:
      'Stop the server first; on PostgreSQL, all instances. Encrypts everything again in one transaction; if it ' +
      'is interrupted, the next\nstart finishes it. Older backups need the old key, which is deleted: copy it ' +
      'first if you want to keep them.',
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const config = await invocation.config();
      const [{ masterKeyPath }, { rotateMasterKey }] = await Promise.all([
        import('../data/data.ts'),
        import('../data/rotation.ts'),
      ]);
      const data = await openAlone(config);
      try {
        const { ids, clock } = data;
        const resealed = await rotateMasterKey({
          ...data,
          path: masterKeyPath(config),
          audit: auditEntry(ids, COMMAND_LINE.actor, 'master-key.rotate', 'master-key:1', {
            at: clock(),
            changes: { key: { from: '[secret]', to: '[secret]' } },
          }),
        });
        const { terminal, json } = invocation;
        const next = config.databaseUrl === null ? OLDER_BACKUPS : OTHER_INSTANCES;
        const text =
          `${resealed} ${resealed === 1 ? 'row is' : 'rows are'} encrypted with the new key in ` +
          `${masterKeyPath(config)}.\n${next}\n`;
        await terminal.out(json ? `${JSON.stringify({ resealed })}\n` : text);
        return 0;
      } finally {
        await data.close();
      }
    },
  },
];

/** Opens the data while no server uses it: a server would go on with the old key. */
async function openAlone(config: Config): Promise<Pick<Data, 'db' | 'vault' | 'random' | 'ids' | 'clock' | 'close'>> {
  if (config.databaseUrl === null) {
    const { openFolder, requireDatabase } = await import('../data/data-folder.ts');
    requireDatabase(config);
    return openFolder(config, { exclusive: true });
  }
  const [{ masterKeyPath }, { openData }, { lockFolder }] = await Promise.all([
    import('../data/data.ts'),
    import('../data/open.ts'),
    import('../data/folder-lock.ts'),
  ]);
  const data = await openData(config, { exclusive: false });
  try {
    const alive = ((await data.store.instances?.list()) ?? []).filter((instance) => instance.alive);
    if (alive.length > 0) {
      const names = alive.map(({ number, name }) => `${number} (${name})`).join(', ');
      throw new CommandError(`stop all instances of ${dataPlace(config)} first; still running: ${names}`);
    }
    // Two rotations with the same key file would overwrite each other's new key.
    const lock = lockFolder(dirname(masterKeyPath(config)));
    if (lock === null) throw new CommandError('another rotation of the master key is running');
    return {
      ...data,
      close: async () => {
        await data.close();
        lock.release();
      },
    };
  } catch (error) {
    await data.close();
    throw error;
  }
}
