/**
 * How often it is told that a webhook runs or fails. A receiver of such events that refuses some of them makes another change, and so
 * another event, with every answer: without a bound as many as the network carries, for ever.
 */
import { STATE_NEWS_PER_MINUTE, STATE_NEWS_WEBHOOKS } from '../kernel/limits/delivery.ts';
import { createLru } from '../kernel/lru.ts';
import { isRunnable } from '../webhooks/lifecycle.ts';
import type { StateChange } from '../webhooks/webhook.ts';

export type News = {
  /** The changes, those that are too many for the minute before `now` without their event. A stop is always told. */
  bounded(changes: readonly StateChange[], now: number): readonly StateChange[];
  /** These are written. */
  written(changes: readonly StateChange[], now: number): void;
};

const MINUTE_MS = 60_000;

export function createNews(): News {
  /** By number of the webhook, when its latest events were told. */
  const told = createLru<number, readonly number[]>({ max: STATE_NEWS_WEBHOOKS });
  const recent = (webhookNumber: number, now: number): readonly number[] =>
    (told.get(webhookNumber) ?? []).filter((at) => at > now - MINUTE_MS);
  return {
    bounded: (changes, now) =>
      changes.map((change, before) => {
        const { state, webhookNumber } = change.progress;
        const isTooMany = recent(webhookNumber, now).length + before >= STATE_NEWS_PER_MINUTE;
        return isTooMany && isRunnable(state) ? { ...change, event: null } : change;
      }),
    written: (changes, now) => {
      for (const { event, progress } of changes) {
        if (event === null) continue;
        told.set(progress.webhookNumber, [...recent(progress.webhookNumber, now), now]);
      }
    },
  };
}
