/** The latest attempts of one webhook or of all, updated live. */

import type { AttemptRecord } from '../../delivery/batch.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { TAIL_EVERY_MS, TAIL_SHOWN } from '../../kernel/limits/portal.ts';
import type { AttemptFeed, FeedPiece } from '../../observe/attempt-feed.ts';
import { outcomeBadge } from '../deliveries/attempt.ts';
import { pause, type StreamEvent } from '../event-stream.ts';
import { countOf } from '../parts/number.ts';
import { spanText, time } from '../parts/time.ts';

export type TailWebhook = { readonly id: string; readonly name: string };

/** The webhook of the attempt; null if it was deleted. */
export type WebhookOf = (attempt: AttemptRecord) => TailWebhook | null;

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
