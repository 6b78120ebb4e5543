/** `sallyport deliveries …`: list, show and replay deliveries. */
import { COMMAND_LINE } from '../domain/acting.ts';
import type { AttemptRecord } from '../domain/batch.ts';
import type { Delivery, DeliveryState } from '../domain/webhook.ts';
import { isRunnable } from '../domain/webhook-states.ts';
import { NOT_A_MOMENT, parseMoment } from '../kernel/schemas.ts';
import { definedFields } from '../kernel/validation.ts';
import type { Composed } from '../services/compose.ts';
import { type AttemptView, viewAttempt, viewDelivery, viewWithAttempts } from '../webhooks/deliveries.ts';
import { type NumberedAttempt, numbered, replayEntries, resendsOf } from '../webhooks/sent-again.ts';
import type { CommandGroup, Invocation, Operand } from './command.ts';
import { UsageError } from './errors.ts';
import { PAGE_OPTIONS, readPageOptions } from './input.ts';
import { dataCommand, recordCommand } from './open.ts';
import { type Column, escapeControls, printPage, recordText, type Shown, tableText } from './output.ts';
import { recordId, withCustomers } from './resource.ts';
import { namedRecord } from './text/named-record.ts';
import { WEBHOOK } from './webhook.ts';

const ID: Operand = { name: 'id', description: 'The id of the delivery' };
/** Events, names and answers are never cut to less than this. With the time and the id they fill 100 columns. */
const EVENT_LEAST = 16;
const NAME_LEAST = 8;
const STATE_LEAST: number = 'pending 500'.length;
const COLUMNS: readonly (string | Column)[] = [
  { field: 'eventType', title: 'event', least: EVENT_LEAST },
  { field: 'webhook', least: NAME_LEAST },
  { field: 'customer', least: NAME_LEAST },
  { field: 'state', least: STATE_LEAST },
  { field: 'publishedAt', title: 'at (UTC)', whole: true },
  'id',
];
const STATES: readonly DeliveryState[] = ['pending', 'delivered', 'dead', 'discarded'];

export const deliveryCommands: CommandGroup = [
  dataCommand({
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
    check: readPeriod,
    run: async (composed, invocation) => {
      const { limit, cursor } = readPageOptions(invocation);
      const webhook = invocation.text('webhook');
      const webhookId = webhook === undefined ? undefined : await recordId(WEBHOOK, composed, webhook);
      const state = invocation.text('state') as DeliveryState | undefined;
      const [eventType, orderingKey] = [invocation.text('event-type'), invocation.text('ordering-key')];
      const filter = definedFields({ webhookId, state, eventType, orderingKey, ...readPeriod(invocation) });
      const { items, next } = await composed.services.deliveries.list(filter, cursor, limit);
      const page = { items: items.map(viewDelivery), nextCursor: next };
      await printPage(invocation, page, COLUMNS, invocation.json ? [] : await rowsOf(composed, items));
    },
  }),
  dataCommand({
    name: 'deliveries show',
    summary: 'Show a delivery and its attempts',
    examples: ['sallyport deliveries show 0198d2a0-5b1c-7000-8000-00000000002a'],
    operands: [ID],
    run: async (composed, invocation) => {
      const found = await composed.services.deliveries.get(invocation.operand('id'));
      const { terminal, json } = invocation;
      const text = json ? JSON.stringify(viewWithAttempts(found)) : await shownText(composed, found, terminal.width);
      await terminal.out(json ? `${text}\n` : text);
    },
  }),
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

/** The rows of the table, with the names of webhooks and customers, and the last answer. */
async function rowsOf(composed: Composed, deliveries: readonly Delivery[]): Promise<readonly Shown[]> {
  const last = await composed.store.attempts.lastOf(deliveries);
  const rows = deliveries.map((delivery, at) => {
    const { eventType, webhookName: webhook, customerId, createdAt, id } = delivery;
    const publishedAt = new Date(createdAt).toISOString().slice(5, 16).replace('T', ' ');
    // A delivered one was answered with success, so its answer is left out.
    const answer = delivery.state === 'delivered' ? null : (last[at]?.responseStatus ?? last[at]?.errorClass);
    const state = answer == null ? delivery.state : `${delivery.state} ${answer}`;
    return { eventType, webhook, customerId, state, publishedAt, id };
  });
  return withCustomers(composed, rows);
}

const RESPONSE: Column = { field: 'responseStatus', title: 'response' };

type AttemptRow = AttemptView & { readonly attempt: number; readonly took: string | null };

async function shownText(
  composed: Composed,
  { delivery, attempts: made }: { readonly delivery: Delivery; readonly attempts: readonly AttemptRecord[] },
  width: number | undefined,
): Promise<string> {
  const { attempts } = numbered(made, resendsOf(delivery, made, await replayEntries(composed.store, delivery)));
  const { attemptCount, ...shown } = viewDelivery(delivery);
  const record = {
    ...(await namedRecord(composed, { ...shown, customerId: delivery.customerId })),
    attempts: Math.max(attemptCount, attempts.at(-1)?.number ?? 0),
  };
  const waits = await waitingText(composed, delivery, attempts.length > 0);
  const again = delivery.state === 'dead' ? `Then send it again: sallyport deliveries replay ${delivery.id}\n` : '';
  return `${recordText(record)}${waits}\n${attemptsText(attempts, delivery.customerId, width)}${again}`;
}

/** Tells what a pending delivery waits for, if that is not its next attempt. `wasTried`: now, or before it was sent again. */
async function waitingText(
  { services }: Composed,
  { state, attemptCount, webhookId }: Delivery,
  wasTried: boolean,
): Promise<string> {
  if (state !== 'pending') return '';
  const { mode, progress } = await services.webhooks.get(webhookId);
  const queued = attemptCount === 0 && wasTried ? 'It is queued to be sent again.' : null;
  const stopped =
    mode === 'pull' || isRunnable(progress.state)
      ? null
      : `Its webhook is ${progress.state}, so it waits. Start it: sallyport webhook start ${webhookId}`;
  const sentences = [queued, stopped].filter((one) => one !== null);
  return sentences.length === 0 ? '' : `\n${sentences.join(' ')}\n`;
}

/** The attempts, and below them after which of them it was sent again, and what to do about the last one. */
function attemptsText(
  attempts: readonly NumberedAttempt[],
  customerId: string | null,
  width: number | undefined,
): string {
  if (attempts.length === 0) return 'No attempt yet.\n';
  const rows = attempts.map((attempt) => attemptRow(attempt, customerId));
  const columns = ['attempt', 'startedAt', 'delivered', RESPONSE, 'took', 'error'];
  const bases = new Set(attempts.map(({ number, attemptNumber }) => number - attemptNumber));
  const again = [...bases].filter((base) => base > 0).map((base) => `It was sent again after attempt ${base}.\n`);
  const advice = rows.at(-1)?.advice ?? null;
  const advised = advice === null ? '' : `\n${escapeControls(advice)}\n`;
  return `${tableText(rows, columns, width)}${again.join('')}${advised}`;
}

function attemptRow(attempt: NumberedAttempt, customerId: string | null): AttemptRow {
  const { totalMs } = attempt.timings;
  const took = totalMs === null ? null : `${Math.round(totalMs)} ms`;
  return { ...viewAttempt(attempt, customerId), attempt: attempt.number, took };
}

/** Throws `UsageError` for an empty period. */
function readPeriod(invocation: Invocation): {
  readonly since: number | undefined;
  readonly until: number | undefined;
} {
  const [since, until] = [readInstant(invocation, 'since'), readInstant(invocation, 'until')];
  if (since !== undefined && until !== undefined && until <= since)
    throw new UsageError('--until must be later than --since', invocation.command.name);
  return { since, until };
}

function readInstant({ command, text }: Invocation, option: string): number | undefined {
  const instant = text(option);
  if (instant === undefined) return undefined;
  const at = parseMoment(instant);
  if (at === null) throw new UsageError(`--${option} ${NOT_A_MOMENT}`, command.name);
  return at;
}
