/** Which messages were handled, so that a delivery that comes again (at least once is the promise) is not handled again. */
import type { ReceivedRecord } from '../wire/envelope.ts';

/** Where handled messages are remembered: a database, where several processes receive or a restart must not forget. */
export type SeenStore = {
  /** Those of the message ids that were handled. */
  find(messageIds: readonly string[]): Iterable<string> | Promise<Iterable<string>>;
  /** Called with what was handled, after it was. */
  add(messageIds: readonly string[]): void | Promise<void>;
};

/** Remembers in this process, up to `max` messages; the oldest go first. */
export function memorySeen(max: number): SeenStore {
  const seen = new Set<string>();
  return {
    find: (messageIds) => messageIds.filter((messageId) => seen.has(messageId)),
    add(messageIds) {
      for (const messageId of messageIds) seen.add(messageId);
      for (const messageId of seen) {
        if (seen.size <= max) break;
        seen.delete(messageId);
      }
    },
  };
}

/** Hands over the messages that are new, and only those, then remembers them. Rejects with whatever `handle` or the store does. */
export type HandleOnce = <T extends Pick<ReceivedRecord, 'messageId'>>(
  messages: readonly T[],
  handle: (fresh: readonly T[]) => void | Promise<void>,
) => Promise<void>;

/**
 * A message that is being handled by this process holds back every delivery that has it too, such as the second attempt of one
 * that took too long: it is handled then if the first failed, and dropped if not. A delivery takes all its messages at once,
 * so two never wait for each other.
 */
export function createHandleOnce(seen: SeenStore): HandleOnce {
  const underWay = new Map<string, Promise<unknown>>();
  return async (messages, handle) => {
    // A message that came twice in one delivery is one.
    const fresh = new Map(messages.map((message) => [message.messageId, message]));
    const ids = [...fresh.keys()];
    const busy = (): Promise<unknown> | undefined => underWay.get(ids.find((id) => underWay.has(id)) ?? '');
    for (let other = busy(); other !== undefined; other = busy()) await other;
    const work = async (): Promise<void> => {
      // A heartbeat has none, and a store need not know that list.
      if (fresh.size > 0) for (const id of await seen.find(ids)) fresh.delete(id);
      if (fresh.size === 0) return;
      await handle([...fresh.values()]);
      await seen.add([...fresh.keys()]);
    };
    const working = work().finally(() => {
      for (const id of ids) underWay.delete(id);
    });
    // Whether it failed is the business of the delivery that began it.
    for (const id of ids)
      underWay.set(
        id,
        working.catch(() => {}),
      );
    await working;
  };
}
