/** Why a delivery that was not tried yet waits, and what ends the wait: the last entry of its timeline. */
import { FAILING_LIMIT_MS, isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { Moment } from '../parts/details.ts';
import { failingFacts } from '../parts/health.ts';
import { countOf, relativeTime, shortTime } from '../parts/text.ts';
import { failingAdvice, failingCauses } from '../record/causes.ts';
import { errorOf } from '../record/webhook-state.ts';
import { type Story, waitsForTurn } from './delivery-reading.ts';
import { silence } from './sending-again.ts';

type Waiting = Pick<Story, 'delivery' | 'webhook' | 'ahead' | 'before' | 'failsSince' | 'succeededAt' | 'causes'> & {
  /** The customer who reads it; null: the operator. */
  readonly reader: string | null;
};

/** None unless it waits for its first attempt. */
export function turnMoments(story: Waiting, now: number): Moment[] {
  const { delivery, webhook } = story;
  if (!waitsForTurn(delivery)) return [];
  const { webhookName } = delivery;
  const runs = isRunnable(webhook.progress.state);
  return [
    {
      id: 'turn',
      at: null,
      title: runs ? 'Waits for its turn' : html`Not tried: ${webhookName} ${silence(webhook.progress)}`,
      tone: 'info',
      icon: 'clock',
      // The notice above has the reason of a stop.
      ...(runs && { text: html`${placeText(story, now)}${failingText(story, now)}` }),
    },
  ];
}

/** `71 deliveries are before it. #226 is tried next, in 30 seconds.` Without an order, it says only how many others wait. */
function placeText({ webhook, ahead, before }: Waiting, now: number): Html | null {
  if (webhook.ordered === false && before !== null && before > 0)
    return html`<p>${countOf(before, 'older delivery', undefined, 'older deliveries')} ${before === 1 ? 'waits' : 'wait'} too.</p>`;
  if (webhook.ordered !== true || (ahead === null && (before ?? 0) <= 0)) return null;
  const count =
    before === null || before <= 0
      ? null
      : html`${countOf(before, 'delivery', undefined, 'deliveries')} ${before === 1 ? 'is' : 'are'} before it. `;
  const at = ahead?.nextAttemptAt ?? null;
  const next =
    ahead === null
      ? null
      : html`<a href="/deliveries/${ahead.id}">#${ahead.offset}</a> is tried next${
          at === null || at <= now ? '' : html`, ${relativeTime(at, now)}`
        }.`;
  return html`<p>${count}${next}</p>`;
}

function failingText(waiting: Waiting, now: number): Html | null {
  const { delivery, webhook, failsSince: since, succeededAt, causes, reader } = waiting;
  const { state, failingSinceAt } = webhook.progress;
  if (state !== 'failing' || failingSinceAt === null) return null;
  const { webhookName } = delivery;
  const error = errorOf(webhook.progress);
  const stopsAt = failingSinceAt + FAILING_LIMIT_MS;
  return html`
    <p>
      ${failingFacts({ since, succeededAt, error, causes: failingCauses(causes, error) }, now)}
      ${' '}
      ${failingAdvice(causes, error, reader)}
    </p>
    <p>
      If no delivery arrives, ${webhookName} stops
      ${relativeTime(stopsAt, now)} (${shortTime(stopsAt)}), and this one waits until it is started.
    </p>
  `;
}
