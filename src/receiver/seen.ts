/** Remembers which messages were handled, so that a repeated delivery (delivery is at least once) is not handled twice. */
import { createLru } from '../kernel/lru.ts';
import type { ReceivedRecord } from '../wire/envelope.ts';

/** Stores the ids of handled messages. Use a database if several processes receive, or if a restart must not forget them. */
export type SeenStore = {
  /** Returns the ids among these whose messages were handled. */
  find(messageIds: readonly string[]): Iterable<string> | Promise<Iterable<string>>;
  /** Adds ids, after their messages were handled. */
  add(messageIds: readonly string[]): void | Promise<void>;
};

/** Remembers up to `max` messages in this process and forgets the least recently seen first. */
export function memorySeen(max: number): SeenStore {
  const seen = createLru<string, true>({ max });
  return {
    find: (messageIds) => messageIds.filter((messageId) => seen.get(messageId)),
    add(messageIds) {
      for (const messageId of messageIds) seen.set(messageId, true);
    },
  };
}

/** Calls `handle` with the messages that are new, then remembers them. Rejects with what `handle` or the store rejects with. */
type HandleOnce = <T extends Pick<ReceivedRecord, 'messageId'>>(
  messages: readonly T[],
  handle: (fresh: readonly T[]) => void | Promise<void>,
) => Promise<void>;

/**
 * A delivery waits for earlier deliveries of this process that share a message with it, for example an attempt that timed out at the
 * sender. If the earlier one fails, the message is handled now; otherwise it is dropped.
 */
export function createHandleOnce(seen: SeenStore): HandleOnce {
  const inProgress = new Map<string, Promise<unknown>>();
  return async (messages, handle) => {
    // Drops duplicates within one delivery.
    const fresh = new Map(messages.map((message) => [message.messageId, message]));
    const ids = [...fresh.keys()];
    const work = async (): Promise<void> => {
      // A heartbeat has no messages. Stores need not support an empty list.
      if (ids.length > 0) for (const id of await seen.find(ids)) fresh.delete(id);
      if (fresh.size === 0) return;
      await handle([...fresh.values()]);
      await seen.add([...fresh.keys()]);
    };
    const working = Promise.all(ids.map((id) => inProgress.get(id))).then(work);
    // Deliveries that wait for this one do not fail with it.
    const over = working.catch(() => {});
    for (const id of ids) inProgress.set(id, over);
    await working.finally(() => {
      for (const id of ids) if (inProgress.get(id) === over) inProgress.delete(id);
    });
  };
}
