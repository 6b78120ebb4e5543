/** `sallyport event-type …`: the kinds of event that webhooks subscribe to. */

import type { EventType } from '../events/event-type.ts';
import { viewEventType } from '../events/event-types.ts';
import { definedFields } from '../kernel/validation.ts';
import { COMMAND_LINE } from '../resources/acting.ts';
import type { CommandGroup } from './command.ts';
import { CommandError } from './errors.ts';
import { readJsonObject } from './input.ts';
import { DATA_SETTINGS, withData } from './open.ts';
import { printRecord } from './output.ts';
import { listCommand, removeCommand, showCommand, updateCommand } from './resource.ts';

const EVENT_TYPE: Parameters<typeof showCommand<EventType>>[0] = {
  group: 'event-type',
  path: 'event-types',
  operand: { name: 'name', description: 'Its name, such as order.placed' },
  administration: ({ services }) => services.eventTypes,
  id: async ({ store }, name) => {
    const eventType = await store.eventTypes.getByName(name);
    if (eventType === null) throw new CommandError(`there is no event type ${name}`);
    return eventType.id;
  },
  view: viewEventType,
  updateExplanation: 'Its name stays, which webhooks subscribe to, and so does all of one that is built in.',
};

export const eventTypeCommands: CommandGroup = [
  {
    name: 'event-type create',
    summary: 'Create an event type',
    options: {
      name: { value: '<name>', required: true, description: 'Its name, <category>.<name>, in lower case' },
      description: { value: '<text>', description: 'When such an event happens' },
      'encryption-required': { description: 'Send such events encrypted only' },
      'data-schema': { value: '<json|@file|->', description: 'A JSON Schema that their data must satisfy' },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services }) => {
        const body = definedFields({
          name: invocation.text('name'),
          description: invocation.text('description'),
          encryptionRequired: invocation.given('encryption-required'),
          dataSchema: await readJsonObject(invocation, 'data-schema'),
        });
        await printRecord(invocation, viewEventType(await services.eventTypes.create(body, COMMAND_LINE)));
        return 0;
      }),
  },
  listCommand({
    name: 'event-type list',
    summary: 'List the event types',
    columns: ['name', 'encryptionRequired', 'builtIn', 'description'],
    administration: ({ services }) => services.eventTypes,
    view: viewEventType,
  }),
  showCommand(EVENT_TYPE),
  updateCommand(EVENT_TYPE),
  removeCommand(
    EVENT_TYPE,
    'One that is built in stays, and so does one that a webhook names, or whose encrypted events are in the log.',
  ),
];
