/** The story of a delivery: its state with the reason and the next step, and its timeline. */
import type { AttemptRecord } from '../../domain/batch.ts';
import type { Endpoint } from '../../domain/endpoint.ts';
import { adviceForOwner, type ErrorClass } from '../../domain/outcome.ts';
import type { Delivery, Webhook, WebhookState } from '../../domain/webhook.ts';
import { isRunnable, NO_DEAD_LEFT, STATE_REASONS, type StopReason } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { NumberedAttempt, Resend } from '../../webhooks/sent-again.ts';
import type { Moment } from '../parts/details.ts';
import { notice } from '../parts/mark.ts';
import { countOf, relativeTime, sentence, spanText, time } from '../parts/text.ts';
import { type Cause, credentialsLink, credentialsOf, givenUpFor, thenTest } from '../record/causes.ts';
import { deadKept } from '../record/dead-records.ts';
import { attemptMoment } from './attempt-details.ts';
import { notRunning, silence } from './sending-again.ts';

/** Who sent it again, as text or as a link; null if it is not known. */
export type NamedResend = Omit<Resend, 'actor'> & { readonly by: Html | null };

export type Standing = {
  readonly delivery: Delivery;
  readonly attempts: readonly AttemptRecord[];
  readonly webhook: Pick<Webhook, 'maxAttempts' | 'ordered' | 'progress'>;
  /** Attempts before it was last sent again; 0 if it never was. */
  readonly base: number;
  /** The delivery that an ordered or failing webhook tries before an untried one; null: none is known. */
  readonly ahead: Delivery | null;
  /** Why its webhook fails or has failed, while it waits for its first attempt. */
  readonly causes: readonly Cause[];
  /** Null in mode `pull`. */
  readonly endpoint: Pick<Endpoint, 'id' | 'name'> | null;
  /** The customer who reads it; null: the operator, whose advice may name a setting. */
  readonly reader: string | null;
  /** Whether the reader may start webhooks and send again. */
  readonly mayAct: boolean;
  /** How long a dead one is kept; 0: forever. */
  readonly deadDays: number;
};

/** The state of the delivery, the reason, and what happens next. */
export function standing(given: Standing, now: number): Html {
  const { delivery, attempts, webhook, base, reader, endpoint } = given;
  const { state, createdAt, settledAt, attemptCount, webhookMode } = delivery;
  const problem = problemText(attempts.at(-1), reader, endpoint);
  if (webhookMode === 'pull' && (state === 'pending' || state === 'delivered')) return readerStanding(delivery);
  switch (state) {
    case 'delivered': {
      const tries = attemptCount === 1 ? 'at the first attempt' : `at attempt ${attemptCount}`;
      const how = base === 0 ? tries : `when it was sent again (attempt ${base + attemptCount})`;
      const text = `Delivered ${how}, ${spanText((settledAt ?? createdAt) - createdAt)} after it was published.`;
      return notice({ tone: 'positive', text });
    }
    case 'dead':
      return notice({
        tone: 'negative',
        title:
          base === 0
            ? `Given up after ${attemptCount === 1 ? 'one attempt' : `${attemptCount} attempts`}.`
            : `Sent again, and given up after ${countOf(attemptCount, 'more attempt')}.`,
        text: html`
          ${problem === null ? null : html`<p>${problem}</p>`}
          <p>${deadStep(given)}</p>
        `,
      });
    case 'discarded':
      return notice({ tone: 'neutral', title: 'Not sent.', text: 'Its data was erased before it was delivered.' });
    default: {
      const next = nextStep(given, now);
      // After a replay, the earlier attempts tell nothing about the present state.
      const failed = delivery.isLeased ? attemptCount - 1 : attemptCount;
      if (problem === null || failed <= 0)
        return notice({ tone: isRunnable(webhook.progress.state) ? 'info' : 'caution', text: next });
      const of = `${failed} of ${webhook.maxAttempts}`;
      const title =
        base === 0 ? `Attempt ${of} failed.` : `Attempt ${base + failed} failed, ${of} since it was sent again.`;
      return notice({ tone: 'caution', title, text: html`<p>${problem}</p><p>${next}</p>` });
    }
  }
}

/** The text after someone has pressed *Send again* or *Try now*. `webhookState` is that of its webhook. */
export function resendText(
  { state, webhookMode, webhookName, nextAttemptAt }: Resent,
  webhookState: WebhookState,
  ordered: Webhook['ordered'],
): string {
  if (webhookMode === 'pull') return 'The reader gets it again.';
  if (!isRunnable(webhookState)) return `Queued. It is sent when ${webhookName} is started.`;
  const isUntried = state === 'pending' && nextAttemptAt === null;
  if (isUntried && ordered !== false) return 'It waits for its turn: those before it are tried first, and now.';
  if (webhookState === 'failing') {
    const turn = isUntried ? 'It waits for its turn.' : state === 'pending' ? 'It was made due.' : 'Sending again.';
    return `${turn} ${webhookName} is failing: it sends one request at a time. This page shows the result.`;
  }
  return `${state === 'pending' ? 'Trying it now.' : 'Sending again.'} This page shows the result.`;
}

type Resent = Pick<Delivery, 'state' | 'webhookMode' | 'webhookName' | 'nextAttemptAt'>;

/** In mode `pull`, a reader decides. */
function readerStanding({ state, createdAt, settledAt }: Delivery): Html {
  if (state === 'pending')
    return notice({ tone: 'info', text: 'The reader of the webhook has not acknowledged it yet.' });
  const text = `Acknowledged by the reader ${spanText((settledAt ?? createdAt) - createdAt)} after it was published.`;
  return notice({ tone: 'positive', text });
}

/** The step that helps a dead one: a webhook that does not run would not send it. */
function deadStep({ delivery: { webhookId, webhookName }, webhook: { progress }, mayAct, deadDays }: Standing): Html {
  const kept = html`The delivery is ${deadKept(deadDays)}.`;
  if (isRunnable(progress.state))
    return html`${kept} ${mayAct ? 'Fix the cause, then send it again.' : 'An operator can send it again.'}`;
  const silent = html`${kept} ${webhookName} ${silence(progress)}.`;
  if (!mayAct) return html`${silent} An operator can start it and send the delivery again.`;
  return html`
    ${silent} Fix the cause, then
    <a href="/webhooks/${webhookId}#start-button">start ${webhookName}</a> and send it again.
  `;
}

/** The error and the advice. Attempts with the same failed for the same reason. */
function problemOf(attempt: AttemptRecord | undefined, reader: string | null): string | null {
  if (attempt === undefined || attempt.errorClass === null) return null;
  const { errorClass, errorMessage, responseStatus } = attempt;
  const advice = adviceForOwner(reader, errorClass as ErrorClass, responseStatus, errorMessage);
  return `${sentence(errorMessage ?? errorClass)} ${advice}`;
}

/** The same with a link to the credentials, if the receiver or its token server rejects them. */
function problemText(
  attempt: AttemptRecord | undefined,
  reader: string | null,
  endpoint: Standing['endpoint'],
): Html | null {
  const problem = problemOf(attempt, reader);
  if (problem === null || attempt === undefined) return null;
  return endpoint === null ? html`${problem}` : html`${problem} ${credentialsOf(attempt, endpoint)}`;
}

/** Tells what a pending delivery waits for. */
function nextStep(given: Standing, now: number): Html {
  const { delivery, webhook, base, ahead, mayAct } = given;
  const { nextAttemptAt, attemptCount } = delivery;
  const { state } = webhook.progress;
  if (delivery.isLeased) return html`Attempt ${base + Math.max(attemptCount, 1)} is in progress.`;
  if (!isRunnable(state)) {
    const { webhookId, webhookName } = delivery;
    if (webhook.progress.stateReason === 'endpoint_disabled' && given.endpoint !== null) {
      const { id, name } = given.endpoint;
      return html`It waits because the endpoint <a href="/endpoints/${id}">${name}</a> is disabled. It is sent when that is enabled.`;
    }
    return html`
      It waits because its webhook ${notRunning(state)}${stopReason(given)} It is sent when
      <a href="/webhooks/${webhookId}">${webhookName}</a> is started.
    `;
  }
  if (nextAttemptAt === null && ahead !== null && webhook.ordered === true) {
    const at = ahead.nextAttemptAt;
    return html`
      It waits: <a href="/deliveries/${ahead.id}">#${ahead.offset}</a> is tried
      first${at === null || at <= now ? '' : html`, next at ${time(at)}`}.
    `;
  }
  if (nextAttemptAt === null && state === 'failing')
    return html`
      It waits because its webhook is failing: only one request at a time is sent until one
      succeeds.${
        ahead === null || !mayAct
          ? null
          : html` Try <a href="/deliveries/${ahead.id}">#${ahead.offset}</a> now: if it arrives, the others follow.`
      }
    `;
  if (nextAttemptAt === null)
    return html`It waits for the deliveries before it${webhook.ordered === 'key' ? ' with its ordering key' : ''}.`;
  if (nextAttemptAt <= now && state === 'failing')
    return html`It is due, and waits for its turn: its webhook is failing, and sends one request at a time.`;
  if (nextAttemptAt <= now) return html`It is due and is sent next.`;
  return html`The next attempt is due ${relativeTime(nextAttemptAt, now)}.`;
}

/** Goes on after `its webhook has failed`: why, and what helps. A delivery that was tried has a problem of its own. */
function stopReason({ delivery, webhook: { progress }, causes, reader, mayAct, endpoint }: Standing): Html {
  const { stateReason } = progress;
  if (delivery.attemptCount > 0 || stateReason === null) return html`.`;
  const known = givenUpFor(stateReason, causes, reader);
  if (known !== null) {
    const credentials = credentialsLink(known.cause, endpoint);
    return html`. ${known.why} ${known.advice} ${thenTest(mayAct)}${credentials === null ? null : html` ${credentials}.`}`;
  }
  return html`. ${stateReason === 'too_many_dead' ? NO_DEAD_LEFT : STATE_REASONS[stateReason as StopReason]}`;
}

/** Says only what the next attempt shows: one that follows much later was not made because of this. */
function resendTitle({ at, kind, dueAt = null }: NamedResend, attempts: readonly AttemptRecord[]): string {
  const next = attempts.find(({ startedAt }) => startedAt >= at)?.startedAt ?? Number.POSITIVE_INFINITY;
  if (kind === 'now') return dueAt !== null && next < dueAt ? 'Tried before its time' : 'Asked to be tried now';
  return next - at < WAIT_TOLD_MS ? 'Sent again' : 'Queued to be sent again';
}

export type Timeline = {
  readonly delivery: Delivery;
  readonly attempts: readonly NumberedAttempt[];
  readonly resends: readonly NamedResend[];
  readonly erasedAt: number | null;
  /** The request of an attempt as a command; null without an endpoint. */
  readonly curlOf: (attempt: AttemptRecord) => string | null;
  /** The present URL of the endpoint. */
  readonly url: string | null;
  /** The state of the webhook when the event was published; null: it is not known. */
  readonly stateThen: WebhookState | null;
  /** As in `Standing`. */
  readonly reader: string | null;
};

/** A wait for the first attempt that is told. */
export const WAIT_TOLD_MS = 60_000;

/** Why the first attempt came late. */
function waitReason(state: WebhookState | null): string {
  if (state === 'failing') return 'The webhook was failing: it sent one request at a time.';
  if (state === 'failed') return 'The webhook had failed, and sent nothing until it was started.';
  if (state === 'stopped') return 'The webhook was stopped, and sent nothing until it was started.';
  return 'Those before it were sent first.';
}

/** The advice is with the last attempt that failed in this way. */
function saidLater(attempt: AttemptRecord, later: readonly AttemptRecord[], reader: string | null): boolean {
  const problem = problemOf(attempt, reader);
  return problem !== null && later.some((other) => problemOf(other, reader) === problem);
}

/** Oldest first. */
export function momentsOf(
  { delivery, attempts, resends, erasedAt, curlOf, url, stateThen, reader }: Timeline,
  now: number,
): Moment[] {
  const { state, createdAt, settledAt, nextAttemptAt } = delivery;
  // The headline has the problem of the last attempt, unless the delivery arrived.
  const said = new Set(state === 'delivered' ? [] : [problemOf(attempts.at(-1), reader) ?? '']);
  const moments: Moment[] = [
    { at: createdAt, title: 'Published', tone: 'neutral' },
    ...resends.map((resend, index): Moment => {
      const { at, by } = resend;
      return {
        id: `resend-${index}`,
        at,
        title: html`${resendTitle(resend, attempts)}${by === null ? null : html` by ${by}`}`,
        tone: 'info',
        icon: 'replay',
      };
    }),
    ...attempts.map((attempt, at) =>
      attemptMoment(attempt, {
        url,
        reader,
        curl: curlOf(attempt),
        isSaid: said.has(problemOf(attempt, reader) ?? '') || saidLater(attempt, attempts.slice(at + 1), reader),
        isUnfolded: at === attempts.length - 1,
      }),
    ),
  ];
  const [first] = attempts;
  const waited = first?.number === 1 ? first.startedAt - createdAt : 0;
  if (waited >= WAIT_TOLD_MS) {
    moments.push({
      id: 'wait',
      at: createdAt + 1,
      title: `Waited ${spanText(waited)}`,
      tone: 'neutral',
      icon: 'clock',
      text: html`<p>${waitReason(stateThen)}</p>`,
    });
  }
  if (state === 'pending' && delivery.webhookMode === 'pull')
    moments.push({ id: 'wait', at: null, title: 'Waits for its reader', tone: 'info', icon: 'clock' });
  if (erasedAt !== null) moments.push({ at: erasedAt, title: 'Data erased', tone: 'neutral' });
  if (state === 'delivered')
    moments.push({
      at: settledAt,
      title: delivery.webhookMode === 'pull' ? 'Acknowledged' : 'Delivered',
      tone: 'positive',
    });
  if (state === 'dead') moments.push({ at: settledAt, title: 'Given up', tone: 'negative' });
  if (state === 'pending' && nextAttemptAt !== null && nextAttemptAt > now && !delivery.isLeased) {
    moments.push({ id: 'next-attempt', at: nextAttemptAt, title: 'Next attempt', tone: 'info' });
  }
  return moments.toSorted((a, b) => (a.at ?? Number.POSITIVE_INFINITY) - (b.at ?? Number.POSITIVE_INFINITY));
}
