/** The rows of the list of deliveries, a line each, and their selection. */
import type { Delivery } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { http } from '../../kernel/node-http.ts';
import type { LastAttempt } from '../../store/port/deliveries.ts';
import { isReplayable } from '../../webhooks/deliveries.ts';
import type { PageCall } from '../frame/call.ts';
import { submitButton } from '../parts/header.ts';
import { table } from '../parts/list.ts';
import { badge, stateBadge } from '../parts/mark.ts';
import { briefTime, countOf, shortTime, spanText } from '../parts/text.ts';
import { outcomeBadge } from './attempt-details.ts';
import type { FoundDeliveries, Searched } from './delivery-search.ts';
import { DELIVERIES_PATH } from './delivery-tabs.ts';
import { type StateCounts, searchHref } from './search-line.ts';
import { withTerms } from './search-text.ts';

export type DeliveryRows = {
  readonly asked: Searched;
  readonly listed: FoundDeliveries;
  readonly counts: StateCounts;
  readonly query: URLSearchParams;
};

/** `back`: where to go on after selected deliveries were sent again. */
export function deliveryTable(call: PageCall, rows: DeliveryRows, back: string, empty: Html): Html {
  const { items, attempts } = rows.listed;
  const { terms, filter } = rows.asked;
  // Pending ones cannot be selected, and most of a list without filters may be pending.
  const mayReplay = call.may('operator') && terms.length > 0 && filter.state !== 'pending';
  const shown = table({
    caption: 'Deliveries',
    columns: [
      ...(mayReplay ? [{ label: 'Select', kind: 'actions' as const, head: SELECT_ALL }] : []),
      { label: 'State' },
      { label: 'Event', kind: 'main' },
      { label: 'Subject' },
      { label: 'Webhook' },
      { label: 'Response' },
      { label: 'Outcome' },
      { label: 'Published' },
    ],
    rows: items.map((delivery, at) => [
      ...(mayReplay ? [selection(delivery)] : []),
      ...row(delivery, attempts[at] ?? null, call.now, rows),
    ]),
    rowIds: items.map(({ id }) => `delivery-${id}`),
    live: ['delivery', 'deliveries'],
    empty,
  });
  // The form stays although nothing can be selected, so that the rows stay the same elements.
  if (!mayReplay || items.length === 0) return shown;
  return html`
    <form method="post" action="${DELIVERIES_PATH}/replay-selected" class="results selection" data-selection data-once>
      ${call.csrf}
      <input type="hidden" name="back" value="${back}">
      ${shown}
      <div class="selection-bar">
        <label class="selection-all" hidden><input type="checkbox" data-select-all-boxes> All on this page</label>
        ${submitButton({ label: 'Send selected again', kind: 'plain', icon: 'replay' })}
        <span class="quiet" data-selected role="status"></span>
      </div>
    </form>
  `;
}

/** The script shows it. A narrow list, which has no heads, has it in the bar. */
const SELECT_ALL = html`<input type="checkbox" data-select-all-boxes aria-label="Select all on this page" hidden>`;

function selection(delivery: Delivery): Html | null {
  if (!isReplayable(delivery)) return null;
  const { id, eventType, offset } = delivery;
  return html`
    <input type="checkbox" id="select-${id}" name="chosen" value="${id}" aria-label="Select ${eventType} #${offset}">
  `;
}

function row(
  delivery: Delivery,
  attempt: LastAttempt | null,
  now: number,
  { asked, listed, query }: DeliveryRows,
): Html[] {
  const { subject, webhookId, webhookName, createdAt, customerId } = delivery;
  const ofWebhook = searchHref(
    DELIVERIES_PATH,
    query,
    withTerms(asked.terms, [{ field: 'webhook', value: webhookId }]),
  );
  return [
    deliveryBadge(delivery),
    eventCell(delivery),
    subjectCell(subject),
    html`
      <a class="plain-link" href="${ofWebhook}" title="${webhookName}">${webhookName}</a>
      ${listed.ownerIn(customerId)}
    `,
    responseCell(delivery, attempt),
    progressOf(delivery, now),
    shortTime(createdAt),
  ];
}

/** A pending delivery of a webhook that fails or does not run needs attention. */
export function deliveryBadge({ state, webhookState }: Pick<Delivery, 'state' | 'webhookState'>): Html {
  const isHeld = state === 'pending' && webhookState !== 'running' && webhookState !== 'started';
  return isHeld ? badge('caution', state, 'clock') : stateBadge(state);
}

/** `order.created #954`: the name of a delivery among those of its webhook. */
export function eventCell({ id, eventType, offset }: Pick<Delivery, 'id' | 'eventType' | 'offset'>): Html {
  return html`
    <a href="${DELIVERIES_PATH}/${id}" title="${eventType}">${eventType}</a>
    ${' '}
    <span class="cell-hint cell-offset">#${offset}</span>
  `;
}

export function subjectCell(subject: string | null): Html {
  return subject === null ? html`<span class="quiet">–</span>` : subjectLink(subject);
}

function subjectLink(subject: string): Html {
  const href = searchHref(DELIVERIES_PATH, new URLSearchParams(), [{ field: 'subject', value: subject }]);
  return html`<a class="plain-link" href="${href}" title="${subject}">${subject}</a>`;
}

/** Of a delivery that was not tried yet. */
const NO_RESPONSE = html`<span class="quiet">–</span>`;

/** The status or the error, the attempts if there was more than one, and the reason of a failure in a few words. */
export function responseCell({ attemptCount }: Delivery, attempt: LastAttempt | null): Html {
  if (attempt === null) return NO_RESPONSE;
  const { errorClass, errorMessage, responseStatus } = attempt;
  const isStatus = errorClass === 'http_status' && responseStatus !== null;
  const reason = errorClass === null ? null : isStatus ? http.STATUS_CODES[responseStatus] : errorMessage;
  return html`
    ${outcomeBadge(attempt)}
    ${attemptsHint(attemptCount)}
    ${reason === null || reason === undefined ? null : html`<span class="cell-hint" title="${reason}">${reason}</span>`}
  `;
}

export function isDue({ nextAttemptAt }: Delivery, now: number): boolean {
  return nextAttemptAt !== null && nextAttemptAt <= now;
}

/** `×10`, unless it is one. */
function attemptsHint(count: number): Html | null {
  if (count <= 1) return null;
  return html`<span class="cell-hint cell-count" title="${countOf(count, 'attempt')}">×${count}</span>`;
}

/** How long after its publication it ended, or what it waits for. Not the duration of a request. */
export function progressOf(delivery: Delivery, now: number): Html {
  const { state, createdAt, settledAt, nextAttemptAt, isLeased, webhookState, webhookMode } = delivery;
  if (state !== 'pending') {
    if (settledAt === null) return html`<span class="quiet">–</span>`;
    return html`<span title="After it was published">after ${spanText(Math.max(0, settledAt - createdAt))}</span>`;
  }
  if (isLeased) return html`in progress`;
  if (!isRunnable(webhookState)) return html`webhook ${webhookState === 'failed' ? 'failed' : 'stopped'}`;
  if (webhookMode === 'pull') return html`not acknowledged`;
  if (nextAttemptAt === null && webhookState === 'failing')
    return html`<span title="It is sent when another delivery of the webhook succeeds.">held back</span>`;
  if (nextAttemptAt === null) return html`not tried yet`;
  return html`retry ${briefTime(nextAttemptAt, now)}`;
}
