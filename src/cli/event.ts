/** `sallyport event …`: what happened, published or erased. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ErasedView } from '../events/erase.ts';
import { definedFields } from '../kernel/validation.ts';
import { COMMAND_LINE } from '../resources/acting.ts';
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
      'Wherever Sallyport keeps it, step by step; what waits to be sent is not sent any more. Backups made before still hold it.\nWaits until it is finished. Where this is cut short, the server goes on.',
    options: { subject: { value: '<text>', required: true, description: 'Whom the events are about, as they said' } },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services: { erasures } }) => {
        let erased = await erasures.erase({ subject: invocation.text('subject') }, COMMAND_LINE);
        // There may be no server that would go on after a failure.
        erasures.start();
        while (erased.state !== 'finished') {
          if (!invocation.json) await invocation.terminal.err(progressText(erased));
          await sleep(PROGRESS_EVERY_MS);
          erased = await erasures.get(erased.id);
        }
        await erasures.stop();
        await printRecord(invocation, erased);
        return 0;
      }),
  },
];

const PROGRESS_EVERY_MS = 1000;

function progressText({ state, events }: ErasedView): string {
  return state === 'overwriting'
    ? `${events} events overwritten so far\n`
    : `${events} events overwritten; waiting until no other process reads the database\n`;
}
