/** `sallyport webhook waiting-keys` and `give-up`: webhooks with the order by key. */
import { COMMAND_LINE } from '../domain/acting.ts';
import { definedFields, validate } from '../kernel/validation.ts';
import type { Composed } from '../services/compose.ts';
import { giveUpInput, waitingKeysInput } from '../webhooks/waiting-keys.ts';
import type { Command, Operand } from './command.ts';
import { recordCommand } from './open.ts';

/** `idOf`: the id of a webhook by its id or name. */
export function keyOrderCommands(
  webhook: Operand,
  idOf: (composed: Composed, named: string) => Promise<string>,
): readonly Command[] {
  return [
    recordCommand({
      name: 'webhook waiting-keys',
      summary: 'List the ordering keys whose records wait',
      examples: ['sallyport webhook waiting-keys Orders'],
      explanation: 'For a webhook with the order by key: the first record of these keys failed or is late.',
      operands: [webhook],
      options: {
        after: { value: '<text>', description: 'Begin behind this key' },
        limit: { value: '<n>', integer: true, description: 'How many at most, up to 200 (default: 50)' },
      },
      run: async (composed, { operand, text, integer }) => {
        const asked = validate(waitingKeysInput, definedFields({ after: text('after'), limit: integer('limit') }));
        const id = await idOf(composed, operand('webhook'));
        return { record: await composed.services.webhooks.keyOrder.waitingKeys(id, asked) };
      },
    }),
    recordCommand({
      name: 'webhook give-up',
      summary: 'Give up the waiting records of an ordering key',
      examples: ['sallyport webhook give-up Orders --ordering-key order-17'],
      explanation: 'They are dead, and later records of the key go on. "sallyport webhook replay" sends them again.',
      operands: [webhook],
      options: { 'ordering-key': { value: '<text>', required: true, description: 'The key' } },
      run: async (composed, { operand, text }) => {
        const asked = validate(giveUpInput, definedFields({ orderingKey: text('ordering-key') }));
        const id = await idOf(composed, operand('webhook'));
        return { record: await composed.services.webhooks.keyOrder.giveUp(id, asked, COMMAND_LINE) };
      },
    }),
  ];
}
