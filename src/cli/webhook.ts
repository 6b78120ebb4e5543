/** `sallyport webhook …`: which events are sent to which endpoint, or read. */
import { COMMAND_LINE } from '../domain/acting.ts';
import { OWN_SETTINGS } from '../domain/endpoint.ts';
import { matchingTypes } from '../domain/event.ts';
import type { ErrorClass } from '../domain/outcome.ts';
import type { Webhook, WebhookMode } from '../domain/webhook.ts';
import { parseExactly } from '../kernel/json-text.ts';
import { Refusal, saidAt } from '../kernel/refusal.ts';
import { validate } from '../kernel/validation.ts';
import type { Composed } from '../services/compose.ts';
import { acknowledgeInput } from '../webhooks/acknowledge.ts';
import { viewAttempt } from '../webhooks/deliveries.ts';
import { signaturePreviewInput } from '../webhooks/signature-schema.ts';
import { giveUpInput } from '../webhooks/waiting-keys.ts';
import {
  REPLAYABLE,
  replayInput,
  viewWebhook,
  WEBHOOK_LIST,
  type WebhookBody,
  webhookReader,
} from '../webhooks/webhook-schema.ts';
import type { Command, CommandGroup, Invocation, Operand } from './command.ts';
import { CUSTOMER_OPTION, customerIdOf } from './customer.ts';
import { ENDPOINT } from './endpoint.ts';
import { CommandError, UsageError } from './errors.ts';
import { bodyOf, PAGE_OPTIONS, readCursorOptions } from './input.ts';
import { dataCommand, OUTBOUND_SETTINGS, recordCommand } from './open.ts';
import { type Column, printPage } from './output.ts';
import {
  actionCommand,
  type Configured,
  deleteCommand,
  listCommand,
  recordId,
  showCommand,
  updateCommand,
} from './resource.ts';

const ID: Operand = { name: 'webhook', description: 'Its id or name' };

export const WEBHOOK: Configured<Webhook, WebhookBody> = {
  group: 'webhook',
  path: 'webhooks',
  operand: ID,
  example: { name: 'Orders', fields: '{"maxRecordsPerSecond":50}' },
  names: ({ name }) => [name],
  administration: ({ services }) => services.webhooks,
  reader: webhookReader,
  view: viewWebhook,
};

export const webhookCommands: CommandGroup = [
  recordCommand({
    name: 'webhook create',
    summary: 'Create a webhook; it is stopped without --start',
    examples: [
      "sallyport webhook create --name Orders --endpoint Acme --event 'order.*' --start",
      "sallyport webhook create --name Orders --mode pull --event 'order.*'",
      "sallyport webhook create --name Orders --endpoint Acme --event 'order.*' --format cloudevents --start",
    ],
    explanation:
      '--fields takes other fields of POST /services/api/x/edge/v1/webhooks, such as retry or maxRecordsPerSecond.',
    options: {
      ...CUSTOMER_OPTION,
      name: { value: '<name>', required: true, description: 'Name, shown in lists and messages' },
      mode: {
        value: '<push|pull>',
        choices: ['push', 'pull'] satisfies WebhookMode[],
        description:
          'Send to an endpoint, or let a reader fetch and acknowledge; pull starts immediately (default: push)',
      },
      endpoint: {
        value: '<id or name>',
        field: 'endpointId',
        description: 'The endpoint to send to; required unless the mode is pull',
      },
      event: {
        value: '<type>',
        field: 'eventTypes',
        many: true,
        required: true,
        description: 'An event type, <category>.* or *',
      },
      format: {
        value: '<format>',
        description: 'What a body looks like: records (default), standard, cloudevents or cloudevents-binary',
      },
      batch: { description: 'Several CloudEvents in one body' },
      thin: { description: 'Bodies have a url in place of the data' },
      key: {
        value: '<name>',
        field: 'encryptionKeyName',
        description: 'The PGP key to encrypt with; employee events require one',
      },
      filter: {
        value: '<json|@file|->',
        object: true,
        description: 'Which events of these types, such as {"data.total":{"$gte":100}}',
      },
      header: {
        value: '<name: value>',
        field: 'customHeaders',
        many: true,
        description: 'A custom header, such as "x-tenant: 17"',
      },
      ordered: { description: 'Send a batch only after the previous one is delivered or dead' },
      'ordered-by-key': {
        field: 'ordered',
        sets: 'key',
        description: 'Send events of one ordering key one after another; a failing one delays only its key',
      },
      'standard-webhooks': { description: 'Also sign as Standard Webhooks' },
      signature: {
        value: '<github|stripe|shopify|slack>',
        description: 'Also sign as this product does; --fields takes other templates',
      },
      start: { field: null, description: 'Start it immediately' },
      fields: { value: '<json|@file|->', description: 'Other fields as a JSON object' },
    },
    check: ({ text, command }) => {
      if (text('endpoint') === undefined && text('mode') !== 'pull')
        throw new UsageError('--endpoint is required, unless --mode is pull', command.name);
    },
    run: async (composed, invocation) => {
      const { services } = composed;
      const customerId = await customerIdOf(composed, invocation);
      const endpoint = invocation.text('endpoint');
      const preset = invocation.text('signature');
      const headers = invocation.texts('header').map((header) => customHeader(invocation, header));
      const body = await bodyOf(invocation, {
        customerId,
        endpointId:
          endpoint === undefined
            ? undefined
            : await recordId(ENDPOINT, composed, endpoint, { customerId: customerId ?? '' }),
        customHeaders: headers.length === 0 ? undefined : headers,
        signature: preset === undefined ? undefined : { preset },
      });
      const webhook = await services.webhooks.create(webhookReader.create(body), COMMAND_LINE);
      const note = await noteUnmatched(composed, webhook);
      if (!invocation.given('start')) return { record: viewWebhook(webhook), note };
      try {
        return { record: viewWebhook(await services.webhooks.start(webhook.id, COMMAND_LINE)), note };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const isStopped = error.repeat !== 'after a look';
        const reason = saidAt('command', error).message;
        await invocation.terminal.err(`The webhook is created${isStopped ? ', but not started' : ''}: ${reason}\n`);
        return { record: viewWebhook(webhook), note, status: 1 };
      }
    },
  }),
  listCommand(WEBHOOK, {
    rules: WEBHOOK_LIST,
    columns: ['name', 'customer', 'mode', 'state', 'eventTypes', 'id'],
  }),
  showCommand(WEBHOOK),
  updateCommand(WEBHOOK),
  switchCommand('start', 'Start a webhook; its waiting records are sent'),
  switchCommand('stop', 'Stop a webhook; new records wait'),
  actionCommand(WEBHOOK, {
    name: 'webhook signature-preview',
    summary: 'Sign a sample by the template of a webhook; sends nothing',
    examples: [`sallyport webhook signature-preview Orders --signature '{"preset":"stripe"}'`],
    options: {
      signature: {
        value: '<json|@file|->',
        object: true,
        description: 'Another template (default: that of the webhook)',
      },
      sample: { value: '<event type>', field: 'eventType', description: 'Sign the sample of this event type' },
    },
    run: async ({ services }, invocation, id) => ({
      record: await services.previewSignature(id, validate(signaturePreviewInput, await bodyOf(invocation))),
    }),
  }),
  actionCommand(WEBHOOK, {
    name: 'webhook test',
    summary: 'Send a webhook.test record or a sample now and show the result',
    examples: ['sallyport webhook test Orders', 'sallyport webhook test Orders --sample order.created'],
    explanation:
      'The webhook may be stopped, but its endpoint must be enabled. Fails (exit status 1) unless the receiver accepts the record.',
    options: {
      sample: {
        value: '<event type>',
        description: 'Send the sample of this event type, in a body that is marked as a test',
      },
    },
    settings: OUTBOUND_SETTINGS,
    run: async ({ services, store, clock, ids, transport, formatOf }, invocation, id) => {
      const [{ createTestDelivery }, { createSend }, { createOauthTokens }] = await Promise.all([
        import('../delivery/trials/test-delivery.ts'),
        import('../delivery/send.ts'),
        import('../delivery/oauth.ts'),
      ]);
      const send = createSend({ transport, oauth: createOauthTokens({ transport, clock }) });
      const test = createTestDelivery({ store, clock, ids, send, formatOf, webhooks: services.webhooks });
      const { customerId } = await services.webhooks.get(id);
      const tested = await test(id, COMMAND_LINE.actor, invocation.text('sample') ?? undefined);
      const attempt = viewAttempt(tested, customerId);
      const { delivered, responseStatus, responseBody, errorClass, error, timings } = attempt;
      const advice = NETWORK_ERRORS.has(errorClass ?? '') ? `${attempt.advice} ${OWN_SETTINGS}` : attempt.advice;
      const shown = { delivered, responseStatus, responseBody: responseBody || null, errorClass, error, advice };
      return {
        record: invocation.json ? { ...attempt, advice } : { ...shown, totalMs: timings.totalMs },
        status: delivered ? 0 : 1,
      };
    },
  }),
  actionCommand(WEBHOOK, {
    name: 'webhook replay',
    summary: 'Send dead or delivered records again',
    examples: ['sallyport webhook replay Orders --since 2026-11-21T05:00:00Z --state dead'],
    options: {
      since: { value: '<instant>', description: 'Only events at or after this time, such as 2026-11-21T05:00:00.000Z' },
      until: { value: '<instant>', description: 'Only events before this time' },
      state: {
        value: '<state>',
        field: 'states',
        choices: REPLAYABLE,
        many: true,
        description: 'dead or delivered (default: dead; with a range, both)',
      },
      'ordering-key': { value: '<text>', description: 'Only events with this ordering key' },
    },
    run: async ({ services }, invocation, id) => {
      const input = validate(replayInput, await bodyOf(invocation));
      return { record: await services.webhooks.replay(id, input, COMMAND_LINE) };
    },
  }),
  ...keyOrderCommands(),
  ...recordsCommands(),
  deleteCommand(WEBHOOK, 'Also deletes its records and their attempts, including records that are not delivered yet.'),
];

/** Errors that may be caused by the settings of the sender. */
const NETWORK_ERRORS: ReadonlySet<string> = new Set<ErrorClass>([
  ...(['dns', 'connect', 'timeout', 'tls_untrusted', 'egress_refused', 'proxy', 'internal'] as const),
]);

function switchCommand(verb: 'start' | 'stop', summary: string): Command {
  return actionCommand(WEBHOOK, {
    name: `webhook ${verb}`,
    summary,
    examples: [`sallyport webhook ${verb} Orders`],
    run: async ({ services }, _, id) => ({ record: viewWebhook(await services.webhooks[verb](id, COMMAND_LINE)) }),
  });
}

/** Names patterns that no event type matches yet: they may be mistyped. */
async function noteUnmatched({ store }: Composed, { eventTypes }: Webhook): Promise<string | undefined> {
  const known = await store.eventTypes.all();
  const unmatched = eventTypes.filter((pattern) => matchingTypes(pattern, known).length === 0);
  return unmatched.length === 0 ? undefined : `No event type matches ${unmatched.join(', ')} yet.`;
}

function customHeader({ command }: Invocation, header: string): { readonly name: string; readonly value: string } {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(header) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError(`--header ${JSON.stringify(header)} is not of the form "<name>: <value>"`, command.name);
  }
  return { name, value };
}

/** Reading the events of a webhook instead of receiving them. */
function recordsCommands(): readonly Command[] {
  return [
    actionCommand(WEBHOOK, {
      name: 'webhook records',
      summary: 'Read records in order, delivered or not',
      examples: ['sallyport webhook records Orders --limit 10 --wait 30 --json'],
      explanation:
        'A webhook in mode pull begins behind the last acknowledged record, another one at its first. Encrypted ' +
        'records are read through the API.',
      options: {
        after: { value: '<offset>', integer: true, description: 'Begin behind this record' },
        limit: { value: '<n>', integer: true, description: 'How many at most, up to 1000 (default: 100)' },
        wait: {
          value: '<seconds>',
          integer: true,
          description: 'Wait for the next record, up to 30 seconds (default: 0)',
        },
      },
      run: async (composed, invocation, id) => {
        const { recordsInput } = await import('../delivery/reads/records.ts');
        const { wait, ...place } = validate(recordsInput, await bodyOf(invocation));
        const query = { ...place, waitMs: wait * 1000, signal: new AbortController().signal };
        const { bytes, headers } = await composed.services.readRecords(id, query);
        const key = headers['x-pgp-key-name'];
        if (key !== undefined)
          throw new CommandError(
            `the records are encrypted for the holder of the key ${key}: read them through the API`,
          );
        return { record: parseExactly(Buffer.from(bytes).toString('utf8')) as Readonly<Record<string, unknown>> };
      },
    }),
    actionCommand(WEBHOOK, {
      name: 'webhook acknowledge',
      summary: 'Acknowledge records of a webhook in mode pull',
      examples: ['sallyport webhook acknowledge Orders --through 41'],
      options: {
        through: {
          value: '<offset>',
          field: 'throughOffset',
          integer: true,
          required: true,
          description: 'The last record that is processed',
        },
      },
      run: async ({ services }, invocation, id) => ({
        record: await services.webhooks.acknowledge(id, validate(acknowledgeInput, await bodyOf(invocation))),
      }),
    }),
  ];
}

const KEY_COLUMNS: readonly (string | Column)[] = [
  { field: 'orderingKey', title: 'key', whole: true },
  { field: 'waitingRecords', title: 'records' },
  { field: 'attemptCount', title: 'attempts' },
  { field: 'responseStatus', title: 'response' },
  'nextAttemptAt',
  'error',
];

/** For webhooks with the order by key. */
function keyOrderCommands(): readonly Command[] {
  return [
    dataCommand({
      name: 'webhook waiting-keys',
      summary: 'List the ordering keys whose records wait',
      examples: ['sallyport webhook waiting-keys Orders'],
      explanation: 'For a webhook with the order by key: the first record of these keys failed or is late.',
      operands: [ID],
      options: PAGE_OPTIONS,
      run: async (composed, invocation) => {
        const asked = readCursorOptions(invocation);
        const id = await recordId(WEBHOOK, composed, invocation.operand('webhook'));
        await printPage(invocation, await composed.services.webhooks.keyOrder.waitingKeys(id, asked), KEY_COLUMNS);
      },
    }),
    actionCommand(WEBHOOK, {
      name: 'webhook give-up',
      summary: 'Give up the waiting records of an ordering key',
      examples: ['sallyport webhook give-up Orders --ordering-key order-17'],
      explanation: 'They are dead, and later records of the key go on. "sallyport webhook replay" sends them again.',
      options: { 'ordering-key': { value: '<text>', required: true, description: 'The key' } },
      run: async ({ services }, invocation, id) => {
        const input = validate(giveUpInput, await bodyOf(invocation));
        return { record: await services.webhooks.keyOrder.giveUp(id, input, COMMAND_LINE) };
      },
    }),
  ];
}
