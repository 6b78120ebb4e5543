/** `sallyport webhook waiting-keys` and `give-up`, for webhooks with the order by key. */
import { COMMAND_LINE } from '../domain/acting.ts';
import { definedFields, validate } from '../kernel/validation.ts';
import type { Composed } from '../services/compose.ts';
import { giveUpInput } from '../webhooks/waiting-keys.ts';
import type { Command, Operand } from './command.ts';
import { PAGE_OPTIONS, readPage } from './input.ts';
import { DATA_SETTINGS, recordCommand, withData } from './open.ts';
import { type Column, printPage } from './output.ts';

const COLUMNS: readonly (string | Column)[] = [
  { field: 'orderingKey', title: 'key', whole: true },
  { field: 'waitingRecords', title: 'records' },
  { field: 'attemptCount', title: 'attempts' },
  { field: 'responseStatus', title: 'response' },
  'nextAttemptAt',
  'error',
];

/** `idOf` finds the webhook of the operand. */
export function keyOrderCommands(
  operand: Operand,
  idOf: (composed: Composed, named: string) => Promise<string>,
): readonly Command[] {
  return [
    {
      name: 'webhook waiting-keys',
      summary: 'List the ordering keys whose records wait',
      examples: ['sallyport webhook waiting-keys Orders'],
      explanation: 'For a webhook with the order by key: the first record of these keys failed or is late.',
      operands: [operand],
      options: PAGE_OPTIONS,
      settings: DATA_SETTINGS,
      json: true,
      run: (invocation) =>
        withData(invocation, async (composed) => {
          const asked = readPage(invocation);
          const id = await idOf(composed, invocation.operand('webhook'));
          await printPage(invocation, await composed.services.webhooks.keyOrder.waitingKeys(id, asked), COLUMNS);
          return 0;
        }),
    },
    recordCommand({
      name: 'webhook give-up',
      summary: 'Give up the waiting records of an ordering key',
      examples: ['sallyport webhook give-up Orders --ordering-key order-17'],
      explanation: 'They are dead, and later records of the key go on. "sallyport webhook replay" sends them again.',
      operands: [operand],
      options: { 'ordering-key': { value: '<text>', required: true, description: 'The key' } },
      run: async (composed, invocation) => {
        const asked = validate(giveUpInput, definedFields({ orderingKey: invocation.text('ordering-key') }));
        const id = await idOf(composed, invocation.operand('webhook'));
        return { record: await composed.services.webhooks.keyOrder.giveUp(id, asked, COMMAND_LINE) };
      },
    }),
  ];
}
