/** `sallyport audit …`: whether the audit log is as it was written. */
import { databasePath, requireDatabase } from '../data/data-folder.ts';
import { headText, parseHead } from '../store/audit.ts';
import { auditStore } from '../store/sqlite/audit.ts';
import { openSqlite } from '../store/sqlite/driver/sqlite.ts';
import type { CommandGroup } from './command.ts';
import { CommandError, UsageError } from './errors.ts';
import { printRecord } from './output.ts';

export const auditCommands: CommandGroup = [
  {
    name: 'audit verify',
    summary: 'Check that no entry of the audit log was changed or removed',
    explanation:
      'Reads the whole chain of entries and prints its head. Entries that were cut from the end leave a chain that is whole:\nonly a head that was kept elsewhere shows it. The service logs its head ("audit log head") once an hour and at a stop.',
    options: {
      head: {
        value: '<entries:hash>',
        description: 'A head from before: the log must still have the entry that it names',
      },
    },
    settings: ['dataDir'],
    json: true,
    run: async (invocation) => {
      const text = invocation.text('head');
      const wanted = text === undefined ? null : parseHead(text);
      if (text !== undefined && wanted === null) {
        throw new UsageError(
          '--head is not a head: the number of entries, a colon and 64 hexadecimal digits',
          'audit verify',
        );
      }
      const config = await invocation.config();
      requireDatabase(config);
      const db = openSqlite(databasePath(config), { readOnly: true });
      try {
        const audit = auditStore(db);
        const broken = await audit.firstBroken();
        if (broken !== null)
          throw new CommandError(`entry ${broken} of the audit log or the one before it was changed or removed`);
        const head = await audit.head();
        if (wanted !== null && !(await audit.hasHead(wanted))) {
          const now = head === null ? 'is empty' : `ends with ${headText(head)}`;
          throw new CommandError(
            `the audit log does not have the entry ${headText(wanted)}: entries were removed from its end or replaced since (it ${now})`,
          );
        }
        const record = { entries: head?.entries ?? 0, head: head === null ? null : headText(head) };
        await printRecord(
          invocation,
          record,
          wanted === null
            ? 'The chain is whole. Whether entries are missing at its end only an earlier head shows: --head'
            : 'The chain is whole, and has the entry that --head names.',
        );
        return 0;
      } finally {
        await db.close();
      }
    },
  },
];
