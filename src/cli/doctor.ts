/** `sallyport doctor`: looks for what is wrong before it hurts. Changes nothing and may run beside a server. */
import { SETTING_NAMES } from '../config/names.ts';
import type { CommandGroup } from './command.ts';
import { printable } from './output.ts';

export const doctorCommands: CommandGroup = [
  {
    name: 'doctor',
    summary: 'Check the data folder and the settings',
    explanation: 'Fails (exit status 1) when something is wrong; a warning is not. The whole database file is read.',
    options: {
      quiet: { description: 'Print only what is not ok: nothing where all is well, so that cron mails only then' },
    },
    settings: SETTING_NAMES,
    json: true,
    run: async (invocation) => {
      const config = await invocation.config();
      const [{ examineFiles }, { examineDatabase }] = await Promise.all([
        import('./doctor-files.ts'),
        import('./doctor-database.ts'),
      ]);
      const now = Date.now();
      const checks = [...(await examineFiles(config, now)), ...(await examineDatabase(config, now))];
      const healthy = checks.every(({ status }) => status !== 'problem');
      const shown = invocation.given('quiet') ? checks.filter(({ status }) => status !== 'ok') : checks;
      const lines = shown.map(({ check, status, detail }) => `${status.padEnd(7)}  ${check}: ${printable(detail)}\n`);
      const { terminal, json } = invocation;
      await terminal.out(json ? `${JSON.stringify({ ok: healthy, checks: shown })}\n` : lines.join(''));
      return healthy ? 0 : 1;
    },
  },
];
