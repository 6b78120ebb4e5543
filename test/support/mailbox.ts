/** A queue of items that arrive asynchronously and are taken in order of arrival. */

export type Mailbox<T> = {
  put(item: T): void;
  /** Makes the next `take` reject with this reason. */
  fail(reason: string): void;
  /** Returns the next item, and waits for it if there is none. Rejects after a time limit, so that a test does not wait forever. */
  take(): Promise<T>;
};

const TIMEOUT_MS = 60_000;

type Item<T> = { readonly item: T } | { readonly reason: string };

/** `what` names the items in the error message of that time limit. */
export function createMailbox<T>(what: string): Mailbox<T> {
  const unread: Item<T>[] = [];
  const takers: ((next: Item<T>) => void)[] = [];

  const deliver = (next: Item<T>): void => {
    const taker = takers.shift();
    if (taker === undefined) unread.push(next);
    else taker(next);
  };

  return {
    put: (item) => deliver({ item }),
    fail: (reason) => deliver({ reason }),
    take: () =>
      new Promise((resolve, reject) => {
        const settle = (next: Item<T>): void => {
          clearTimeout(timer);
          if ('item' in next) resolve(next.item);
          else reject(new Error(`waiting for ${what} failed: ${next.reason}`));
        };
        const timer = setTimeout(() => {
          takers.splice(takers.indexOf(settle), 1);
          reject(new Error(`timed out waiting for ${what}`));
        }, TIMEOUT_MS);
        const next = unread.shift();
        if (next === undefined) takers.push(settle);
        else settle(next);
      }),
  };
}
