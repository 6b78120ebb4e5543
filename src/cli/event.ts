/** `sallyport event …`: publish, show and erase events. */
import { setTimeout as sleep } from 'node:timers/promises';
import { COMMAND_LINE } from '../domain/acting.ts';
import { type ErasedView, eraseInput } from '../events/erase.ts';
import { readEvents } from '../events/event-input.ts';
import { eventText } from '../events/publish.ts';
import { parseExactly } from '../kernel/json-text.ts';
import { definedFields, validate } from '../kernel/validation.ts';
import type { CommandGroup } from './command.ts';
import { customerIdOf } from './customer.ts';
import { readJsonText } from './input.ts';
import { DATA_SETTINGS, recordCommand, withData } from './open.ts';
import { recordText } from './output.ts';

export const eventCommands: CommandGroup = [
  {
    name: 'event publish',
    summary: 'Publish an event',
    examples: [
      `sallyport event publish order.created '{"orderId": 42}'`,
      'sallyport event publish order.created @order.json --customer acct_17',
    ],
    operands: [
      { name: 'type', description: 'The event type, such as order.created' },
      { name: 'data', description: 'The data of the event, as a JSON object; @ reads a file, - standard input' },
    ],
    options: {
      customer: {
        value: '<customer>',
        description: "Id, external id or name of the customer whose webhooks get it, besides the operator's own",
      },
      everyone: { description: "Send it to all webhooks that subscribe, the operator's and every customer's" },
      subject: { value: '<text>', description: 'The person whom the event is about' },
      'correlation-id': { value: '<text>', description: 'Links related events (default: a new id)' },
      'actor-id': { value: '<text>', description: 'The user who caused the event' },
      'idempotency-key': {
        value: '<text>',
        description: 'Publish the same event with this key only once within 24 hours',
      },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async (composed) => {
        const { services } = composed;
        const event = definedFields({
          type: invocation.operand('type'),
          customerId: await customerIdOf(composed, invocation),
          audience: invocation.given('everyone') ? 'everyone' : undefined,
          subject: invocation.text('subject'),
          correlationId: invocation.text('correlation-id'),
          actorId: invocation.text('actor-id'),
          idempotencyKey: invocation.text('idempotency-key'),
        });
        const data = await readJsonText(invocation, '<data>', invocation.operand('data'));
        const accepted = await services.publish(readEvents(eventText(event, data)), COMMAND_LINE);
        const { terminal, json } = invocation;
        await terminal.out(json ? `${JSON.stringify(accepted)}\n` : accepted.events.map(recordText).join(''));
        return 0;
      }),
  },
  recordCommand({
    name: 'event show',
    summary: 'Show an event that a webhook gets, with its data',
    examples: ['sallyport event show 0193a1f0-5c00-7abc-8def-000000000001'],
    explanation: 'Events that must be encrypted are read through the API.',
    operands: [{ name: 'event', description: 'Its id' }],
    run: async ({ services }, { operand }) => {
      const { bytes } = await services.readEvent(operand('event'), null);
      return { record: parseExactly(Buffer.from(bytes).toString('utf8')) as Readonly<Record<string, unknown>> };
    },
  }),
  recordCommand({
    name: 'event erase',
    summary: 'Overwrite the data of all events about one person',
    examples: ['sallyport event erase --subject customer-17'],
    explanation:
      'Overwrites the data step by step wherever Sallyport stores it, and cancels pending deliveries of it. ' +
      'Older backups still contain it.\nThe command waits until the erasure is finished. If it is interrupted, ' +
      'the server continues.',
    options: {
      subject: { value: '<text>', required: true, description: 'The person, as in the subject of the events' },
    },
    run: async ({ services: { erasures }, erasureWork }, { text, json, terminal }) => {
      let erased = await erasures.erase(validate(eraseInput, { subject: text('subject') }), COMMAND_LINE);
      // There may be no server that would continue after a failure.
      erasureWork.start();
      while (erased.state !== 'finished') {
        if (!json) await terminal.err(progressText(erased));
        await sleep(PROGRESS_EVERY_MS);
        erased = await erasures.get(erased.id);
      }
      await erasureWork.stop();
      return { record: erased };
    },
  }),
];

const PROGRESS_EVERY_MS = 1000;

function progressText({ state, events }: ErasedView): string {
  return state === 'overwriting'
    ? `${events} events overwritten so far\n`
    : `${events} events overwritten; waiting until no other process reads the database\n`;
}
