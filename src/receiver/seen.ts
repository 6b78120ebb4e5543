/** Which messages were handled, so that a delivery that comes again (at least once is the promise) is not handled again. */
import { createLru } from '../kernel/lru.ts';
import type { ReceivedRecord } from '../wire/envelope.ts';

/** Where handled messages are remembered: a database, where several processes receive or a restart must not forget. */
export type SeenStore = {
  /** Those of the message ids that were handled. */
  find(messageIds: readonly string[]): Iterable<string> | Promise<Iterable<string>>;
  /** Called with what was handled, after it was. */
  add(messageIds: readonly string[]): void | Promise<void>;
};

/** Remembers up to `max` messages in this process and forgets the oldest first. */
export function memorySeen(max: number): SeenStore {
  const seen = createLru<string, true>({ max });
  return {
    find: (messageIds) => messageIds.filter((messageId) => seen.get(messageId)),
    add(messageIds) {
      for (const messageId of messageIds) seen.set(messageId, true);
    },
  };
}

/** Hands over the messages that are new, and only those, then remembers them. Rejects with whatever `handle` or the store does. */
export type HandleOnce = <T extends Pick<ReceivedRecord, 'messageId'>>(
  messages: readonly T[],
  handle: (fresh: readonly T[]) => void | Promise<void>,
) => Promise<void>;

/**
 * A delivery waits for the earlier ones of this process that have a message in common with it, such as the first attempt of
 * one that took too long: the message is handled then if that failed, and dropped if not.
 */
export function createHandleOnce(seen: SeenStore): HandleOnce {
  const underWay = new Map<string, Promise<unknown>>();
  return async (messages, handle) => {
    // A message that came twice in one delivery is one.
    const fresh = new Map(messages.map((message) => [message.messageId, message]));
    const ids = [...fresh.keys()];
    const work = async (): Promise<void> => {
      // A heartbeat has none, and a store need not know that list.
      if (ids.length > 0) for (const id of await seen.find(ids)) fresh.delete(id);
      if (fresh.size === 0) return;
      await handle([...fresh.values()]);
      await seen.add([...fresh.keys()]);
    };
    const working = Promise.all(ids.map((id) => underWay.get(id))).then(work);
    // Whether it fails is the business of this delivery alone.
    const over = working.catch(() => {});
    for (const id of ids) underWay.set(id, over);
    await working.finally(() => {
      for (const id of ids) if (underWay.get(id) === over) underWay.delete(id);
    });
  };
}
