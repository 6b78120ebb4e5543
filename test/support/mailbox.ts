/** A queue of items that arrive asynchronously and are taken in order of arrival. */

export type Mailbox<T> = {
  put(item: T): void;
  /** Something unexpected arrived: the next `take` rejects with it. */
  fail(reason: string): void;
  /** Waits for the next one if need be. Rejects where it never comes: a test that waits forever says nothing. */
  take(): Promise<T>;
};

const PATIENCE_MS = 60_000;

type Item<T> = { readonly item: T } | { readonly reason: string };

/** `what` names the items for the message of a wait that was in vain. */
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
          clearTimeout(patience);
          if ('item' in next) resolve(next.item);
          else reject(new Error(`${what} was wanted, and refused: ${next.reason}`));
        };
        const patience = setTimeout(() => {
          takers.splice(takers.indexOf(settle), 1);
          reject(new Error(`${what} was waited for and did not come`));
        }, PATIENCE_MS);
        const next = unread.shift();
        if (next === undefined) takers.push(settle);
        else settle(next);
      }),
  };
}
