/** The deliveries to endpoints in the last 24 hours, over all webhooks that send there. */
import { adviceForMessage, statusInMessage } from '../../domain/outcome.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { type Day, successRate, sumOfDays } from '../../observe/figures.ts';
import type { LastOutcomes } from '../../store/port/deliveries.ts';
import type { EndpointWebhook } from '../../store/port/directory.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { figures } from '../parts/details.ts';
import { errorWords } from '../parts/error-words.ts';
import { section } from '../parts/header.ts';
import { attemptsText, figureTone } from '../parts/health.ts';
import { lengthText, relativeTime, sentence, shareText } from '../parts/text.ts';
import { failsBriefly } from '../webhooks/webhook-history.ts';

/** Webhooks whose figures a list of endpoints reads: one look-up of 24 rows each. */
const ENDPOINT_WEBHOOKS_READ = 1000;

export type EndpointActivity = LastOutcomes & {
  /** A webhook that mostly delivers and fails only briefly is `running` here. */
  readonly webhooks: readonly EndpointWebhook[];
  readonly day: Day;
};

/** The activity of each endpoint by its id. Of more than `ENDPOINT_WEBHOOKS_READ` webhooks, the oldest ones are read. */
export async function readEndpointActivity(
  { store, figures: kept, clock }: Pick<SharedPageDependencies, 'store' | 'figures' | 'clock'>,
  endpointIds: readonly string[],
): Promise<(endpointId: string) => EndpointActivity> {
  const all = await store.directory.webhooksOf(endpointIds, ENDPOINT_WEBHOOKS_READ);
  const numbers = all.map(({ webhookNumber }) => webhookNumber);
  const [days, outcomes] = await Promise.all([kept.days(numbers), store.attempts.lastOutcomes(numbers)]);
  const byEndpoint = Map.groupBy(all, ({ endpointId }) => endpointId);
  const now = clock();
  return (endpointId) => {
    const webhooks = (byEndpoint.get(endpointId) ?? []).map((webhook) =>
      failsBriefly(webhook, days.get(webhook.webhookNumber), now) ? { ...webhook, state: 'running' as const } : webhook,
    );
    const last = webhooks.flatMap(({ webhookNumber }) => outcomes.get(webhookNumber) ?? []);
    const failures = last.flatMap(({ failure }) => failure ?? []);
    return {
      webhooks,
      day: sumOfDays(webhooks.flatMap(({ webhookNumber }) => days.get(webhookNumber) ?? [])),
      deliveredAt: last.reduce<number | null>(
        (latest, { deliveredAt }) => (deliveredAt === null ? latest : Math.max(latest ?? 0, deliveredAt)),
        null,
      ),
      failure: failures.toSorted((a, b) => b.at - a.at)[0] ?? null,
    };
  };
}

/** `answered 503, 3 minutes ago`, or nothing. The page of the endpoint has the whole sentence. */
export function lastError({ failure }: EndpointActivity, now: number): Html | null {
  if (failure === null) return null;
  const { errorClass, errorMessage } = failure;
  const status = statusInMessage(errorMessage);
  return html`
    <span class="one-line" title="${sentence(errorMessage ?? errorClass)}">
      ${status === null ? errorWords(errorClass) : `answered ${status}`}
    </span>
    <span class="cell-hint">${relativeTime(failure.at, now)}</span>
  `;
}

/** The recent attempts may all have failed although some of the day succeeded: then the hour is known. */
export function lastDelivery(
  { deliveredAt, day, webhooks }: Pick<EndpointActivity, 'deliveredAt' | 'day' | 'webhooks'>,
  now: number,
): Html {
  if (deliveredAt !== null) return relativeTime(deliveredAt, now);
  const ago = day.hours.toReversed().findIndex(({ attempts, failedAttempts }) => attempts > failedAttempts);
  if (ago < 0) return html`<span class="quiet">none</span>`;
  // At the end of that hour at the latest, and before the failures that the page tells of.
  const end = Math.min(now, (Math.floor(now / HOUR_MS) + 1 - ago) * HOUR_MS);
  const before = Math.min(end, allFailSince(webhooks) ?? now);
  return html`<span>about ${lengthText(Math.max(now - before, HOUR_MS))} ago</span>`;
}

const HOUR_MS = 3_600_000;

/** Since when all of the webhooks that run fail; null if one of them does not. */
export function allFailSince(webhooks: readonly Pick<EndpointWebhook, 'state' | 'failingSinceAt'>[]): number | null {
  const running = webhooks.filter(({ state }) => isRunnable(state));
  if (running.length === 0 || running.some(({ failingSinceAt }) => failingSinceAt === null)) return null;
  return Math.max(...running.map(({ failingSinceAt }) => failingSinceAt ?? 0));
}

/** The figures on the page of an endpoint of this customer; null if no webhook sends there. */
export function activitySection(customerId: string | null, activity: EndpointActivity, now: number): Html | null {
  const { webhooks, day, deliveredAt, failure } = activity;
  if (webhooks.length === 0) return null;
  const rate = successRate(day);
  const isLast = failure !== null && failure.at >= (deliveredAt ?? 0);
  return section({
    title: 'Deliveries',
    lead: 'From all webhooks that send here.',
    content: figures([
      {
        label: 'Succeeded, 24 h',
        value: rate === null ? 'none' : shareText(rate),
        tone: figureTone(rate),
        hint: rate === null ? 'no event was sent' : attemptsText(day),
      },
      {
        label: 'Last success',
        value: lastDelivery(activity, now),
        hint: deliveredAt === null ? undefined : 'accepted by the receiver',
      },
      {
        label: 'Last error',
        value: failure === null ? 'none' : relativeTime(failure.at, now),
        tone: isLast ? 'negative' : 'neutral',
        hint:
          failure === null
            ? 'in the recent attempts'
            : html`
              ${sentence(failure.errorMessage ?? failure.errorClass)}
              ${' '}
              ${isLast ? adviceForMessage(customerId, failure.errorClass, failure.errorMessage) : null}
            `,
      },
    ]),
  });
}
