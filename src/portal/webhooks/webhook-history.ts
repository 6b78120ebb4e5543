/**
 * The history of a webhook as people see it. The service records every change between `running` and `failing` (contract §5.10); here the
 * failures that follow each other within an hour are one incident.
 */

import { SERVICE } from '../../domain/acting.ts';
import { adviceFor, type ErrorClass } from '../../domain/outcome.ts';
import type { PastState, Webhook, WebhookState } from '../../domain/webhook.ts';
import { STATE_REASONS, type StopReason } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { byActor, historySection, type RecordChanges } from '../audit/record-changes.ts';
import type { Moment } from '../parts/details.ts';
import type { Tone } from '../parts/mark.ts';
import { sentence, spanText, time } from '../parts/text.ts';

/** Failures with less than this between a recovery and the next one are one incident. */
const INCIDENT_GAP_MS = 3_600_000;

/** A change of state, or several failures in a row of a webhook that recovered after each; `until` is null while it still fails. */
type Incident =
  | { readonly kind: 'state'; readonly past: PastState }
  | {
      readonly kind: 'failures';
      readonly times: number;
      readonly from: number;
      readonly until: number | null;
      readonly reason: string | null;
    };

/** Both newest first. */
export function incidentsOf(history: readonly PastState[]): Incident[] {
  const incidents: Incident[] = [];
  for (const past of history.toReversed()) {
    const last = incidents.at(-1);
    const failures = last?.kind === 'failures' ? last : null;
    const { state, previousState, reason, at } = past;
    if (state === 'failing') {
      const continues = failures !== null && at - (failures.until ?? at) < INCIDENT_GAP_MS;
      if (continues) incidents[incidents.length - 1] = { ...failures, times: failures.times + 1, until: null, reason };
      else incidents.push({ kind: 'failures', times: 1, from: at, until: null, reason });
    } else if (state === 'running' && previousState === 'failing' && failures !== null) {
      incidents[incidents.length - 1] = { ...failures, until: at };
    } else {
      incidents.push({ kind: 'state', past });
    }
  }
  return incidents.reverse();
}

export type WebhookHistory = {
  readonly webhook: Pick<Webhook, 'id' | 'createdAt' | 'mode'>;
  /** Newest first. */
  readonly incidents: readonly Incident[];
  /** There are no older ones. */
  readonly isWhole: boolean;
  readonly changes: RecordChanges;
};

/** Starts, stops and failures with the changes between them. */
export function webhookHistory({ webhook, incidents, isWhole, changes }: WebhookHistory, now: number): Html {
  const { entries, actorOf } = changes;
  const told = new Set<string>();
  const whoOf = ({ at, state }: PastState): Html | null => {
    const verb = state === 'started' ? 'webhook.start' : 'webhook.stop';
    const entry = entries.find((one) => one.at === at && one.action === verb);
    if (entry === undefined) return null;
    told.add(entry.id);
    // A change by the service has a reason, which says so.
    return entry.actor === SERVICE.actor ? null : byActor(actorOf(entry.actor));
  };
  const moments = incidents.map((incident) =>
    incident.kind === 'failures'
      ? failuresMoment(incident)
      : stateMoment(incident.past, webhook.mode, whoOf(incident.past)),
  );
  const lead = 'Starts, stops, failures and changes, newest first.';
  const target = `webhook:${webhook.id}`;
  return historySection(
    { target, createdAt: webhook.createdAt, lead, changes, others: { moments, isWhole, told } },
    now,
  );
}

function stateMoment(past: PastState, mode: Webhook['mode'], who: Html | null): Moment {
  const { state, at, reason } = past;
  const why = reason === null ? null : reasonText(reason);
  const isSaid = who !== null && reason === 'stopped_by_administrator';
  const text = who === null ? why : html`${isSaid || why === null ? null : html`${why} `}${who}`;
  return { at, title: stateTitle(past, mode), tone: TONES[state], text };
}

function stateTitle({ state, previousState }: PastState, mode: Webhook['mode']): string {
  if (mode === 'pull' && state === 'started') return 'Started: its reader has acknowledged nothing yet';
  if (state !== 'running') return TITLES[state];
  if (mode === 'pull') return 'Running: its reader has acknowledged events';
  // The request may be a heartbeat.
  return previousState === 'failing'
    ? 'Running: requests succeed again'
    : 'Running: the first request after the start succeeded';
}

const TITLES: Readonly<Record<Exclude<WebhookState, 'running'>, string>> = {
  started: 'Started: nothing sent yet',
  failing: 'Deliveries began to fail',
  failed: 'Stopped, because deliveries failed',
  stopped: 'Stopped',
};

function failuresMoment({ times, from, until, reason }: Extract<Incident, { kind: 'failures' }>): Moment {
  const why = reason === null ? null : reasonText(reason);
  if (times === 1 && until === null) return { at: from, title: TITLES.failing, tone: 'caution', text: why };
  const length = until === null ? 'not recovered yet' : `recovered after ${spanText(until - from)}`;
  const text =
    times === 1 ? html`${why} <span class="quiet">${sentence(length)}</span>` : html`Last error: ${why ?? 'unknown.'}`;
  const title =
    times === 1
      ? 'Deliveries failed'
      : html`Some attempts failed, ${times} times${until === null ? ' so far' : html` until ${time(until)}`}`;
  return { at: from, title, tone: 'caution', text };
}

const TONES: Readonly<Record<WebhookState, Tone>> = {
  started: 'info',
  running: 'positive',
  failing: 'caution',
  failed: 'negative',
  stopped: 'neutral',
};

function reasonText(reason: string): string {
  const [code = ''] = reason.split(':', 1);
  const text = STATE_REASONS[code as StopReason] as string | undefined;
  if (text !== undefined) return text;
  const detail = reason.slice(code.length + 2);
  return detail === '' ? adviceFor(code as ErrorClass) : sentence(detail);
}
