/** `sallyport migrate`: brings the schema of a PostgreSQL database up to this version. */
import { dataPlace } from '../../config/config.ts';
import type { CommandGroup } from '../command.ts';
import { CommandError } from '../errors.ts';

export const migrateCommands: CommandGroup = [
  {
    name: 'migrate',
    summary: 'Migrate the schema of a PostgreSQL database to this version',
    examples: ['sallyport migrate --database-url postgres://sallyport@db.example/sallyport'],
    explanation:
      'Run it once after installing a new version, before starting instances of it. Instances of the ' +
      'version before may run during the migration and\nkeep running. Of several at the same time, one ' +
      'migrates. In an empty database it creates the schema. An SQLite database is\nmigrated by sallyport ' +
      'serve.',
    settings: ['databaseUrl'],
    json: true,
    run: async ({ config: readConfig, terminal, json }) => {
      const config = await readConfig();
      if (config.databaseUrl === null) {
        throw new CommandError(
          'SALLYPORT_DATABASE_URL is not set: sallyport serve migrates an SQLite database when it starts',
        );
      }
      const { migrateDatabase } = await import('../../data/postgres.ts');
      const { from, to } = await migrateDatabase(config, Date.now());
      const place = dataPlace(config);
      const text =
        from === to
          ? `The schema of ${place} is up to date: version ${to}.\n`
          : from === null
            ? `The schema of ${place} was created: version ${to}.\n`
            : `The schema of ${place} was migrated from version ${from} to version ${to}.\n`;
      await terminal.out(json ? `${JSON.stringify({ from, to })}\n` : text);
      return 0;
    },
  },
];
