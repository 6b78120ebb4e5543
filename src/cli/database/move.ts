/** `sallyport move`: copies a data folder to PostgreSQL, or back. */
import { type Config, ConfigurationError, databaseName } from '../../config/config.ts';
import { readDatabaseUrl } from '../../config/values.ts';
import { masterKeyPath } from '../../data/data.ts';
import type { MoveProgress } from '../../data/move.ts';
import { moveFromPostgres, moveToPostgres } from '../../data/move-databases.ts';
import { COMMAND_LINE } from '../../domain/acting.ts';
import type { Secret } from '../../kernel/secret.ts';
import type { CommandGroup, Invocation } from '../command.ts';
import { UsageError } from '../errors.ts';
import { printRecord } from '../output.ts';

export const moveCommands: CommandGroup = [
  {
    name: 'move',
    summary: 'Copy a data folder to PostgreSQL, or back',
    examples: [
      'sallyport move --to postgres://sallyport@db.example/sallyport',
      'sallyport move --from postgres://sallyport@db.example/sallyport --data ./copy',
    ],
    explanation:
      'Stop the servers first. Copies everything into an empty database or an empty folder, compares every table ' +
      'with its source, and\nchanges nothing in the source. Ids, keys, hashes and encrypted secrets stay the ' +
      'same, and so does the master key. If it is\ninterrupted, run it again to continue. A target with an ' +
      'unfinished move cannot be used for anything else.',
    options: {
      to: { value: '<url>', description: 'Copy the data folder to this PostgreSQL database' },
      from: { value: '<url>', description: 'Copy this PostgreSQL database into the data folder' },
    },
    settings: ['dataDir', 'masterKeyFile'],
    json: true,
    run: async (invocation) => {
      const [to, from] = [invocation.text('to'), invocation.text('from')];
      if ((to === undefined) === (from === undefined)) throw new UsageError('Give either --to or --from', 'move');
      const url = to === undefined ? readUrl('from', from ?? '') : readUrl('to', to);
      const config: Config = { ...(await invocation.config()), databaseUrl: url };
      const move = to === undefined ? moveFromPostgres : moveToPostgres;
      const report = reporter(invocation);
      const { rows, ...ends } = await move({ config, acting: COMMAND_LINE, now: Date.now(), report });
      const all = Object.values(rows).reduce((sum, count) => sum + count, 0);
      const shown = invocation.json ? { ...ends, rows: all, tables: rows } : { ...ends, rows: all };
      await printRecord(invocation, shown, to === undefined ? noteOfFolder(config) : noteOfDatabase(config, url));
      return 0;
    },
  },
];

function readUrl(option: string, text: string): Secret {
  const reading = readDatabaseUrl(text);
  if (reading.ok) return reading.value;
  throw new ConfigurationError(`--${option} ${reading.problem}`);
}

const REPORT_EVERY_MS = 2000;

/** Reports a large table now and then while it is copied, and every table that was compared. */
function reporter({ terminal }: Invocation): (progress: MoveProgress) => void {
  let reportedAt = performance.now();
  return ({ table, rows, step }) => {
    const now = performance.now();
    if (step === 'copied' && now - reportedAt < REPORT_EVERY_MS) return;
    reportedAt = now;
    void terminal.err(`${table}: ${rows} ${rows === 1 ? 'row' : 'rows'} ${step}\n`);
  };
}

function noteOfDatabase(config: Config, url: Secret): string {
  return `Everything is in ${databaseName(url)}. Start the instances with SALLYPORT_DATABASE_URL and with a copy of the master key
${masterKeyPath(config)}. The data folder was not changed; never serve it again, because receivers would get its events twice.`;
}

function noteOfFolder(config: Config): string {
  return `Everything is in ${config.dataDir}. To open it, put a copy of the master key of the instances at ${masterKeyPath(config)}.
Do not serve it beside the instances: receivers would get its events twice. The database was not changed.`;
}
