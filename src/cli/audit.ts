/** `sallyport audit …`: checks the audit log. */
import { openToRead } from '../data/open.ts';
import { headText, parseHead } from '../store/port/audit.ts';
import { auditStore } from '../store/shared/audit.ts';
import type { CommandGroup } from './command.ts';
import { CommandError, UsageError } from './errors.ts';
import { printRecord } from './output.ts';

export const auditCommands: CommandGroup = [
  {
    name: 'audit verify',
    summary: 'Check that no entry of the audit log was changed or removed',
    examples: ['sallyport audit verify'],
    explanation:
      'Reads the whole chain of entries and prints its head. A chain without its last entries is still intact: ' +
      'only an earlier head\nshows that they are missing. The service logs its head ("audit log head") once an ' +
      'hour and when it stops.',
    options: {
      head: {
        value: '<entries:hash>',
        description: 'An earlier head: the log must still have this entry',
      },
    },
    settings: ['dataDir', 'databaseUrl'],
    json: true,
    run: async (invocation) => {
      const text = invocation.text('head');
      const wanted = text === undefined ? null : parseHead(text);
      if (text !== undefined && wanted === null) {
        throw new UsageError('--head must be the number of entries, a colon and 64 hexadecimal digits', 'audit verify');
      }
      const db = await openToRead(await invocation.config());
      try {
        const audit = auditStore(db);
        const broken = await audit.firstBroken();
        if (broken !== null)
          throw new CommandError(`entry ${broken} of the audit log, or the one before it, was changed or removed`);
        const head = await audit.head();
        if (wanted !== null && !(await audit.hasHead(wanted))) {
          const now = head === null ? 'is empty' : `ends with ${headText(head)}`;
          throw new CommandError(
            `the audit log does not have the entry ${headText(wanted)}: entries at its end were removed or replaced (it ${now})`,
          );
        }
        const record = { entries: head?.entries ?? 0, head: head === null ? null : headText(head) };
        await printRecord(
          invocation,
          record,
          wanted === null
            ? 'The chain is intact. To find missing entries at its end, pass an earlier head with --head.'
            : 'The chain is intact and has the entry of --head.',
        );
        return 0;
      } finally {
        await db.close();
      }
    },
  },
];
