/** `sallyport deliveries …`: list, show and replay deliveries. */
import { COMMAND_LINE } from '../domain/acting.ts';
import type { Delivery, DeliveryState } from '../domain/webhook.ts';
import { NOT_A_MOMENT, parseMoment } from '../kernel/schemas.ts';
import { definedFields } from '../kernel/validation.ts';
import type { Composed } from '../services/compose.ts';
import { type AttemptView, viewAttempt, viewDelivery } from '../webhooks/deliveries.ts';
import type { CommandGroup, Invocation, Operand } from './command.ts';
import { UsageError } from './errors.ts';
import { PAGE_OPTIONS, readPageOptions } from './input.ts';
import { DATA_SETTINGS, recordCommand, withData } from './open.ts';
import { type Column, escapeControls, printPage, recordText, type Shown, tableText } from './output.ts';
import { recordId, withCustomers } from './resource.ts';
import { WEBHOOK } from './webhook.ts';

const ID: Operand = { name: 'id', description: 'The id of the delivery' };
const COLUMNS: readonly (string | Column)[] = [
  { field: 'eventType', title: 'event' },
  'webhook',
  'customer',
  'state',
  { field: 'publishedAt', title: 'at (UTC)', whole: true },
  'id',
];
const STATES: readonly DeliveryState[] = ['pending', 'delivered', 'dead', 'discarded'];

export const deliveryCommands: CommandGroup = [
  {
    name: 'deliveries list',
    summary: 'List deliveries, newest event first',
    examples: ['sallyport deliveries list --webhook Orders --state dead --since 2026-11-21T05:00:00Z'],
    options: {
      webhook: { value: '<id or name>', description: 'Only deliveries of this webhook' },
      state: {
        value: '<state>',
        choices: STATES,
        description: `Only deliveries in this state: ${STATES.join(', ')}`,
      },
      'event-type': { value: '<type>', description: 'Only deliveries of events of this type' },
      'ordering-key': { value: '<text>', description: 'Only deliveries of events with this ordering key' },
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
      const state = invocation.text('state') as DeliveryState | undefined;
      return withData(invocation, async (composed) => {
        const { services } = composed;
        const { limit, cursor } = readPageOptions(invocation);
        const webhook = invocation.text('webhook');
        const webhookId = webhook === undefined ? undefined : await recordId(WEBHOOK, composed, webhook);
        const [eventType, orderingKey] = [invocation.text('event-type'), invocation.text('ordering-key')];
        const filter = definedFields({ webhookId, state, eventType, orderingKey, since, until });
        const { items, next } = await services.deliveries.list(filter, cursor, limit);
        const page = { items: items.map(viewDelivery), nextCursor: next };
        await printPage(invocation, page, COLUMNS, invocation.json ? [] : await rowsOf(composed, items));
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
      withData(invocation, async (composed) => {
        const found = await composed.services.deliveries.get(invocation.operand('id'));
        const delivery = viewDelivery(found.delivery);
        const attempts = found.attempts.map((one) => viewAttempt(one, found.delivery.customerId));
        const { terminal, json } = invocation;
        const text = async (): Promise<string> =>
          `${recordText(await namedDelivery(composed, found.delivery))}\n${attemptsText(attempts, terminal.width)}`;
        await terminal.out(json ? `${JSON.stringify({ ...delivery, attempts })}\n` : await text());
        return 0;
      }),
  },
  recordCommand({
    name: 'deliveries replay',
    summary: 'Send a dead or delivered delivery again, or a pending one now',
    examples: ['sallyport deliveries replay 0198d2a0-5b1c-7000-8000-00000000002a'],
    operands: [ID],
    run: async ({ services }, { operand }) => ({
      record: viewDelivery(await services.deliveries.replay(operand('id'), COMMAND_LINE)),
    }),
  }),
];

/** The rows of the table, with the names of webhooks and customers. */
function rowsOf(composed: Composed, deliveries: readonly Delivery[]): Promise<readonly Shown[]> {
  const rows = deliveries.map((delivery) => {
    const { eventType, webhookName: webhook, customerId, state, createdAt, id } = delivery;
    const publishedAt = new Date(createdAt).toISOString().slice(5, 16).replace('T', ' ');
    return { eventType, webhook, customerId, state, publishedAt, id };
  });
  return withCustomers(composed, rows);
}

/** The delivery with the names of its webhook and customer. */
async function namedDelivery(composed: Composed, delivery: Delivery): Promise<Shown> {
  const { id, webhookId, ...more } = viewDelivery(delivery);
  const { webhookName: webhook, customerId } = delivery;
  const [named = {}] = await withCustomers(composed, [{ webhook, customerId }]);
  return { id, webhookId, ...named, ...more };
}

/**
 * The attempts, and below them what to do about the last one. `attemptNumber` begins at 1 when a delivery is sent again: people count on.
 */
function attemptsText(attempts: readonly AttemptView[], width: number | undefined): string {
  if (attempts.length === 0) return 'No attempt yet.\n';
  const resentAfter: number[] = [];
  const numbered = attempts.map((attempt, at) => {
    const isResent = at > 0 && attempt.attemptNumber <= (attempts[at - 1]?.attemptNumber ?? 0);
    if (isResent) resentAfter.push((resentAfter.at(-1) ?? 0) + (attempts[at - 1]?.attemptNumber ?? 0));
    return { ...attempt, attempt: (resentAfter.at(-1) ?? 0) + attempt.attemptNumber };
  });
  const columns = ['attempt', 'startedAt', 'delivered', { field: 'responseStatus', title: 'response' }, 'error'];
  const advice = attempts.at(-1)?.advice ?? null;
  const again = resentAfter.map((number) => `It was sent again after attempt ${number}.\n`).join('');
  return `${tableText(numbered, columns, width)}${again}${advice === null ? '' : `\n${escapeControls(advice)}\n`}`;
}

function readInstant({ command, text }: Invocation, option: string): number | undefined {
  const instant = text(option);
  if (instant === undefined) return undefined;
  const at = parseMoment(instant);
  if (at === null) throw new UsageError(`--${option} ${NOT_A_MOMENT}`, command.name);
  return at;
}
