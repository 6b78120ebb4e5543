/** Limits the events of a webhook's changes of state. */
import type { StateChange } from '../domain/webhook.ts';
import { isRunnable } from '../domain/webhook-states.ts';
import { createLru } from '../kernel/lru.ts';

/** `webhook.running` and `webhook.failing` events of one webhook in a minute, and webhooks whose events are counted. */
export const STATE_EVENTS_PER_MINUTE = 60;
export const STATE_EVENT_WEBHOOKS = 10_000;

export type StateEventLimit = {
  /** The changes, without the events beyond `STATE_EVENTS_PER_MINUTE` in the minute before `now`. A stop always keeps its event. */
  limited(changes: readonly StateChange[], now: number): readonly StateChange[];
  /** Counts the events of changes that are written. */
  written(changes: readonly StateChange[], now: number): void;
};

const MINUTE_MS = 60_000;

/**
 * Limits the `webhook.running` and `webhook.failing` events of one webhook. If the receiver of these events refuses some of them, every
 * response changes the state again and so makes another event, without end.
 */
export function createStateEventLimit(): StateEventLimit {
  /** By webhook number, the times of its latest events. */
  const writtenAt = createLru<number, readonly number[]>({ max: STATE_EVENT_WEBHOOKS });
  const recent = (webhookNumber: number, now: number): readonly number[] =>
    (writtenAt.get(webhookNumber) ?? []).filter((at) => at > now - MINUTE_MS);
  return {
    limited: (changes, now) =>
      changes.map((change, before) => {
        const { state, webhookNumber } = change.progress;
        const isOver = recent(webhookNumber, now).length + before >= STATE_EVENTS_PER_MINUTE;
        return isOver && isRunnable(state) ? { ...change, event: null } : change;
      }),
    written: (changes, now) => {
      for (const { event, progress } of changes) {
        if (event === null) continue;
        writtenAt.set(progress.webhookNumber, [...recent(progress.webhookNumber, now), now]);
      }
    },
  };
}
