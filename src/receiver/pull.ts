/** Reads the events of a webhook in mode `pull`, in order, and acknowledges them once they are processed (contract §10.3, §10.4). */

import { type CallOptions, CatchUpError, createCalls } from './calls.ts';
import type { RecordOf } from './delivery.ts';
import { CATCH_UP_FAILURES } from './limits.ts';

export type PullOptions = CallOptions & {
  /** Waits for further records until `signal` ends it. Without it, the loop ends at the newest record. */
  readonly follow?: boolean;
  /** How many records at most are handed over together, up to 1000 (default: 100). */
  readonly limit?: number;
};

/** The next records, at least one. */
export type Pulled<Events> = {
  readonly records: readonly RecordOf<Events>[];
  readonly throughOffset: number;
  /** Acknowledges them now, for a loop that ends with them. Otherwise they are acknowledged when the loop asks for more. */
  acknowledge(): Promise<void>;
};

/**
 *     for await (const { records } of pull({ url, webhookId, token, follow: true })) await process(records);
 *
 * Records are acknowledged when the loop asks for the next ones. A program that dies before reads them again, with the same `messageId`; so
 * it does after a loop that ends early. Repeats a call after a network error, 429 and 5xx, with growing pauses: without end if it follows,
 * otherwise up to `CATCH_UP_FAILURES` in a row. Throws `CatchUpError` for other refusals, and the reason of `signal` if that ends it.
 */
export async function* pull<Events extends object = Record<string, unknown>>(
  options: PullOptions,
): AsyncGenerator<Pulled<Events>, void, void> {
  const { follow = false, limit = 100, signal } = options;
  const calls = createCalls<Events>(options, follow ? Number.POSITIVE_INFINITY : CATCH_UP_FAILURES);
  const query = { limit: String(limit), ...(follow && { wait: '30' }) };
  for (;;) {
    signal?.throwIfAborted();
    const { records, throughOffset, newestOffset, acknowledgedOffset } = await calls.read(query);
    if (acknowledgedOffset === undefined)
      throw new CatchUpError('the webhook is in mode push: read what you lack with catchUp', null);
    let isAcknowledged = throughOffset <= acknowledgedOffset;
    const acknowledge = async (): Promise<void> => {
      if (isAcknowledged) return;
      await calls.acknowledge(throughOffset).catch(refuseUnlessBehind);
      isAcknowledged = true;
    };
    if (records.length > 0) yield { records, throughOffset, acknowledge };
    // Also if every record was erased: otherwise the next read would begin with them again.
    await acknowledge();
    if (!follow && throughOffset >= newestOffset) return;
  }
}

/** Another reader of the same webhook is further. The next read begins where that one is. */
function refuseUnlessBehind(error: unknown): void {
  if (error instanceof CatchUpError && error.status === 409 && error.fields.includes('throughOffset')) return;
  throw error;
}
