/** `sallyport webhook records` and `webhook acknowledge`: reads the events of a webhook instead of receiving them. */
import { definedFields, validate } from '../kernel/validation.ts';
import type { Command } from './command.ts';
import { CommandError } from './errors.ts';
import { recordCommand } from './open.ts';

type WebhookCommand = {
  readonly operand: NonNullable<Command['operands']>[number];
  /** Finds the id of the webhook that the caller names. */
  readonly idOf: (
    composed: Parameters<Parameters<typeof recordCommand>[0]['run']>[0],
    named: string,
  ) => Promise<string>;
};

export function recordsCommands({ operand: webhook, idOf }: WebhookCommand): readonly Command[] {
  return [
    recordCommand({
      name: 'webhook records',
      summary: 'Read records in order, delivered or not',
      examples: ['sallyport webhook records Orders --limit 10 --wait 30 --json'],
      explanation:
        'A webhook in mode pull begins behind the last acknowledged record, another one at its first. Encrypted records are read through the API.',
      operands: [webhook],
      options: {
        after: { value: '<offset>', integer: true, description: 'Begin behind this record' },
        limit: { value: '<n>', integer: true, description: 'How many at most, up to 1000 (default: 100)' },
        wait: {
          value: '<seconds>',
          integer: true,
          description: 'Wait for the next record, up to 30 seconds (default: 0)',
        },
      },
      run: async (composed, { operand, integer }) => {
        const { recordsInput } = await import('../delivery/records.ts');
        const body = definedFields({ after: integer('after'), limit: integer('limit'), wait: integer('wait') });
        const { wait, ...place } = validate(recordsInput, body);
        const id = await idOf(composed, operand('webhook'));
        const query = { ...place, waitMs: wait * 1000, signal: new AbortController().signal };
        const { bytes, headers } = await composed.services.readRecords(id, query);
        const key = headers['x-pgp-key-name'];
        if (key !== undefined)
          throw new CommandError(
            `the records are encrypted for the holder of the key ${key}: read them through the API`,
          );
        return { record: JSON.parse(Buffer.from(bytes).toString('utf8')) as Readonly<Record<string, unknown>> };
      },
    }),
    recordCommand({
      name: 'webhook acknowledge',
      summary: 'Acknowledge records of a webhook in mode pull',
      examples: ['sallyport webhook acknowledge Orders --through 41'],
      operands: [webhook],
      options: {
        through: { value: '<offset>', integer: true, required: true, description: 'The last record that is processed' },
      },
      run: async (composed, { operand, integer }) => {
        const id = await idOf(composed, operand('webhook'));
        return { record: await composed.services.webhooks.acknowledge(id, { throughOffset: integer('through') ?? 0 }) };
      },
    }),
  ];
}
