/** `sallyport event …`: publish, show and erase events. */
import { setTimeout as sleep } from 'node:timers/promises';
import { COMMAND_LINE } from '../domain/acting.ts';
import { type ErasedView, eraseInput } from '../events/erase.ts';
import { readEvents } from '../events/event-input.ts';
import { type AcceptedView, eventText } from '../events/publish.ts';
import { parseExactly } from '../kernel/json-text.ts';
import { didYouMean } from '../kernel/nearest.ts';
import { Refusal } from '../kernel/refusal.ts';
import { validate } from '../kernel/validation.ts';
import type { Composed } from '../services/compose.ts';
import type { CommandGroup, Invocation } from './command.ts';
import { customerIdOf } from './customer.ts';
import { CommandError } from './errors.ts';
import { bodyOf, readJsonText } from './input.ts';
import { dataCommand, recordCommand } from './open.ts';
import { refusalText } from './text/refusal-text.ts';

export const eventCommands: CommandGroup = [
  dataCommand({
    name: 'event publish',
    summary: 'Publish an event',
    examples: [
      `sallyport event publish order.created '{"orderId": 42}'`,
      'sallyport event publish order.created @order.json --customer acct_17',
    ],
    operands: [
      { name: 'type', field: 'type', description: 'The event type, such as order.created' },
      {
        name: 'data',
        field: 'data',
        description: 'The data of the event, as a JSON object; @ reads a file, - standard input',
      },
    ],
    options: {
      customer: {
        value: '<customer>',
        field: 'customerId',
        description: "Id, external id or name of the customer whose webhooks get it, besides the operator's own",
      },
      everyone: {
        field: 'audience',
        sets: 'everyone',
        description: "Send it to all webhooks that subscribe, the operator's and every customer's",
      },
      subject: { value: '<text>', description: 'The person whom the event is about' },
      'correlation-id': { value: '<text>', description: 'Links related events (default: a new id)' },
      'ordering-key': {
        value: '<text>',
        description: 'Webhooks with the order by key send events with the same key one after another',
      },
      'actor-id': { value: '<text>', description: 'The user who caused the event' },
      'idempotency-key': {
        value: '<text>',
        description: 'Publish the same event with this key only once within 24 hours',
      },
    },
    run: async (composed, invocation) => {
      const { services } = composed;
      const customerId = await customerIdOf(composed, invocation);
      const event = await bodyOf(invocation, { type: invocation.operand('type'), customerId });
      const data = await readJsonText(invocation, '<data>', invocation.operand('data'));
      await refuseUnknownType(composed, invocation.operand('type'));
      const published = services.publish(readEvents(eventText(event, data)), COMMAND_LINE);
      const accepted = await published.catch((error: unknown) => schemaNamed(composed, invocation, error));
      const { terminal, json } = invocation;
      const text = json ? JSON.stringify(accepted) : await publishedText(composed, invocation, accepted);
      await terminal.out(`${text}\n`);
    },
  }),
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
    run: async ({ services: { erasures }, erasureWork }, invocation) => {
      const { json, terminal } = invocation;
      let erased = await erasures.erase(validate(eraseInput, await bodyOf(invocation)), COMMAND_LINE);
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

/** Names the nearest type, which the API does not. */
async function refuseUnknownType({ store }: Composed, type: string): Promise<void> {
  if ((await store.eventTypes.getByName(type)) !== null) return;
  const names = (await store.eventTypes.all()).map(({ name }) => name);
  const advice = didYouMean(type, names) || '. sallyport event-type list shows all, and event-type create makes one';
  throw new CommandError(`there is no event type ${type}${advice}`);
}

/** Throws the error again, and says where the rule is that the data breaks. */
async function schemaNamed({ store }: Composed, invocation: Invocation, error: unknown): Promise<never> {
  const type = invocation.operand('type');
  const isOfData = error instanceof Refusal && error.details?.every(({ field }) => /^data\b/.test(field));
  if (!isOfData || (await store.eventTypes.getByName(type))?.dataSchema == null) throw error;
  const text = refusalText(error, invocation.command, invocation.provided);
  throw new CommandError(`${text}. The schema of ${type}: sallyport event-type show ${type}`, { cause: error });
}

/** Webhooks are counted up to this number. */
const COUNTED_MAX = 1000;

async function publishedText(
  { services }: Composed,
  { operand, text }: Invocation,
  { events }: AcceptedView,
): Promise<string> {
  const [event] = events;
  const type = operand('type');
  if (event === undefined) return `Published ${type}`;
  if (event.duplicate)
    return `${type} was published before with this idempotency key, as ${event.id}. Nothing was published now.`;
  const { items, next } = await services.deliveries.list({ eventId: event.id }, null, COUNTED_MAX);
  const queued = `${next === null ? '' : 'more than '}${items.length} ${items.length === 1 ? 'webhook' : 'webhooks'}`;
  if (items.length > 0) return `Published ${type} ${event.id} (queued for ${queued})`;
  const owned =
    text('customer') === undefined ? ' An event without --customer or --everyone reaches only your own webhooks.' : '';
  return `Published ${type} ${event.id} (queued for no webhook: none subscribes to it, or their filters keep it out).${owned}`;
}

const PROGRESS_EVERY_MS = 1000;

function progressText({ state, events }: ErasedView): string {
  return state === 'overwriting'
    ? `${events} events overwritten so far\n`
    : `${events} events overwritten; waiting until no other process reads the database\n`;
}
