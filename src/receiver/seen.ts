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
      for (const messageId of messageIds) {
        seen.delete(messageId);
        seen.add(messageId);
      }
      for (const messageId of seen) {
        if (seen.size <= max) break;
        seen.delete(messageId);
      }
    },
  };
}

type Message = Pick<ReceivedRecord, 'messageId'>;

/** Hands over the messages that are new, and only those, then remembers them. Rejects with whatever `handle` or the store does. */
export type HandleOnce = <T extends Message>(
  messages: readonly T[],
  handle: (fresh: readonly T[]) => void | Promise<void>,
) => Promise<void>;

/**
 * A message that is being handled by this process holds back every delivery that has it too, such as the second attempt of one
 * that took too long: it is handled then if the first failed, and dropped if not. A delivery takes all its messages at once,
 * so two never wait for each other.
 */
export function createHandleOnce(seen: SeenStore): HandleOnce {
  const underWay = new Map<string, Promise<void>>();
  return async (messages, handle) => {
    const ids = [...new Set(messages.map(({ messageId }) => messageId))];
    if (ids.length === 0) return;
    for (;;) {
      const others = ids.flatMap((id) => underWay.get(id) ?? []);
      if (others.length === 0) break;
      await Promise.all(others);
    }
    let finished = (): void => {};
    const end = new Promise<void>((resolve) => {
      finished = resolve;
    });
    for (const id of ids) underWay.set(id, end);
    try {
      const left = new Set(ids);
      for (const id of await seen.find(ids)) left.delete(id);
      // Of a message that came twice in one delivery, the first.
      const fresh = messages.filter(({ messageId }) => left.delete(messageId));
      if (fresh.length === 0) return;
      await handle(fresh);
      await seen.add(fresh.map(({ messageId }) => messageId));
    } finally {
      for (const id of ids) underWay.delete(id);
      finished();
    }
  };
}
