/** The state of a webhook in sentences, and its history. */
import { type Html, html } from '../../http/html.ts';
import { adviceFor, type ErrorClass } from '../../outbound/outcome.ts';
import { FAILING_LIMIT_MS, STATE_REASONS, type StopReason } from '../../webhooks/lifecycle.ts';
import type { PastState, Webhook, WebhookState } from '../../webhooks/webhook.ts';
import { viewWebhook } from '../../webhooks/webhook-schema.ts';
import { stateBadge } from '../parts/badge.ts';
import { timeline } from '../parts/details.ts';
import { section } from '../parts/header.ts';
import { notice, type Tone } from '../parts/notice.ts';
import { sentence } from '../parts/sentence.ts';
import { relativeTime, time } from '../parts/time.ts';

/** The state, with advice if something has to be done. */
export function stateNotice(webhook: Webhook, now: number): Html | null {
  const { state, stateReason, stateDescription } = viewWebhook(webhook);
  const { failingSinceAt } = webhook.progress;
  if (state === 'failing') {
    const givenUpAt = failingSinceAt === null ? null : failingSinceAt + FAILING_LIMIT_MS;
    return notice({
      tone: 'caution',
      title: reasonSentence(stateReason),
      text: html`<p>${stateDescription ?? ''}</p>${givenUpAt === null ? null : html`<p>Every attempt has failed since ${time(failingSinceAt)}. What waits is tried again. If none succeeds, it is given up ${relativeTime(givenUpAt, now)}.</p>`}`,
    });
  }
  if (state === 'failed') {
    return notice({ tone: 'negative', title: 'The service gave it up.', text: stateDescription ?? '' });
  }
  if (state === 'stopped' && stateReason !== null && stateReason !== 'stopped_by_administrator') {
    return notice({ tone: 'caution', title: 'The service stopped it.', text: stateDescription ?? '' });
  }
  return null;
}

export function stateSentence({ progress }: Webhook): string {
  if (progress.state === 'stopped' && progress.stateReason === null) {
    return 'It has not been started yet. What happens meanwhile waits.';
  }
  return SENTENCES[progress.state];
}

const SENTENCES: Readonly<Record<WebhookState, string>> = {
  started: 'It sends: its first delivery or heartbeat is under way.',
  running: 'It sends, and the last attempt succeeded.',
  failing: 'It sends, and the last attempt failed.',
  failed: 'It sends no more. What waits is kept, and new records join it.',
  stopped: 'It does not send. What waits is kept, and new records join it.',
};

/** `http_status: the receiver answered 503` as a sentence without its code. */
function reasonSentence(reason: string | null): string {
  if (reason === null) return 'The last attempt failed.';
  const at = reason.indexOf(': ');
  return at === -1 ? `The last attempt failed (${reason}).` : sentence(reason.slice(at + 2));
}

/** `at` is when the webhook was created. */
export function historySection(
  history: readonly PastState[],
  isWhole: boolean,
  createdAt: number,
  auditLink: Html,
): Html {
  const moments = history.map(({ state, at, reason }) => ({
    at,
    title: stateBadge(state),
    tone: TONES[state],
    text: reason === null ? null : reasonText(reason),
  }));
  const begin = { at: createdAt, title: 'Created', tone: 'neutral' as const };
  return section({
    title: 'What it went through',
    actions: [auditLink],
    content: timeline(isWhole ? [...moments, begin] : moments),
  });
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
  const known = STATE_REASONS[code as StopReason] as string | undefined;
  if (known !== undefined) return known;
  const detail = reason.slice(code.length + 2);
  return detail === '' ? adviceFor(code as ErrorClass) : sentence(detail);
}
