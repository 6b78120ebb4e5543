/** `/deliveries/watch`: attempts as they are made, with filters. The list itself is also on the page of a webhook. */

import type { AttemptRecord } from '../../domain/batch.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import type { AttemptFeed, FeedPiece } from '../../observe/attempt-feed.ts';
import type { AttemptOutcome } from '../../store/port/deliveries.ts';
import { pause, type StreamEvent } from '../frame/event-stream.ts';
import { inLiveTurn } from '../frame/live-content.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readChoice, readText } from '../frame/query.ts';
import { newForm, selectField } from '../parts/fields.ts';
import { TAIL_BEGINS_WITH, TAIL_EVERY_MS, TAIL_SHOWN } from '../parts/limits.ts';
import { listView, liveList, withQuery } from '../parts/list.ts';
import { countOf, shortTime, spanText } from '../parts/text.ts';
import { ownHint, readHasCustomers, readOwners } from '../record/owner.ts';
import { outcomeBadge } from './attempt-details.ts';
import { type CarriedBy, readCarried } from './carried.ts';
import { ownFeed, readScope, scopeFields, withWebhookId } from './delivery-scope.ts';
import { DELIVERIES_PATH, deliveryTabs } from './delivery-tabs.ts';

const PATH = `${DELIVERIES_PATH}/watch`;
const STREAM = `${DELIVERIES_PATH}/live`;

export function deliveryLivePages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, store } = dependencies;
  /** Beside webhooks of customers, one of the operator seems to lack its owner. */
  const readHints = async (ids: readonly string[]): Promise<(id: string) => Html | null> => {
    const { hintOf } = await readOwners(store, 'webhook', ids);
    const hasOwn = store.customerId === null && ids.some((id) => hintOf(id) === null);
    const own = hasOwn && (await readHasCustomers(store)) ? ownHint() : null;
    return (id) => hintOf(id) ?? own;
  };
  const webhookOf = async (id: string): Promise<TailWebhook | null> => {
    const webhook = await store.webhooks.get(id);
    if (webhook === null) return null;
    return { id, name: webhook.name, owner: (await readHints([id]))(id) };
  };
  const webhooksOf = async (attempts: readonly AttemptRecord[]): Promise<ReadonlyMap<number, TailWebhook>> => {
    const numbers = [...new Set(attempts.map(({ webhookNumber }) => webhookNumber))];
    const webhooks = [...(await store.directory.webhookNames(numbers))];
    const ids = webhooks.map(([, { id }]) => id);
    const hintOf = await readHints(ids);
    return new Map(webhooks.map(([number, { id, name }]) => [number, { id, name, owner: hintOf(id) }]));
  };
  return [
    pages.view(PATH, 'both', async (call) => {
      const query = await withWebhookId(store, call.query);
      const outcome = readOutcome(query);
      const scope = await readScope(dependencies, query);
      const attempts = await store.attempts.latest(TAIL_BEGINS_WITH, outcome, scope.numbers);
      const isStart = attempts.length === 0 && outcome === null && scope.numbers === null;
      const [webhooks, carried] = await Promise.all([webhooksOf(attempts), readCarried(store, attempts)]);
      const results = tail({
        attempts,
        carried,
        webhookOf: ({ webhookNumber }) => webhooks.get(webhookNumber) ?? null,
        stream: withQuery(STREAM, query, {}),
        ...(isStart && { nothing: NO_ATTEMPTS }),
      });
      const outcomeField = selectField(newForm({ outcome }), { name: 'outcome', label: 'Outcome', choices: OUTCOMES });
      return listView({
        title: 'Live',
        above: html`${deliveryTabs('live')}<p class="lead">${LEAD}</p>`,
        path: PATH,
        query,
        filters: isStart ? [] : [...(await scopeFields(store, scope)), outcomeField],
        layout: 'live-tail',
        results,
      });
    }),
    pages.stream(STREAM, 'both', async ({ query, signal }) => {
      const id = readText(query, 'webhook');
      // A refusal comes before the stream.
      await readScope(dependencies, query);
      return tailEvents(
        ownFeed(dependencies, query),
        { webhookId: id, outcome: readOutcome(query) },
        { webhookOf, carriedBy: (attempts) => readCarried(store, attempts) },
        signal,
      );
    }),
  ];
}

const LEAD = `Every request to a receiver, as it is made, from the latest ${TAIL_BEGINS_WITH} on: deliveries, heartbeats, test events.`;

const NO_ATTEMPTS = html`
  No attempts yet. New ones appear here: to see one, send a test event from the page of a
  <a href="/webhooks">webhook</a>.
`;

const OUTCOMES = [
  { value: '', label: 'Any outcome' },
  { value: 'failed', label: 'Failed' },
  { value: 'delivered', label: 'Succeeded' },
];

function readOutcome(query: URLSearchParams): AttemptOutcome | null {
  return readChoice(query, 'outcome', ['failed', 'delivered'] as const);
}

/** `owner`: the customer, in the operator's portal. */
type TailWebhook = { readonly id: string; readonly name: string; readonly owner: Html | null };

/** The webhook of the attempt; null if it was deleted. */
type WebhookOf = (attempt: AttemptRecord) => TailWebhook | null;

type Tail = {
  /** Newest first. */
  readonly attempts: readonly AttemptRecord[];
  readonly webhookOf: WebhookOf;
  readonly carried: CarriedBy;
  /** The path of the stream of new attempts (`tailEvents`). */
  readonly stream: string;
  /** In place of the first attempt. */
  readonly nothing?: Html | string;
};

/** A live list that can be paused. Without the script it stays as it was when the page was loaded. */
export function tail({ attempts, webhookOf, carried, stream, nothing }: Tail): Html {
  const live = attributes({ 'data-hx-sse:connect': stream, 'data-hx-swap': 'afterbegin' });
  return html`
    <div class="tail-box" data-tail="${TAIL_SHOWN}">
      <div class="tail-head">
        <span class="tail-live quiet" data-tail-live hidden></span>
        <button type="button" class="button button-plain" data-tail-pause aria-pressed="false" hidden>Pause</button>
        <span class="quiet" data-tail-still>Reload the page to see newer attempts.</span>
      </div>
      ${attemptList(attempts, { webhookOf, carried, nothing }, live)}
    </div>
  `;
}

/** The facts that a list shows of its attempts. */
type Telling = Pick<Tail, 'webhookOf' | 'carried'> & { readonly nothing?: Tail['nothing'] | undefined };

/** Attempts, newest first. */
export function attemptList(attempts: readonly AttemptRecord[], telling: Telling, live: Html | null = null): Html {
  const rows = attempts.map((attempt, at) => row(attempt, telling, { above: attempts[at - 1] }));
  return liveList(
    ['attempt', 'attempts'],
    html`
      <div class="tail-heads" aria-hidden="true">${HEADS.map((head) => html`<span>${head}</span>`)}</div>
      <ol class="tail" tabindex="0" aria-label="Attempts, newest first"${live}>
        ${rows}
        <li class="tail-empty">${telling.nothing ?? 'No attempts yet. New ones appear here.'}</li>
      </ol>
    `,
  );
}

/** Above a wide list. A row says it in words for readers who do not see them. */
const HEADS = ['Response', 'Event', 'Webhook', 'Attempt', 'Request took', 'Started'];

/** The attempts that a live list shows. */
type TailFilter = { readonly webhookId: string | null; readonly outcome: AttemptOutcome | null };

/** Reads what a live list tells of new attempts. */
type Reading = {
  webhookOf(webhookId: string): Promise<TailWebhook | null>;
  carriedBy(attempts: readonly AttemptRecord[]): Promise<CarriedBy>;
};

/** The stream of a live list: groups of rows, newest first, a few a second at most. */
export async function* tailEvents(
  feed: AttemptFeed,
  { webhookId, outcome }: TailFilter,
  reading: Reading,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const fits = (attempt: AttemptRecord): boolean => outcome === null || outcomeOf(attempt) === outcome;
  for await (const piece of feed.subscribe(webhookId, signal, fits)) {
    yield { html: await inLiveTurn(feed.owner, () => pieceRows(piece, reading)) };
    await pause(TAIL_EVERY_MS, signal);
  }
}

function outcomeOf({ errorClass }: AttemptRecord): AttemptOutcome {
  return errorClass === null ? 'delivered' : 'failed';
}

async function pieceRows({ items, dropped }: FeedPiece, { webhookOf, carriedBy }: Reading): Promise<Html> {
  const shown = items.slice(-TAIL_SHOWN);
  const left = dropped + items.length - shown.length;
  const ids = [...new Set(shown.map(({ webhookId }) => webhookId))];
  const [carried, ...named] = await Promise.all([
    carriedBy(shown.map(({ attempt }) => attempt)),
    ...ids.map(async (id) => [id, await webhookOf(id)] as const),
  ]);
  const webhooks = new Map(named);
  const newestFirst = shown.toReversed();
  const rows = newestFirst.map(({ webhookId, attempt }, at) =>
    row(
      attempt,
      { webhookOf: () => webhooks.get(webhookId) ?? null, carried },
      { above: newestFirst[at - 1]?.attempt, isNew: true },
    ),
  );
  const note =
    left === 0
      ? null
      : html`
        <li class="tail-note">
          ${countOf(left, 'earlier attempt')}${' '}${left === 1 ? 'is' : 'are'} not shown. They came too fast.
        </li>
      `;
  return html`${rows}${note}`;
}

/** The script goes on with it as rows come in (`assets/live.js`). */
function row(
  attempt: AttemptRecord,
  { webhookOf, carried }: Telling,
  { above, isNew = false }: { readonly above: AttemptRecord | undefined; readonly isNew?: boolean },
): Html {
  const { id, startedAt, timings, errorClass, errorMessage } = attempt;
  const webhook = webhookOf(attempt);
  const name =
    webhook === null
      ? null
      : html`
        ${DOT}<span class="tail-webhook"><a class="plain-link" href="/webhooks/${webhook.id}">${webhook.name}</a> ${webhook.owner}</span>
      `;
  const hidden = attributes({ hidden: isRepeated(attempt, above) });
  const took = timings.totalMs === null ? null : spanText(timings.totalMs);
  return html`
    <li id="attempt-${id}" class="${isNew ? 'tail-row is-new' : 'tail-row'}">
      <span>${outcomeBadge(attempt)}</span>
      <span class="tail-what">
        <span class="tail-event">${what(attempt, webhook, carried)}</span>${name}${numberOf(attempt)}
        ${isTold(attempt) ? null : html` <span class="cell-hint"${hidden}>${errorMessage ?? errorClass}</span>`}
      </span>
      <span class="tail-took">${took === null ? null : html`<span class="tail-label">took </span>${took}`}</span>
      <span class="tail-when">${shortTime(startedAt)}</span>
    </li>
  `;
}

/** Whether the badge says all of the outcome: a status says that the receiver answered with it. */
function isTold({ errorClass, responseStatus }: AttemptRecord): boolean {
  return errorClass === null || (errorClass === 'http_status' && responseStatus !== null);
}

/** Whether the row above says the same of the same webhook: while a receiver is down, every attempt has one cause. */
function isRepeated(attempt: AttemptRecord, above: AttemptRecord | undefined): boolean {
  return (
    above !== undefined &&
    above.webhookNumber === attempt.webhookNumber &&
    above.errorClass === attempt.errorClass &&
    above.errorMessage === attempt.errorMessage &&
    !isTold(above)
  );
}

/** Between parts that a narrow screen has in one text. */
const DOT = html`<span class="tail-dot"> · </span>`;

/** The deliveries that it carried, with a link. */
function what(attempt: AttemptRecord, webhook: TailWebhook | null, carried: CarriedBy): Html {
  const { kind, firstOffset, lastOffset } = attempt;
  if (firstOffset === null || lastOffset === null) return html`${kind === 'test' ? 'test event' : 'heartbeat'}`;
  const isOne = firstOffset === lastOffset;
  const offsets = isOne ? `#${firstOffset}` : `#${firstOffset}-${lastOffset}`;
  const delivery = carried(attempt);
  if (delivery !== null) {
    const { id, eventType, subject } = delivery;
    const about = subject === null ? null : html` <span class="tail-subject">${subject}</span>`;
    return html`<a href="${DELIVERIES_PATH}/${id}">${eventType} ${offsets}</a>${about}`;
  }
  const label = isOne
    ? offsets
    : `${countOf(lastOffset - firstOffset + 1, 'delivery', undefined, 'deliveries')} ${offsets}`;
  const found = webhook === null ? null : `/deliveries?${new URLSearchParams({ webhook: webhook.id, q: offsets })}`;
  return found === null ? html`${label}` : html`<a href="${found}">${label}</a>`;
}

/** Of a delivery. A list that is narrow leaves out that it is the first one. */
function numberOf({ firstOffset, attemptNumber }: AttemptRecord): Html | null {
  if (firstOffset === null) return null;
  const place = attemptNumber === 1 ? 'tail-attempt is-first' : 'tail-attempt';
  return html`${DOT}<span class="${place}"><span class="tail-label">attempt </span>${attemptNumber}</span>`;
}
