/**
 * Waits for records of webhooks' logs. All waiting readers share one look at the ends of their logs: immediately after a publication by
 * this process, and now and then for those of other processes. If no reader waits, it does not look.
 */

import { createFairQueue, type Owner } from '../../kernel/fair-queue.ts';
import type { PullStore } from '../../store/port/pull.ts';

/** How many readers may wait. */
const RECORD_READERS_MAX = 1000;
/** Of these, readers of one customer. */
export const RECORDS_WAITING_PER_CUSTOMER = 100;

/**
 * How often a record of another process is looked for. One look, at most every `RECORDS_LOOK_EVERY_MS`, serves all readers. It is followed
 * by a pause of `RECORDS_LOOK_SHARE` times its length.
 */
const RECORDS_LOOK_MS = 100;
const RECORDS_LOOK_EVERY_MS = 5;
const RECORDS_LOOK_SHARE = 10;

export type LogWatch = {
  /** There may be new records. */
  wake(): void;
  /**
   * Resolves when the log has a record after `offset`, after `ms`, or when `signal` aborts. Rejects with 429 if too many reads of the owner
   * wait, and with 503 if too many of all do.
   */
  wait(owner: Owner, webhookNumber: number, offset: number, ms: number, signal: AbortSignal): Promise<void>;
  /** Ends every wait, and later ones immediately. */
  close(): void;
};

type Waiter = { readonly webhookNumber: number; readonly offset: number; readonly end: () => void };

export function createLogWatch(ends: PullStore['ends']): LogWatch {
  const waiters = new Set<Waiter>();
  const places = createFairQueue({
    what: 'reads that wait for records',
    places: RECORD_READERS_MAX,
    placesPerOwner: RECORDS_WAITING_PER_CUSTOMER,
  });
  let timer: NodeJS.Timeout | null = null;
  let isLooking = false;
  let wanted = false;
  let isClosed = false;
  /** No look before this time: looks take at most a tenth of the time, however many readers wait. */
  let restsUntil = 0;

  const look = async (): Promise<void> => {
    timer = null;
    isLooking = true;
    wanted = false;
    const startedAt = performance.now();
    try {
      const found = await ends([...new Set([...waiters].map(({ webhookNumber }) => webhookNumber))]);
      const next = new Map(found.map(({ webhookNumber, nextOffset }) => [webhookNumber, nextOffset]));
      for (const waiter of [...waiters]) {
        const { webhookNumber, offset, end } = waiter;
        // A deleted webhook has lost its log: its reader finds out.
        if ((next.get(webhookNumber) ?? Number.POSITIVE_INFINITY) > offset + 1) end();
      }
    } catch {
      // The database cannot be read now. The next look tries again, and the reader learns it when its wait ends.
    }
    isLooking = false;
    const endedAt = performance.now();
    restsUntil = Math.max(startedAt + RECORDS_LOOK_EVERY_MS, endedAt + (endedAt - startedAt) * RECORDS_LOOK_SHARE);
    if (waiters.size > 0) schedule(wanted ? restsUntil - endedAt : RECORDS_LOOK_MS);
  };

  const schedule = (inMs: number): void => {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => void look(), Math.max(0, inMs));
  };

  /** Nobody waits: neither for the next look nor for a repetition of the one in progress. */
  const rest = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    wanted = false;
  };

  const wake = (): void => {
    if (waiters.size === 0 || wanted) return;
    wanted = true;
    if (!isLooking) schedule(restsUntil - performance.now());
  };

  return {
    wake,
    close: () => {
      isClosed = true;
      for (const { end } of [...waiters]) end();
    },
    wait: async (owner, webhookNumber, offset, ms, signal) => {
      const leave = places.take(owner);
      await new Promise<void>((resolve) => {
        const end = (): void => {
          leave();
          waiters.delete(waiter);
          clearTimeout(late);
          signal.removeEventListener('abort', end);
          if (waiters.size === 0) rest();
          resolve();
        };
        const waiter: Waiter = { webhookNumber, offset, end };
        const late = setTimeout(end, ms);
        if (signal.aborted || isClosed) return end();
        signal.addEventListener('abort', end, { once: true });
        waiters.add(waiter);
        // A record may have come since the caller looked.
        wake();
      });
    },
  };
}
