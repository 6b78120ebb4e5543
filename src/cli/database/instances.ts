/** `sallyport instances`: the instances on a PostgreSQL database. */
import { isoInstant } from '../../kernel/schemas.ts';
import type { CommandGroup } from '../command.ts';
import { CommandError } from '../errors.ts';
import { dataCommand } from '../open.ts';
import { tableText } from '../output.ts';

const COLUMNS = ['name', 'number', 'address', 'version', 'alive', 'seenAt', 'webhooks', 'duties'];

export const instanceCommands: CommandGroup = [
  dataCommand({
    name: 'instances',
    summary: 'List the instances on a PostgreSQL database',
    examples: ['sallyport instances', 'sallyport instances --json'],
    explanation:
      'Shows who serves and delivers, when it was last seen, how many webhooks it sends for, and what it does ' +
      'for all. An instance that\nended without leaving is listed until another one takes its webhooks, within ' +
      'seconds.',
    run: async ({ store: { instances } }, invocation) => {
      if (instances === null) {
        throw new CommandError('SALLYPORT_DATABASE_URL is not set: an SQLite data folder has one server');
      }
      const items = (await instances.list()).map(({ startedAt, seenAt, expiresAt, ...instance }) => ({
        ...instance,
        startedAt: isoInstant(startedAt),
        seenAt: isoInstant(seenAt),
        expiresAt: isoInstant(expiresAt),
      }));
      const { terminal, json } = invocation;
      const text = items.length === 0 ? 'None.\n' : tableText(items, COLUMNS, terminal.width);
      await terminal.out(json ? `${JSON.stringify({ items })}\n` : text);
    },
  }),
];
