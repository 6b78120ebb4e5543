/** The state of a webhook in words: one line below its name, and a notice with advice where something is to be done. */
import { adviceForMessage } from '../../domain/outcome.ts';
import type { PastState, Progress, Webhook, WebhookState } from '../../domain/webhook.ts';
import { FAILING_LIMIT_MS, NO_DEAD_LEFT } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { type Day, successRate } from '../../observe/figures.ts';
import type { LastOutcomes } from '../../store/port/deliveries.ts';
import type { Store } from '../../store/port/store.ts';
import { viewWebhook } from '../../webhooks/webhook-schema.ts';
import { failingFacts, latestError } from '../parts/health.ts';
import { STATES_READ } from '../parts/limits.ts';
import { notice } from '../parts/mark.ts';
import { capital, countText, reasonSentence, relativeTime, sentence, shortTime, time } from '../parts/text.ts';
import {
  advisedCause,
  type Cause,
  credentialsLink,
  failingAdvice,
  failingCauses,
  givenUpFor,
  type LatestError,
  type NamedEndpoint,
  sumOf,
  thenTest,
} from './causes.ts';
import type { DeadRecords } from './dead-records.ts';

/** A webhook that mostly delivers is shown as failing only after this time without a success. */
const BRIEF_MS = 300_000;
const MOSTLY = 0.5;

/** The facts with which its state is shown. */
export type WebhookHealth = Pick<LastOutcomes, 'deliveredAt' | 'failure'> & {
  readonly day: Day | undefined;
  readonly dead: DeadRecords;
  /** Since when it fails (`failsSince`). */
  readonly failsSince: number | null;
  /** Why its deliveries fail. */
  readonly causes: readonly Cause[];
};

/** The state in a line. The notice below it has the cause of a failure. `by`: who stopped it, if that is known. */
export function stateLine(webhook: Webhook, health: WebhookHealth, now: number, by: Html | null = null): Html {
  const { progress } = webhook;
  const { state, stateAt, stateReason } = progress;
  if (state === 'failing') {
    if (failsBriefly(progress, health.day, now)) {
      const cause = reasonSentence(viewWebhook(webhook).stateReason);
      return html`${cause} The attempt will be retried. Most recent attempts succeeded.`;
    }
    return failingFacts({ since: health.failsSince, succeededAt: health.deliveredAt, error: null }, now);
  }
  if (state === 'failed') {
    return html`It was stopped ${relativeTime(stateAt, now)} because deliveries failed. ${stateSentence(webhook)}`;
  }
  if (isStoppedByService(webhook))
    return html`It was stopped automatically ${relativeTime(stateAt, now)}. ${stateSentence(webhook)}`;
  if (state === 'started') return html`Started ${time(stateAt)}. ${stateSentence(webhook)}`;
  if (stateReason === null && state === 'stopped') return html`${stateSentence(webhook)}`;
  const since = html`${capital(state)} ${state === 'stopped' ? 'on' : 'since'} ${time(stateAt)}`;
  return html`${since}${by === null ? null : html` ${by}`}. ${stateSentence(webhook)}`;
}

/** Why a webhook is stopped, in a few words: it never ran, or a person stopped it. Null for another state or reason. */
export function stoppedHint({
  state,
  stateReason,
  stateAt,
}: Pick<Progress, 'state' | 'stateReason' | 'stateAt'>): Html | null {
  if (state !== 'stopped') return null;
  if (stateReason === null) return html`never started`;
  return isStoppedByPerson({ state, stateReason }) ? html`by an administrator, ${shortTime(stateAt)}` : null;
}

/** The newest error of a failing webhook. */
export function errorOf({ stateReason, stateDetail }: Pick<Progress, 'stateReason' | 'stateDetail'>): LatestError {
  return stateReason === null ? null : [stateReason, stateDetail];
}

/**
 * Since when a webhook fails, by the one rule of all pages: its first failure after it last ran, over stops and starts; null unless it is
 * failing. `failingSinceAt` leaves out the time without a running process, so it is used only if the history is gone. Newest first.
 */
export function failsSince(
  { state, failingSinceAt }: Pick<Progress, 'state' | 'failingSinceAt'>,
  history: readonly PastState[],
): number | null {
  if (state !== 'failing') return null;
  const ran = history.findIndex((past) => past.state === 'running');
  const since = ran === -1 ? history : history.slice(0, ran);
  return since.findLast((past) => past.state === 'failing')?.at ?? failingSinceAt;
}

/** The same, with the history read. */
export async function readFailsSince(
  { stateHistory }: Pick<Store, 'stateHistory'>,
  { id, state, failingSinceAt }: Pick<Progress, 'state' | 'failingSinceAt'> & { readonly id: string },
): Promise<number | null> {
  if (state !== 'failing') return null;
  return failsSince({ state, failingSinceAt }, await stateHistory.ofWebhook(id, STATES_READ));
}

/** Whether a failing webhook is shown as running: most attempts of the last two hours succeeded, and it fails only since a short time. */
export function failsBriefly(
  { state, failingSinceAt }: Pick<Progress, 'state' | 'failingSinceAt'>,
  day: Day | undefined,
  now: number,
): boolean {
  if (state !== 'failing' || failingSinceAt === null || now - failingSinceAt >= BRIEF_MS) return false;
  const recent = (day?.hours ?? []).slice(-2);
  const sum = (name: 'attempts' | 'failedAttempts'): number => recent.reduce((all, hour) => all + hour[name], 0);
  const rate = successRate({ attempts: sum('attempts'), failedAttempts: sum('failedAttempts') });
  return rate !== null && rate >= MOSTLY;
}

/**
 * When a webhook delivered last, from its log. The recent attempts need not have a success. `never` if the log is kept from its beginning
 * and has none; null: not known.
 */
export async function readLastDelivered(
  { deliveries }: Pick<Store, 'deliveries'>,
  { webhookNumber, state, stateReason }: Pick<Progress, 'webhookNumber' | 'state' | 'stateReason'>,
): Promise<number | 'never' | null> {
  const delivered = { webhookNumbers: [webhookNumber], state: 'delivered' } as const;
  const { items, next } = await deliveries.list(delivered, null, 1);
  const [last] = items;
  if (last !== undefined) return last.settledAt ?? last.createdAt;
  if (next !== null) return null;
  const isNew = stateReason === null && (state === 'stopped' || state === 'started');
  return isNew || (await deliveries.at(webhookNumber, 0)) !== null ? 'never' : null;
}

/** The last attempt, heartbeats included. A start clears the time that its session is measured by; then the recent outcomes tell it. */
export function lastAttemptAt(
  { sentAt }: Pick<Progress, 'sentAt'>,
  { deliveredAt, failure }: Pick<LastOutcomes, 'deliveredAt' | 'failure'>,
): number | null {
  return sentAt ?? (Math.max(deliveredAt ?? 0, failure?.at ?? 0) || null);
}

/** Whether its last stop was that of a person. */
export function isStoppedByPerson({ state, stateReason }: Pick<Progress, 'state' | 'stateReason'>): boolean {
  return state === 'stopped' && stateReason === 'stopped_by_administrator';
}

/** A person's stop, and a webhook that was never started, need no explanation. */
function isStoppedByService({ progress: { state, stateReason } }: Webhook): boolean {
  return state === 'stopped' && stateReason !== null && stateReason !== 'stopped_by_administrator';
}

type Telling = {
  readonly now: number;
  /** The customer who reads it; null: the operator. */
  readonly reader: string | null;
  /** Whether the reader may start webhooks. */
  readonly mayAct: boolean;
  /** Its pending deliveries. */
  readonly pending: number;
  /** Whose credentials may be wrong; null in mode `pull`. */
  readonly endpoint: NamedEndpoint | null;
};

/** The problem of a webhook, with its cause and the advice; null if there is none. The header leads to its failures. */
export function stateNotice(
  webhook: Webhook,
  health: WebhookHealth,
  { now, reader, mayAct, pending, endpoint }: Telling,
): Html | null {
  const { id, progress } = webhook;
  const { stateReason, stateDescription, state } = viewWebhook(webhook);
  const { causes } = health;
  if (state === 'failing' && !failsBriefly(progress, health.day, now)) {
    const { failingSinceAt } = progress;
    const givenUpAt = failingSinceAt === null ? null : failingSinceAt + FAILING_LIMIT_MS;
    const end =
      givenUpAt === null
        ? null
        : html` Without a success, the webhook stops ${relativeTime(givenUpAt, now)} (${shortTime(givenUpAt)}).`;
    const error = errorOf(progress);
    const { failsSince: since, deliveredAt: succeededAt } = health;
    const text = html`
      <p>
        ${failingFacts({ since, succeededAt, error, causes: failingCauses(causes, error) }, now)}
        ${' '}
        ${failingAdvice(causes, error, reader)} ${credentialsLink(advisedCause(causes, error), endpoint)}
      </p>
      <p>${heldBackText(id, causes, pending)}${end}</p>
    `;
    return notice({ tone: 'caution', text });
  }
  if (state === 'failed') {
    const known = givenUpFor(stateReason, causes, reader);
    if (known !== null) {
      const links = linksOf(id, credentialsLink(known.cause, endpoint));
      return notice({ tone: 'negative', text: html`<p>${known.why} ${known.advice} ${thenTest(mayAct)} ${links}</p>` });
    }
    const text = stateReason === 'too_many_dead' && health.dead.records === 0 ? NO_DEAD_LEFT : (stateDescription ?? '');
    const { failure } = health;
    const last = failure === null ? null : ([failure.errorClass, failure.errorMessage] as const);
    return notice({ tone: 'negative', text: html`<p>${causeSentence(causes, last)} ${text} ${linksOf(id, null)}</p>` });
  }
  if (isStoppedByService(webhook)) return notice({ tone: 'caution', text: stateDescription ?? '' });
  const { failure, deliveredAt } = health;
  if (failure === null || failure.at < (deliveredAt ?? 0)) return null;
  const { errorClass, errorMessage } = failure;
  // While it fails only briefly, the line above says it.
  const failed = state === 'failing' ? null : html`The last attempt failed: ${sentence(errorMessage ?? errorClass)} `;
  const credentials = credentialsLink(advisedCause([], [errorClass, errorMessage]), endpoint);
  return notice({
    tone: 'caution',
    text: html`<p>${failed}${adviceForMessage(reader, errorClass, errorMessage)} ${linksOf(id, credentials)}</p>`,
  });
}

function linksOf(id: string, credentials: Html | null): Html {
  return html`${credentials}${credentials === null ? null : ' · '}<a href="${failuresOf(id)}">Failures by cause</a>`;
}

/** `9 deliveries are retried. 83 are held back until one of them succeeds.` */
function heldBackText(id: string, causes: readonly Cause[], pending: number): Html {
  const retried = sumOf(causes, 'retrying');
  const held = pending - retried;
  const href = `/deliveries?webhook=${id}&state=pending`;
  if (retried === 0 || held <= 0) return html`Pending deliveries are retried.`;
  const tried = retried === 1 ? '1 delivery is retried' : `${countText(retried)} deliveries are retried`;
  const until = retried === 1 ? 'it' : 'one of them';
  return html`<a href="${href}">${tried}</a>. ${countText(held)} more ${held === 1 ? 'is' : 'are'} held back until ${until} succeeds.`;
}

/** The causes, or the latest error if it tells all. */
export function causeSentence(causes: readonly Cause[], latest: LatestError): Html | null {
  return failingCauses(causes, latest) ?? (latest === null ? null : html`${latestError(...latest)}`);
}

/** The failures of a webhook by cause. */
export function failuresOf(id: string): string {
  return `/deliveries/failures?webhook=${id}`;
}

/** Whether deliveries of a webhook fail, so that its failures come first. */
export function isInTrouble({ progress }: Webhook, { day }: Pick<WebhookHealth, 'day'>, now: number): boolean {
  return progress.state === 'failed' || (progress.state === 'failing' && !failsBriefly(progress, day, now));
}

export function stateSentence({ mode, progress, heartbeatSeconds }: Webhook): string {
  if (mode === 'pull') return READER_SENTENCES[progress.state];
  if (progress.state === 'started') {
    const first = heartbeatSeconds > 0 ? 'the first delivery or heartbeat' : 'the first delivery';
    return `Nothing has been delivered since then. It shows “running” after ${first}.`;
  }
  if (progress.state === 'stopped' && progress.stateReason === null) {
    return 'It has not been started yet. New deliveries stay pending.';
  }
  return SENTENCES[progress.state];
}

const SENTENCES: Readonly<Record<Exclude<WebhookState, 'started'>, string>> = {
  running: 'The last attempt succeeded.',
  failing: 'The last attempt failed and will be retried.',
  failed: 'Nothing is sent. Pending and new deliveries are kept.',
  stopped: 'Nothing is sent. Pending and new deliveries are kept.',
};

const READER_SENTENCES: Readonly<Record<WebhookState, string>> = {
  started: 'Its reader has acknowledged nothing since the start.',
  running: 'Its reader acknowledges what it has processed.',
  failing: 'Its reader acknowledges what it has processed.',
  failed: 'Nothing can be read. Pending and new records are kept.',
  stopped: 'Nothing can be read. Pending and new records are kept.',
};
