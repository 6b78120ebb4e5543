/** The deliveries to endpoints in the last 24 hours, over all webhooks that send there. */
import { statusInMessage } from '../../domain/outcome.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { type Day, successRate, sumOfDays } from '../../observe/figures.ts';
import type { LastOutcomes } from '../../store/port/deliveries.ts';
import type { EndpointWebhook } from '../../store/port/directory.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { figures } from '../parts/details.ts';
import { errorWords } from '../parts/error-words.ts';
import { attemptsText, figureTone } from '../parts/health.ts';
import { notice } from '../parts/mark.ts';
import { countText, lengthText, relativeTime, sentence, shareText } from '../parts/text.ts';
import {
  advisedCause,
  type Cause,
  credentialsLink,
  deadCauses,
  failingAdvice,
  type NamedEndpoint,
} from '../record/causes.ts';
import { type DeadRecords, deadKept, deadText } from '../record/dead-records.ts';
import { causeSentence, failsBriefly, failuresOf, readFailsSince, readLastDelivered } from '../record/webhook-state.ts';

/** Webhooks whose figures a list of endpoints reads: one look-up of 24 rows each. */
const ENDPOINT_WEBHOOKS_READ = 1000;

/** Webhooks without a recent success whose logs are searched for the last one. */
const LOGS_SEARCHED = 50;

/** Webhooks of an endpoint whose dead deliveries and causes its page reads, the failing ones first. */
export const FAILURES_OF = 20;

export type EndpointActivity = LastOutcomes & {
  /** Newest first. A webhook that mostly delivers and fails only briefly is `running` here. */
  readonly webhooks: readonly EndpointWebhook[];
  /** Of all of them. */
  readonly day: Day;
  readonly dayOf: (webhookNumber: number) => Day | undefined;
  /** Whether it is known that no delivery ever succeeded. */
  readonly isUndelivered: boolean;
};

/** The activity of each endpoint by its id. Of more than `ENDPOINT_WEBHOOKS_READ` webhooks, the newest ones are read. */
export async function readEndpointActivity(
  { store, figures: kept, clock }: Pick<SharedPageDependencies, 'store' | 'figures' | 'clock'>,
  endpointIds: readonly string[],
): Promise<(endpointId: string) => EndpointActivity> {
  const all = await store.directory.webhooksOf(endpointIds, ENDPOINT_WEBHOOKS_READ);
  const numbers = all.map(({ webhookNumber }) => webhookNumber);
  const [days, outcomes] = await Promise.all([kept.days(numbers), store.attempts.lastOutcomes(numbers)]);
  const deliveredAtOf = await readLastSuccesses(store, all, outcomes);
  const byEndpoint = Map.groupBy(all, ({ endpointId }) => endpointId);
  const now = clock();
  return (endpointId) => {
    const webhooks = (byEndpoint.get(endpointId) ?? []).map((webhook) =>
      failsBriefly(webhook, days.get(webhook.webhookNumber), now) ? { ...webhook, state: 'running' as const } : webhook,
    );
    const last = webhooks.flatMap(({ webhookNumber }) => outcomes.get(webhookNumber) ?? []);
    const failures = last.flatMap(({ failure }) => failure ?? []);
    const successes = webhooks.map(({ webhookNumber }) => deliveredAtOf(webhookNumber));
    const delivered = successes.filter((at) => typeof at === 'number');
    return {
      webhooks,
      day: sumOfDays(webhooks.flatMap(({ webhookNumber }) => days.get(webhookNumber) ?? [])),
      dayOf: (webhookNumber) => days.get(webhookNumber),
      deliveredAt: delivered.length === 0 ? null : Math.max(...delivered),
      isUndelivered: webhooks.length > 0 && successes.every((at) => at === 'never'),
      failure: failures.toSorted((a, b) => b.at - a.at)[0] ?? null,
    };
  };
}

type LastSuccess = Awaited<ReturnType<typeof readLastDelivered>>;

/** Of each webhook, by its number: from its recent attempts, or from its log. */
async function readLastSuccesses(
  store: Pick<SharedPageDependencies['store'], 'deliveries'>,
  webhooks: readonly EndpointWebhook[],
  outcomes: ReadonlyMap<number, LastOutcomes>,
): Promise<(webhookNumber: number) => LastSuccess> {
  const recentOf = (webhookNumber: number): number | null => outcomes.get(webhookNumber)?.deliveredAt ?? null;
  const silent = webhooks.filter(({ webhookNumber }) => recentOf(webhookNumber) === null).slice(0, LOGS_SEARCHED);
  const searched = silent.map(
    async (webhook) => [webhook.webhookNumber, await readLastDelivered(store, webhook)] as const,
  );
  const found = new Map<number, LastSuccess>(await Promise.all(searched));
  return (webhookNumber) => recentOf(webhookNumber) ?? found.get(webhookNumber) ?? null;
}

/** Failing webhooks of an endpoint whose histories its page reads. */
const HISTORIES_READ = 20;

/** The same with the time at which each webhook began to fail, as its own page tells it. */
export async function withOutages(
  store: Pick<SharedPageDependencies['store'], 'stateHistory'>,
  activity: EndpointActivity,
): Promise<EndpointActivity> {
  const failing = activity.webhooks.filter(({ state }) => state === 'failing').slice(0, HISTORIES_READ);
  const begun = new Map(
    await Promise.all(failing.map(async (webhook) => [webhook.id, await readFailsSince(store, webhook)] as const)),
  );
  const webhooks = activity.webhooks.map((webhook) => ({
    ...webhook,
    failingSinceAt: begun.get(webhook.id) ?? webhook.failingSinceAt,
  }));
  return { ...activity, webhooks };
}

/** `answered 503, 3 minutes ago`, of the recent attempts. The page of the endpoint has the whole sentence. */
export function lastError({ failure }: EndpointActivity, now: number): Html {
  if (failure === null) return html`<span class="quiet">none recently</span>`;
  return html`
    <span class="one-line" title="${sentence(failure.errorMessage ?? failure.errorClass)}">${briefError(failure)}</span>
    <span class="cell-hint">${relativeTime(failure.at, now)}</span>
  `;
}

function briefError({ errorClass, errorMessage }: NonNullable<LastOutcomes['failure']>): string {
  const status = statusInMessage(errorMessage);
  return status === null ? errorWords(errorClass) : `answered ${status}`;
}

/** The recent attempts may all have failed although some of the day succeeded: then the hour is known. */
export function lastDelivery(
  {
    deliveredAt,
    day,
    webhooks,
    isUndelivered,
  }: Pick<EndpointActivity, 'deliveredAt' | 'day' | 'webhooks' | 'isUndelivered'>,
  now: number,
): Html {
  if (deliveredAt !== null) return relativeTime(deliveredAt, now);
  const ago = day.hours.toReversed().findIndex(({ attempts, failedAttempts }) => attempts > failedAttempts);
  if (ago < 0) return html`<span class="quiet">${isUndelivered ? 'never' : 'none recently'}</span>`;
  // At the end of that hour at the latest, and before the failures that the page tells of.
  const end = Math.min(now, (Math.floor(now / HOUR_MS) + 1 - ago) * HOUR_MS);
  const before = Math.min(end, allFailSince(webhooks) ?? now);
  return html`<span>${lengthText(Math.max(now - before, HOUR_MS))} ago</span>`;
}

const HOUR_MS = 3_600_000;

/** Since when all of the webhooks that run fail; null if one of them does not. */
export function allFailSince(webhooks: readonly Pick<EndpointWebhook, 'state' | 'failingSinceAt'>[]): number | null {
  const running = webhooks.filter(({ state }) => isRunnable(state));
  if (running.length === 0 || running.some(({ state }) => state !== 'failing')) return null;
  return Math.max(...running.map(({ failingSinceAt }) => failingSinceAt ?? 0));
}

/** The dead deliveries to an endpoint. */
export type EndpointDead = DeadRecords & {
  /** The only webhook that has some; null if several have. */
  readonly webhookId: string | null;
  /** How long they are kept; 0: forever. */
  readonly keptDays: number;
};

/** The figures on the page of an endpoint; null if no webhook sends there. */
export function activityFigures(activity: EndpointActivity, dead: EndpointDead, now: number): Html | null {
  const { webhooks, day, deliveredAt, failure } = activity;
  if (webhooks.length === 0) return null;
  const rate = successRate(day);
  const pending = webhooks.reduce((sum, { pendingRecords }) => sum + pendingRecords, 0);
  const waiting = webhooks.filter(({ pendingRecords }) => pendingRecords > 0);
  const only = webhooks.length === 1 ? webhooks[0] : waiting.length === 1 ? waiting[0] : undefined;
  const made = figures([
    {
      label: 'Succeeded, 24 h',
      value: rate === null ? '–' : shareText(rate),
      tone: figureTone(rate),
      hint: rate === null ? 'No event was sent' : attemptsText(day),
    },
    {
      label: 'Pending',
      value: countText(pending),
      hint: pending === 0 ? 'No delivery is pending' : 'of all its webhooks',
      // The table of the webhooks has the link of each.
      href: only === undefined ? '#webhooks' : deliveriesOf(only.id, 'pending'),
    },
    {
      label: 'Dead',
      ...deadFigure(dead),
      href: dead.webhookId === null ? undefined : deliveriesOf(dead.webhookId, 'dead'),
    },
    {
      label: 'Last success',
      value: lastDelivery(activity, now),
      hint: deliveredAt === null ? undefined : 'accepted by the receiver',
    },
    {
      label: 'Last error',
      value: failure === null ? html`<span class="quiet">none</span>` : relativeTime(failure.at, now),
      tone: isFailedLast(activity) ? 'negative' : 'neutral',
      hint: failure === null ? 'in the recent attempts' : briefError(failure),
    },
  ]);
  return html`<div id="figures">${made}</div>`;
}

function deliveriesOf(webhookId: string, state: 'pending' | 'dead'): string {
  return `/deliveries?webhook=${webhookId}&state=${state}`;
}

/** A count of none says of which webhooks, unless it is of all. */
function deadFigure(dead: EndpointDead) {
  const { records, isWhole } = dead;
  const none = isWhole ? 'No delivery is dead' : `of ${FAILURES_OF} of its webhooks`;
  return {
    value: records > 0 ? deadText(dead) : '0',
    tone: records > 0 ? ('negative' as const) : ('neutral' as const),
    hint: records > 0 ? deadKept(dead.keptDays) : none,
  };
}

/** Whether an attempt failed after the last success. */
export function isFailedLast({ failure, deliveredAt }: EndpointActivity): boolean {
  return failure !== null && failure.at >= (deliveredAt ?? 0);
}

/**
 * Why deliveries fail with the advice, if nothing succeeded since, and why others are dead. The header leads to the failures of several
 * webhooks. `reader`: the customer who reads it; null: the operator.
 */
export function failureNotice(
  endpoint: NamedEndpoint,
  activity: EndpointActivity,
  causes: readonly Cause[],
  reader: string | null,
): Html | null {
  const { failure, webhooks } = activity;
  const latest =
    failure === null || !isFailedLast(activity) ? null : ([failure.errorClass, failure.errorMessage] as const);
  const dead = deadCauses(causes);
  const [first, ...others] = webhooks;
  if (first === undefined || (latest === null && dead === null)) return null;
  const credentials = latest === null ? null : credentialsLink(advisedCause(causes, latest), endpoint);
  const failures = others.length === 0 ? html`<a href="${failuresOf(first.id)}">Failures by cause</a>` : null;
  const link = html` ${credentials}${credentials === null || failures === null ? null : ' · '}${failures}`;
  return notice({
    // As the badge above it.
    tone: webhooks.some(({ state }) => state === 'failed') ? 'negative' : 'caution',
    text: html`
      ${
        latest === null
          ? null
          : html`<p>${causeSentence(causes, latest)} ${failingAdvice(causes, latest, reader)}${link}</p>`
      }
      ${dead === null ? null : html`<p><strong>Dead deliveries.</strong> ${dead}${latest === null ? link : null}</p>`}
    `,
  });
}
