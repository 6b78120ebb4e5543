/** `sallyport webhook …`: which events go where. */

import { definedFields } from '../kernel/validation.ts';
import { COMMAND_LINE } from '../resources/acting.ts';
import { viewWebhook, WEBHOOK_LIST } from '../webhooks/view.ts';
import type { Webhook } from '../webhooks/webhook.ts';
import type { Command, CommandGroup, Invocation, Operand } from './command.ts';
import { UsageError } from './errors.ts';
import { readJsonObject } from './input.ts';
import { DATA_SETTINGS, withData } from './open.ts';
import { printRecord } from './output.ts';
import { listCommand, removeCommand, showCommand, updateCommand } from './resource.ts';
import { webhookTestCommand } from './webhook-test.ts';

const ID: Operand = { name: 'id', description: "The webhook's id" };

const WEBHOOK: Parameters<typeof showCommand<Webhook>>[0] = {
  group: 'webhook',
  path: 'webhooks',
  operand: ID,
  administration: ({ services }) => services.webhooks,
  view: viewWebhook,
};

export const webhookCommands: CommandGroup = [
  {
    name: 'webhook create',
    summary: 'Create a webhook, stopped',
    explanation:
      '--fields holds any further field of POST /services/api/x/edge/v1/webhooks, such as retry or maxRecordsPerSecond.',
    options: {
      name: { value: '<name>', required: true, description: 'What people call it' },
      endpoint: { value: '<id>', required: true, description: 'The endpoint that it sends to' },
      event: { value: '<type>', many: true, required: true, description: 'An event type, <category>.* or *' },
      key: { value: '<name>', description: 'The PGP key to encrypt for; employee events need one' },
      header: { value: '<name: value>', many: true, description: 'A custom header, such as "x-tenant: 17"' },
      ordered: { description: 'Send a batch only after the one before is delivered or dead' },
      'standard-webhooks': { description: 'Sign as Standard Webhooks has it, too' },
      fields: { value: '<json|@file|->', description: 'Further fields as a JSON object' },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services }) => {
        const headers = invocation.texts('header').map((header) => customHeader(invocation, header));
        const body = {
          ...(await readJsonObject(invocation, 'fields')),
          ...definedFields({
            name: invocation.text('name'),
            endpointId: invocation.text('endpoint'),
            eventTypes: invocation.texts('event'),
            encryptionKeyName: invocation.text('key'),
            customHeaders: headers.length === 0 ? undefined : headers,
            ordered: invocation.given('ordered') ? true : undefined,
            standardWebhooks: invocation.given('standard-webhooks') ? true : undefined,
          }),
        };
        await printRecord(invocation, viewWebhook(await services.webhooks.create(body, COMMAND_LINE)));
        return 0;
      }),
  },
  listCommand({
    name: 'webhook list',
    summary: 'List the webhooks and their states',
    rules: WEBHOOK_LIST,
    columns: ['id', 'name', 'state', 'stateReason', 'eventTypes', 'endpointId'],
    administration: ({ services }) => services.webhooks,
    view: viewWebhook,
  }),
  showCommand(WEBHOOK),
  updateCommand(WEBHOOK),
  switchCommand('start', 'Start a webhook: what waits for it is sent'),
  switchCommand('stop', 'Stop a webhook: its records wait'),
  webhookTestCommand,
  {
    name: 'webhook replay',
    summary: 'Send records again that are dead or were delivered',
    operands: [ID],
    options: {
      since: { value: '<instant>', description: 'Only events from here on, as 2026-11-21T05:00:00.000Z' },
      until: { value: '<instant>', description: 'Only events before this' },
      state: { value: '<state>', many: true, description: 'dead or delivered (dead; with a range, both)' },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services }) => {
        const states = invocation.texts('state');
        const body = definedFields({
          since: invocation.text('since'),
          until: invocation.text('until'),
          states: states.length === 0 ? undefined : states,
        });
        await printRecord(invocation, await services.webhooks.replay(invocation.operand('id'), body, COMMAND_LINE));
        return 0;
      }),
  },
  removeCommand(WEBHOOK, 'Its records and their attempts go with it, those that wait included.'),
];

function switchCommand(verb: 'start' | 'stop', summary: string): Command {
  return {
    name: `webhook ${verb}`,
    summary,
    operands: [ID],
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services }) => {
        const webhook = await services.webhooks[verb](invocation.operand('id'), COMMAND_LINE);
        await printRecord(invocation, viewWebhook(webhook));
        return 0;
      }),
  };
}

function customHeader({ command }: Invocation, header: string): { readonly name: string; readonly value: string } {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(header) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError(`--header ${JSON.stringify(header)} is not of the form "<name>: <value>"`, command.name);
  }
  return { name, value };
}
