/** Commands work on the data folder itself, beside a server that may be running on it. */
import type { Composed } from '../compose.ts';
import type { SettingName } from '../config/names.ts';
import type { ExitCode, Invocation } from './command.ts';
import { CommandError } from './errors.ts';

/** Where the data is: what every command that works on it takes as flags. */
export const DATA_SETTINGS: readonly SettingName[] = ['dataDir', 'masterKeyFile'];
/** And at which address the server beside it is reached. */
export const ADDRESS_SETTINGS: readonly SettingName[] = [
  ...DATA_SETTINGS,
  ...(['publicUrl', 'host', 'port', 'tlsCertFile', 'tlsKeyFile'] as const),
];
/** And how to reach endpoints, for commands that do. */
export const OUTBOUND_SETTINGS: readonly SettingName[] = [...DATA_SETTINGS, 'caFile', 'egressAllow', 'egressProxy'];

/** Opens the folder, lets `work` use it, and closes it whatever happens. */
export async function withData(
  invocation: Invocation,
  work: (composed: Composed) => Promise<ExitCode>,
): Promise<ExitCode> {
  const config = await invocation.config();
  const [{ compose }, { createLog }] = await Promise.all([import('../compose.ts'), import('../observe/log.ts')]);
  const composed = await compose(config, { exclusive: false, log: createLog('warn') });
  try {
    return await work(composed);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { damageBehind } = await import('../data/data-folder.ts');
    throw damageBehind(error, composed.db);
  } finally {
    await composed.close();
  }
}
