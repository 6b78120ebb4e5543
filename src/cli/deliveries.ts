/** `sallyport deliveries …`: what was sent, what came of it, and sending again. */

import { NOT_A_MOMENT, parseMoment } from '../kernel/schemas.ts';
import { definedFields } from '../kernel/validation.ts';
import { COMMAND_LINE } from '../resources/acting.ts';
import { viewAttempt, viewDelivery } from '../webhooks/deliveries.ts';
import type { DeliveryState } from '../webhooks/delivery.ts';
import type { CommandGroup, Invocation, Operand } from './command.ts';
import { UsageError } from './errors.ts';
import { PAGE_OPTIONS, readPageOptions } from './input.ts';
import { DATA_SETTINGS, withData } from './open.ts';
import { printPage, printRecord, recordText, tableText } from './output.ts';

const ID: Operand = { name: 'id', description: "The delivery's id" };
/** An offset is one of its webhook's log: without that it says nothing. */
const COLUMNS = ['id', 'webhookId', 'offset', 'eventType', 'state', 'attemptCount', 'nextAttemptAt', 'createdAt'];
const STATES: readonly DeliveryState[] = ['pending', 'delivered', 'dead', 'discarded'];

export const deliveryCommands: CommandGroup = [
  {
    name: 'deliveries list',
    summary: 'List deliveries, newest event first',
    options: {
      webhook: { value: '<id>', description: 'Only those of this webhook' },
      state: { value: '<state>', description: `Only those in this state: ${STATES.join(', ')}` },
      'event-type': { value: '<type>', description: 'Only those of events of this type' },
      since: { value: '<instant>', description: 'Only events from here on, as 2026-11-21T05:00:00.000Z' },
      until: { value: '<instant>', description: 'Only events before this' },
      ...PAGE_OPTIONS,
    },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) => {
      const [since, until] = [readInstant(invocation, 'since'), readInstant(invocation, 'until')];
      if (since !== undefined && until !== undefined && until <= since)
        throw new UsageError('--until must be later than --since', invocation.command.name);
      const filter = definedFields({
        webhookId: invocation.text('webhook'),
        state: readState(invocation),
        eventType: invocation.text('event-type'),
        since,
        until,
      });
      return withData(invocation, async ({ services }) => {
        const { limit, cursor } = readPageOptions(invocation);
        const { items, next } = await services.deliveries.list(filter, cursor, limit);
        const page = { items: items.map(viewDelivery), nextCursor: next };
        await printPage(invocation, page, COLUMNS);
        return 0;
      });
    },
  },
  {
    name: 'deliveries show',
    summary: 'Show a delivery and its attempts',
    operands: [ID],
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services }) => {
        const found = await services.deliveries.get(invocation.operand('id'));
        const delivery = viewDelivery(found.delivery);
        const attempts = found.attempts.map(viewAttempt);
        const columns = ['startedAt', 'attemptNumber', 'delivered', 'responseStatus', 'error', 'advice'];
        const text = (): string =>
          `${recordText(delivery)}\n${attempts.length === 0 ? 'No attempt yet.\n' : tableText(attempts, columns)}`;
        await invocation.terminal.out(invocation.json ? `${JSON.stringify({ ...delivery, attempts })}\n` : text());
        return 0;
      }),
  },
  {
    name: 'deliveries replay',
    summary: 'Send a delivery again that is dead or was delivered',
    operands: [ID],
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services }) => {
        const delivery = await services.deliveries.replay(invocation.operand('id'), COMMAND_LINE);
        await printRecord(invocation, viewDelivery(delivery));
        return 0;
      }),
  },
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
