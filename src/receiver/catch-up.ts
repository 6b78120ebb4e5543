/** Reads the records that a receiver has lost, in order, with an access token (contract §9). */
import { type CallOptions, createCalls } from './calls.ts';
import type { RecordOf } from './delivery.ts';

export type CatchUpOptions<Events> = CallOptions & {
  /** The offset of the last record that you have (default -1: none, so everything that the sender still keeps). */
  readonly after?: number;
  /**
   * Gets the next records, at least one. When it returns, or the promise that it returns resolves, they count as handled. Keep
   * `throughOffset` together with their effects, as the next `after`. If it throws, `catchUp` rejects with the same error.
   */
  readonly onRecords: (records: readonly RecordOf<Events>[], throughOffset: number) => void | Promise<void>;
  /** Waits for further records until `signal` ends it. Without it, `catchUp` resolves at the newest record. */
  readonly follow?: boolean;
};

/**
 * Reads until the newest record and returns its offset. Repeats a read after a network error, 429 and 5xx, with growing pauses; after
 * `CATCH_UP_FAILURES` in a row it rejects. Rejects with `CatchUpError` for other refusals, and with the reason of `signal` if that ends it.
 */
export async function catchUp<Events extends object = Record<string, unknown>>(
  options: CatchUpOptions<Events>,
): Promise<number> {
  const { onRecords, follow = false, signal } = options;
  const calls = createCalls<Events>(options);
  let { after = -1 } = options;
  for (;;) {
    const query = { after: String(after), limit: '1000', ...(follow && { wait: '30' }) };
    const { records, throughOffset, newestOffset } = await calls.read(query);
    if (records.length > 0) await onRecords(records, throughOffset);
    after = throughOffset;
    signal?.throwIfAborted();
    if (!follow && after >= newestOffset) return after;
  }
}
