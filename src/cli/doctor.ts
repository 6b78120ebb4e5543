/** `sallyport doctor`: finds problems early. Changes nothing, and may run next to a server. */
import { type Config, SETTING_NAMES } from '../config/names.ts';
import type { CommandGroup } from './command.ts';
import type { Finding } from './doctor/finding.ts';
import { escapeControls } from './output.ts';

export const doctorCommands: CommandGroup = [
  {
    name: 'doctor',
    summary: 'Check the data folder or the database, and the settings',
    examples: ['sallyport doctor', 'sallyport doctor --quiet'],
    explanation:
      'Fails (exit status 1) if there is a problem, but not for a warning. Reads the whole SQLite file; on ' +
      'PostgreSQL it reads\ntables for at most a minute, and checks privileges, locks, the server, its ' +
      'replication and what keeps it from removing old rows.',
    options: {
      quiet: { description: 'Print only warnings and problems, so that cron sends mail only then' },
    },
    settings: SETTING_NAMES,
    json: true,
    run: async (invocation) => {
      const config = await invocation.config();
      const { examineFiles } = await import('./doctor/files.ts');
      const now = Date.now();
      const checks = [...(await examineFiles(config, now)), ...(await examineDatabase(config, now))];
      const healthy = checks.every(({ status }) => status !== 'problem');
      const shown = invocation.given('quiet') ? checks.filter(({ status }) => status !== 'ok') : checks;
      const lines = shown.map(
        ({ check, status, detail }) => `${status.padEnd(7)}  ${check}: ${escapeControls(detail)}\n`,
      );
      const { terminal, json } = invocation;
      await terminal.out(json ? `${JSON.stringify({ ok: healthy, checks: shown })}\n` : lines.join(''));
      return healthy ? 0 : 1;
    },
  },
];

async function examineDatabase(config: Config, now: number): Promise<Finding[]> {
  if (config.databaseUrl === null) return (await import('./doctor/sqlite.ts')).examineSqlite(config, now);
  return (await import('./doctor/postgres.ts')).examinePostgres(config, now);
}
