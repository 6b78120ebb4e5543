/** Live attempts: the page `/deliveries/watch` for all webhooks, and the list and its streams, which the page of a webhook has too. */

import type { AttemptRecord } from '../../delivery/batch.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { CHOICES_MAX, TAIL_BEGINS_WITH, TAIL_EVERY_MS, TAIL_SHOWN } from '../../kernel/limits/portal.ts';
import type { AttemptFeed, FeedPiece } from '../../observe/attempt-feed.ts';
import { pause, type StreamEvent } from '../event-stream.ts';
import type { PageDependencies, PageRoute } from '../page.ts';
import { pageHeader } from '../parts/header.ts';
import { countOf, spanText, time } from '../parts/text.ts';
import { readText } from '../query.ts';
import { outcomeBadge } from './attempt.ts';
import { DELIVERIES_PATH } from './list.ts';

const PATH = `${DELIVERIES_PATH}/watch`;
const STREAM = `${DELIVERIES_PATH}/live`;

export function deliveryLivePages({ pages, services, store, feed }: PageDependencies): PageRoute[] {
  const webhookOf = async (id: string): Promise<TailWebhook | null> => store.webhooks.get(id);
  return [
    pages.view(PATH, async (call) => {
      const id = readText(call.query, 'webhook');
      const webhook = id === null ? null : await services.webhooks.get(id);
      const attempts =
        webhook === null
          ? await store.attempts.latest(TAIL_BEGINS_WITH)
          : await store.attempts.latestOf(webhook.progress.webhookNumber, TAIL_BEGINS_WITH);
      const all = webhook === null ? await store.webhooks.list('', CHOICES_MAX) : [webhook];
      const byNumber = new Map(all.map((one) => [one.progress.webhookNumber, one]));
      const list = tail({
        attempts,
        webhookOf: ({ webhookNumber }) => byNumber.get(webhookNumber) ?? null,
        isOfAll: webhook === null,
        stream: webhook === null ? STREAM : `/webhooks/${webhook.id}/live`,
      });
      const lead =
        webhook === null
          ? 'Every request to a receiver, as it is made.'
          : html`Every request for <a href="/webhooks/${webhook.id}">${webhook.name}</a>, as it is made.`;
      const crumbs = [{ href: DELIVERIES_PATH, label: 'Deliveries' }];
      return { title: 'Live', content: html`${pageHeader({ title: 'Live', lead, crumbs })}${list}` };
    }),
    pages.stream(STREAM, ({ signal }) => tailEvents(feed, null, webhookOf, signal)),
    pages.stream('/webhooks/{id}/live', async ({ params, signal }) => {
      const { id } = await services.webhooks.get(params.id ?? '');
      return tailEvents(feed, id, webhookOf, signal);
    }),
  ];
}

export type TailWebhook = { readonly id: string; readonly name: string };

/** The webhook of the attempt; null if it was deleted. */
type WebhookOf = (attempt: AttemptRecord) => TailWebhook | null;

export type Tail = {
  /** Newest first. */
  readonly attempts: readonly AttemptRecord[];
  readonly webhookOf: WebhookOf;
  /** Shows the webhook of each row. */
  readonly isOfAll: boolean;
  /** The path of the stream of new attempts (`tailEvents`). */
  readonly stream: string;
};

/** A live list. Without the script it stays as it was when the page was loaded. */
export function tail({ attempts, webhookOf, isOfAll, stream }: Tail): Html {
  const rows = attempts.map((attempt) => row(attempt, webhookOf(attempt), isOfAll));
  const live = attributes({ 'hx-sse:connect': stream, 'hx-swap': 'afterbegin' });
  return html`<div class="tail-box" data-tail="${TAIL_SHOWN}"><div class="tail-head"><span class="tail-live quiet" data-tail-live hidden></span><button type="button" class="button button-plain" data-tail-pause aria-pressed="false" hidden>Pause</button><span class="quiet" data-tail-still>Load the page again to see newer ones.</span></div><ol class="tail" tabindex="0" aria-label="Attempts, the newest first"${live}>${rows}<li class="tail-empty">Nothing was sent yet. Attempts appear here as they are made.</li></ol></div>`;
}

/** The stream of a live list: batches of rows, newest first, a few a second at most. */
export async function* tailEvents(
  feed: AttemptFeed,
  webhookId: string | null,
  webhookOf: (webhookId: string) => Promise<TailWebhook | null>,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  for await (const piece of feed.subscribe(webhookId, signal)) {
    yield { html: await pieceRows(piece, webhookId === null, webhookOf) };
    await pause(TAIL_EVERY_MS, signal);
  }
}

async function pieceRows(
  { items, dropped }: FeedPiece,
  isOfAll: boolean,
  webhookOf: (webhookId: string) => Promise<TailWebhook | null>,
): Promise<Html> {
  const shown = items.slice(-TAIL_SHOWN);
  const left = dropped + items.length - shown.length;
  const rows: Html[] = [];
  for (const { webhookId, attempt } of shown) rows.unshift(row(attempt, await webhookOf(webhookId), isOfAll, true));
  const note =
    left === 0
      ? null
      : html`<li class="tail-note">${countOf(left, 'attempt')} before ${left === 1 ? 'is' : 'are'} left out: they came faster than they can be read.</li>`;
  return html`${rows}${note}`;
}

function row(attempt: AttemptRecord, webhook: TailWebhook | null, isOfAll: boolean, isNew = false): Html {
  const { startedAt, timings, errorClass, errorMessage } = attempt;
  const name = webhook === null ? null : html`<a class="plain-link" href="/webhooks/${webhook.id}">${webhook.name}</a>`;
  const took = timings.totalMs === null ? null : spanText(timings.totalMs);
  return html`<li class="${isNew ? 'tail-row is-new' : 'tail-row'}"><span class="tail-when">${time(startedAt)}</span><span>${outcomeBadge(attempt)}</span><span class="tail-what">${isOfAll ? html`<strong>${name}</strong> ` : null}${what(attempt, webhook)}${errorClass === null ? null : html`<span class="cell-hint">${errorMessage}</span>`}</span><span class="tail-took">${took}</span></li>`;
}

/** The records that it carried, with a link. */
function what({ kind, firstOffset, lastOffset, attemptNumber }: AttemptRecord, webhook: TailWebhook | null): Html {
  if (firstOffset === null || lastOffset === null) return html`${kind === 'test' ? 'test event' : 'heartbeat'}`;
  const isOne = firstOffset === lastOffset;
  const offsets = isOne ? `#${firstOffset}` : `#${firstOffset}-${lastOffset}`;
  const found = webhook === null ? null : `/deliveries?${new URLSearchParams({ webhook: webhook.id, q: offsets })}`;
  const label = isOne ? `record ${offsets}` : `${countOf(lastOffset - firstOffset + 1, 'record')} ${offsets}`;
  const records = found === null ? html`${label}` : html`<a href="${found}">${label}</a>`;
  return html`${records}${attemptNumber === 1 ? null : html`, attempt ${attemptNumber}`}`;
}
