/** `sallyport deliveries …`: list, show and replay deliveries. */

import { COMMAND_LINE } from '../domain/acting.ts';
import type { DeliveryState } from '../domain/webhook.ts';
import { NOT_A_MOMENT, parseMoment } from '../kernel/schemas.ts';
import { definedFields } from '../kernel/validation.ts';
import { viewAttempt, viewDelivery } from '../webhooks/deliveries.ts';
import type { CommandGroup, Invocation, Operand } from './command.ts';
import { UsageError } from './errors.ts';
import { PAGE_OPTIONS, readPageOptions } from './input.ts';
import { DATA_SETTINGS, recordCommand, withData } from './open.ts';
import { printPage, recordText, tableText, withCustomers } from './output.ts';
import { recordId } from './resource.ts';
import { WEBHOOK } from './webhook.ts';

const ID: Operand = { name: 'id', description: 'The id of the delivery' };
/** With the webhook, because an offset counts in the log of its webhook. */
const COLUMNS = ['id', 'webhookId', 'offset', 'eventType', 'state', 'attemptCount', 'nextAttemptAt', 'createdAt'];
const STATES: readonly DeliveryState[] = ['pending', 'delivered', 'dead', 'discarded'];

export const deliveryCommands: CommandGroup = [
  {
    name: 'deliveries list',
    summary: 'List deliveries, newest event first',
    examples: ['sallyport deliveries list --webhook Orders --state dead --since 2026-11-21T05:00:00Z'],
    options: {
      webhook: { value: '<id or name>', description: 'Only deliveries of this webhook' },
      state: { value: '<state>', description: `Only deliveries in this state: ${STATES.join(', ')}` },
      'event-type': { value: '<type>', description: 'Only deliveries of events of this type' },
      since: { value: '<instant>', description: 'Only events at or after this time, such as 2026-11-21T05:00:00.000Z' },
      until: { value: '<instant>', description: 'Only events before this time' },
      ...PAGE_OPTIONS,
    },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) => {
      const [since, until] = [readInstant(invocation, 'since'), readInstant(invocation, 'until')];
      if (since !== undefined && until !== undefined && until <= since)
        throw new UsageError('--until must be later than --since', invocation.command.name);
      const state = readState(invocation);
      return withData(invocation, async (composed) => {
        const { services } = composed;
        const { limit, cursor } = readPageOptions(invocation);
        const webhook = invocation.text('webhook');
        const webhookId = webhook === undefined ? undefined : await recordId(WEBHOOK, composed, webhook);
        const filter = definedFields({ webhookId, state, eventType: invocation.text('event-type'), since, until });
        const { items, next } = await services.deliveries.list(filter, cursor, limit);
        const shown = items.map(viewDelivery);
        const table = await withCustomers(composed.store, items, { items: shown, columns: COLUMNS });
        await printPage(invocation, { items: invocation.json ? shown : table.items, nextCursor: next }, table.columns);
        return 0;
      });
    },
  },
  {
    name: 'deliveries show',
    summary: 'Show a delivery and its attempts',
    examples: ['sallyport deliveries show 0198d2a0-5b1c-7000-8000-00000000002a'],
    operands: [ID],
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services }) => {
        const found = await services.deliveries.get(invocation.operand('id'));
        const delivery = viewDelivery(found.delivery);
        const attempts = found.attempts.map((one) => viewAttempt(one, found.delivery.customerId));
        const columns = ['startedAt', 'attemptNumber', 'delivered', 'responseStatus', 'error', 'advice'];
        const text = (): string =>
          `${recordText(delivery)}\n${attempts.length === 0 ? 'No attempt yet.\n' : tableText(attempts, columns)}`;
        await invocation.terminal.out(invocation.json ? `${JSON.stringify({ ...delivery, attempts })}\n` : text());
        return 0;
      }),
  },
  recordCommand({
    name: 'deliveries replay',
    summary: 'Send a dead or delivered delivery again',
    examples: ['sallyport deliveries replay 0198d2a0-5b1c-7000-8000-00000000002a'],
    operands: [ID],
    run: async ({ services }, { operand }) => ({
      record: viewDelivery(await services.deliveries.replay(operand('id'), COMMAND_LINE)),
    }),
  }),
];

function readState({ command, text }: Invocation): DeliveryState | undefined {
  const wanted = text('state');
  const state = STATES.find((known) => known === wanted);
  if (wanted !== undefined && state === undefined) {
    throw new UsageError(`--state must be one of ${STATES.join(', ')}`, command.name);
  }
  return state;
}

function readInstant({ command, text }: Invocation, option: string): number | undefined {
  const instant = text(option);
  if (instant === undefined) return undefined;
  const at = parseMoment(instant);
  if (at === null) throw new UsageError(`--${option} ${NOT_A_MOMENT}`, command.name);
  return at;
}
