/** `sallyport event …`: what happened, published or erased. */
import { COMMAND_LINE } from '../acting.ts';
import { definedFields } from '../validation.ts';
import type { CommandGroup } from './command.ts';
import { readJsonObject } from './input.ts';
import { DATA_SETTINGS, withData } from './open.ts';
import { printRecord, recordText } from './output.ts';

export const eventCommands: CommandGroup = [
  {
    name: 'event publish',
    summary: 'Publish an event',
    explanation: 'The data folder is that of SALLYPORT_DATA: --data is the event here.',
    options: {
      type: { value: '<type>', required: true, description: 'The event type, such as order.placed' },
      data: { value: '<json|@file|->', required: true, description: 'What happened, as a JSON object' },
      subject: { value: '<text>', description: 'The person that it is about' },
      'correlation-id': { value: '<text>', description: 'What it belongs together with; made if absent' },
      'actor-id': { value: '<text>', description: 'The user who caused it' },
      'idempotency-key': {
        value: '<text>',
        description: 'The same key and event within 24 hours publish nothing again',
      },
    },
    settings: ['masterKeyFile'],
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services }) => {
        const event = definedFields({
          type: invocation.text('type'),
          data: await readJsonObject(invocation, 'data'),
          subject: invocation.text('subject'),
          correlationId: invocation.text('correlation-id'),
          actorId: invocation.text('actor-id'),
          idempotencyKey: invocation.text('idempotency-key'),
        });
        const accepted = await services.publish(event, COMMAND_LINE);
        const { terminal, json } = invocation;
        await terminal.out(json ? `${JSON.stringify(accepted)}\n` : accepted.events.map(recordText).join(''));
        return 0;
      }),
  },
  {
    name: 'event erase',
    summary: "Overwrite the data of one person's events",
    explanation:
      'Wherever Sallyport keeps it; what waits to be sent is discarded. Backups made before still hold it. Asked for again, it goes on where it was cut short.',
    options: { subject: { value: '<text>', required: true, description: 'Whom the events are about, as they said' } },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services }) => {
        await printRecord(invocation, await services.erase({ subject: invocation.text('subject') }, COMMAND_LINE));
        return 0;
      }),
  },
];
