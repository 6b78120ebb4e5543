/**
 * Gives up webhooks that have failed for too long and have no attempt soon (contract §5.10): their last batch is dead or waits for hours,
 * and heartbeats are off. Other webhooks are decided by their next attempt, which may succeed.
 */

import {
  FAILING_LIMIT_MS,
  giveUpReason,
  serviceStopEntry,
  stateChange,
  stoppedProgress,
} from '../domain/webhook-states.ts';
import type { CheckClock } from '../kernel/clock.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { StaleWrite } from '../store/port/errors.ts';
import { NO_TIME } from '../store/port/steps.ts';
import type { WebhookStore } from '../store/port/webhooks.ts';
import type { HousekeepingJob } from './scheduler.ts';

/** How often to look for failing webhooks that send nothing. */
const GIVE_UP_EVERY_MS = 60_000;

/** Webhooks with an attempt due within this time are left out. Longer than any attempt. */
export const GIVE_UP_QUIET_MS = 300_000;

type Dependencies = {
  readonly webhooks: Pick<WebhookStore, 'failingSince' | 'setState'>;
  readonly clock: Clock;
  readonly checkClock: CheckClock;
  readonly ids: Ids;
  readonly log: Log;
  /** Notifies the dispatcher that there may be work: the event about the new state. */
  readonly wake: () => void;
};

export function giveUpJob({ webhooks, clock, checkClock, ids, log, wake }: Dependencies): HousekeepingJob {
  return {
    name: 'give-up',
    everyMs: GIVE_UP_EVERY_MS,
    begin: () => async () => {
      await checkClock();
      const now = clock();
      const [webhook] = await webhooks.failingSince(
        { since: now - FAILING_LIMIT_MS, quietUntil: now + GIVE_UP_QUIET_MS },
        1,
      );
      const reason = webhook === undefined ? null : giveUpReason(webhook.progress, now);
      if (webhook === undefined || reason === null) return { done: true, rows: 0, took: NO_TIME };
      const { id: webhookId, progress } = webhook;
      const after = stoppedProgress(progress, 'gave_up', reason, now);
      try {
        await webhooks.setState(stateChange(webhook, after, ids), serviceStopEntry(webhook, after, ids));
      } catch (error) {
        // An attempt changed the webhook first. The next step reads it again.
        if (error instanceof StaleWrite) return { done: false, rows: 0, took: NO_TIME };
        throw error;
      }
      log.warn({ webhookId, reason }, `webhook ${after.state}`);
      wake();
      return { done: false, rows: 1, took: NO_TIME };
    },
  };
}
