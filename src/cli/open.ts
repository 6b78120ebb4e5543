/** Commands that work in the data folder, also while a server uses it. */

import { listeningUrl } from '../config/config.ts';
import { type Config, OUTBOUND_NAMES, type SettingName } from '../config/names.ts';
import type { Composed } from '../services/compose.ts';
import type { Command, ExitCode, Invocation } from './command.ts';
import { CommandError } from './errors.ts';
import type { Shown } from './output.ts';
import { printNamed } from './text/named-record.ts';

/** Where the data is. Every command on data accepts these as flags. */
export const DATA_SETTINGS: readonly SettingName[] = ['dataDir', 'masterKeyFile', 'databaseUrl'];
/** Also the address of the server. */
export const ADDRESS_SETTINGS: readonly SettingName[] = [
  ...DATA_SETTINGS,
  ...(['publicUrl', 'host', 'port', 'tlsCertFile', 'tlsKeyFile'] as const),
];
/** Also how to reach endpoints. */
export const OUTBOUND_SETTINGS: readonly SettingName[] = [...DATA_SETTINGS, ...OUTBOUND_NAMES];

export type RecordCommand = Omit<DataCommand, 'run' | 'json'> & {
  /** `note` is printed below the record for people; `status` is 0 if absent. */
  run(
    composed: Composed,
    invocation: Invocation,
  ): Promise<{ readonly record: Shown; readonly note?: string | undefined; readonly status?: ExitCode }>;
};

/** A command that works in the data folder and prints one record. */
export function recordCommand({ run, ...described }: RecordCommand): Command {
  return dataCommand({
    ...described,
    run: async (composed, invocation) => {
      const { record, note, status } = await run(composed, invocation);
      await printNamed(composed, invocation, record, note);
      return status;
    },
  });
}

type DataCommand = Omit<Command, 'run' | 'json'> & {
  /** Default: true. */
  readonly json?: boolean;
  /** Checks arguments before the data folder is opened. Throws `UsageError`. */
  check?(invocation: Invocation): void;
  /** Nothing: 0. */
  run(composed: Composed, invocation: Invocation): Promise<ExitCode | undefined>;
};

/** A command that works in the data folder. */
export function dataCommand({ settings = DATA_SETTINGS, json = true, check, run, ...described }: DataCommand): Command {
  return {
    ...described,
    settings,
    json,
    run: async (invocation) => {
      check?.(invocation);
      return (await withData(invocation, (composed) => run(composed, invocation))) ?? 0;
    },
  };
}

/** The settings of the server of the data folder if one runs, and otherwise those of the command's environment. Flags win. */
export async function configBesideServer({ config }: Invocation): Promise<Config> {
  const { besideServer } = await import('../data/announcements.ts');
  return besideServer(await config(), Date.now());
}

/** Throws `CommandError` for a PostgreSQL database, which has tools of its own for what the command does. */
export function requireFolder({ databaseUrl }: Config, command: string): void {
  if (databaseUrl === null) return;
  throw new CommandError(
    `${command} works on an SQLite data folder. Back up and restore a PostgreSQL database with pg_dump and ` +
      'pg_restore, or with base backups and point-in-time recovery, and keep a copy of the master key: see ' +
      'docs/how-to/run-on-postgresql.md',
  );
}

/** Opens the data folder for `work`, and always closes it afterwards. */
export async function withData<Result>(
  invocation: Invocation,
  work: (composed: Composed) => Promise<Result>,
): Promise<Result> {
  const config = await configBesideServer(invocation);
  const [{ compose }, { createLog }] = await Promise.all([
    import('../services/compose.ts'),
    import('../observe/log.ts'),
  ]);
  const composed = await compose(config, { exclusive: false, log: createLog('warn') });
  try {
    return await work(composed);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw composed.storage.explained(error);
  } finally {
    await composed.close();
  }
}

/** The address of the server, for links. Throws `CommandError` if the settings do not have it. */
export function serverAddress(config: Config): string {
  if (config.publicUrl === null && config.port === 0) {
    throw new CommandError('--public-url is required, or --port with the port of the server');
  }
  return config.publicUrl ?? listeningUrl(config, config.port);
}
