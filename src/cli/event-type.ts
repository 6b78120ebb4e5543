/** `sallyport event-type …`: the event types to which webhooks subscribe. */

import { COMMAND_LINE } from '../domain/acting.ts';
import type { EventType } from '../domain/event.ts';
import { type EventTypeBody, eventTypeReader, viewEventType } from '../events/event-types.ts';
import type { CommandGroup } from './command.ts';
import { bodyOf } from './input.ts';
import { recordCommand } from './open.ts';
import { type Configured, deleteCommand, listCommand, showCommand, updateCommand } from './resource.ts';

const EVENT_TYPE: Configured<EventType, EventTypeBody> = {
  group: 'event-type',
  path: 'event-types',
  operand: { name: 'name', description: 'Its name, such as order.created' },
  example: { name: 'order.created', fields: '{"description":"An order was created."}' },
  administration: ({ services }) => services.eventTypes,
  reader: eventTypeReader,
  names: ({ name }) => [name],
  view: viewEventType,
  updateExplanation:
    'The name cannot change, because webhooks subscribe to it. Built-in event types cannot change at all.',
};

export const eventTypeCommands: CommandGroup = [
  recordCommand({
    name: 'event-type create',
    summary: 'Create an event type',
    examples: ["sallyport event-type create --name order.created --description 'An order was created.'"],
    options: {
      name: { value: '<name>', required: true, description: 'The name, <category>.<name>, in lower case' },
      description: { value: '<text>', description: 'When such an event happens' },
      'encryption-required': { description: 'Send such events only encrypted' },
      'data-schema': { value: '<json|@file|->', object: true, description: 'A JSON Schema for the data' },
      sample: { value: '<json|@file|->', object: true, description: 'The data of an example, for the event catalogue' },
      source: { value: '<uri>', description: 'The source of its CloudEvents (default: the public address)' },
      'group-name': { value: '<text>', field: 'group', description: 'The heading in the event catalogue' },
      'search-paths': {
        value: '<paths>',
        description: 'Find events in the portal by the values there: data.orderId,data.customer.email; at most 5',
      },
      internal: {
        field: 'public',
        sets: false,
        description: 'Leave it out of the public event catalogue, and send it to no webhook of a customer',
      },
    },
    run: async ({ services }, invocation) => {
      const searchPaths = invocation.text('search-paths')?.split(',');
      const body = await bodyOf(invocation, { searchPaths: searchPaths?.map((path) => path.trim()) });
      return { record: viewEventType(await services.eventTypes.create(eventTypeReader.create(body), COMMAND_LINE)) };
    },
  }),
  listCommand(EVENT_TYPE, {
    columns: ['name', { field: 'encryptionRequired', title: 'encrypted' }, 'builtIn', 'description'],
  }),
  showCommand(EVENT_TYPE),
  updateCommand(EVENT_TYPE),
  deleteCommand(
    EVENT_TYPE,
    'Built-in event types, event types that a webhook names, and event types with encrypted events in the log cannot be deleted.',
  ),
];
