/** What becomes of batches and of their webhook after attempts, written in one transaction with the attempts themselves. */
import type { Batch } from '../delivery/batch.ts';
import type { Settlement } from '../delivery/settlement.ts';

export type SettlementStore = {
  /**
   * Writes what became of attempts of one webhook, and claims its next work where `next` says so. Throws `StaleWrite` if one of the
   * leases was lost, the webhook's state is another by now, or its next work was claimed by somebody else; nothing is written then.
   */
  settle(settlement: Settlement): Promise<void>;
  /** Whether the lease under which this attempt was made still stands. */
  isLeased(batch: Batch, owner: string): Promise<boolean>;
};
