/** The state of a delivery in a sentence, with advice if something has to be done. */

import type { AttemptRecord } from '../../delivery/batch.ts';
import { type Html, html } from '../../http/html.ts';
import { adviceFor, type ErrorClass } from '../../outbound/outcome.ts';
import { isRunnable } from '../../webhooks/lifecycle.ts';
import type { Delivery, Webhook } from '../../webhooks/webhook.ts';
import { notice } from '../parts/notice.ts';
import { sentence } from '../parts/sentence.ts';
import { spanText } from '../parts/time.ts';

type Standing = {
  readonly delivery: Delivery;
  readonly attempts: readonly AttemptRecord[];
  readonly webhook: Pick<Webhook, 'maxAttempts' | 'progress'>;
};

export function standing({ delivery, attempts, webhook }: Standing, now: number): Html {
  const { state, createdAt, settledAt, attemptCount } = delivery;
  const problem = problemOf(attempts.at(-1));
  switch (state) {
    case 'delivered': {
      const tries = attemptCount === 1 ? 'at the first attempt' : `at attempt ${attemptCount}`;
      const text = `Arrived ${tries}, ${spanText((settledAt ?? createdAt) - createdAt)} after it happened.`;
      return notice({ tone: 'positive', text });
    }
    case 'dead':
      return notice({
        tone: 'negative',
        title: `Given up after ${attemptCount === 1 ? 'one attempt' : `${attemptCount} attempts`}.`,
        text: html`${problem === null ? null : html`<p>${problem}</p>`}<p>It is kept, and can be sent again.</p>`,
      });
    case 'discarded':
      return notice({ tone: 'neutral', title: 'Not sent.', text: 'Its data was erased before it could be.' });
    default: {
      const when = waitsFor(delivery.nextAttemptAt, webhook, now);
      // After a replay, the earlier attempts tell nothing about the present state.
      if (problem === null || attemptCount === 0) return notice({ tone: 'info', text: `It waits: ${when}.` });
      const title = `Attempt ${attemptCount} of ${webhook.maxAttempts} failed. It waits: ${when}.`;
      return notice({ tone: 'caution', title, text: problem });
    }
  }
}

/** The error and the advice. */
function problemOf(attempt: AttemptRecord | undefined): string | null {
  if (attempt === undefined || attempt.errorClass === null) return null;
  const { errorClass, errorMessage } = attempt;
  return `${sentence(errorMessage ?? errorClass)} ${adviceFor(errorClass as ErrorClass)}`;
}

function waitsFor(at: number | null, { progress: { state } }: Standing['webhook'], now: number): string {
  if (!isRunnable(state)) return state === 'failed' ? 'its webhook has failed' : 'its webhook is stopped';
  if (at === null) return 'others are before it';
  return at <= now ? 'it is due now' : `the next one is in ${spanText(at - now)}`;
}
