/** A batch of records of one webhook, and the lease on it. */
import type { EnvelopeRecord } from '../wire/envelope.ts';
/** Records that travel together, claimed or about to be. `attemptNumber` is the attempt that the claim begins. */
export type Batch = {
  readonly webhookNumber: number;
  readonly id: string;
  readonly firstOffset: number;
  readonly lastOffset: number;
  /** Of the records as they were published, with what goes around each. */
  readonly bytes: number;
  readonly attemptNumber: number;
  readonly contentRefusals: number;
};

export type Claim = {
  readonly webhookNumber: number;
  readonly owner: string;
  readonly leaseExpiresAt: number;
  readonly now: number;
  /** Batches that existed and are due; their attempt numbers are already counted up. */
  readonly retries: readonly Batch[];
  /** New ones, cut from the log between `cursorBefore` and `cursorAfter`; this is the first attempt of each. */
  readonly fresh: readonly Batch[];
  readonly cursorBefore: number;
  readonly cursorAfter: number;
  /** The webhook is not looked at again before this, whatever waits. */
  readonly notBefore: number;
  /** When it is next looked at though no record waits: a heartbeat or the session's renewal. */
  readonly idleAt: number;
  readonly session: { readonly id: string; readonly at: number };
};

/** A record of the log with its payload. `dataJson` is null from the moment when its erasure was asked for. */
export type LogRecord = Omit<EnvelopeRecord, 'dataJson'> & {
  readonly dataJson: string | null;
  /** The person that it is about. */
  readonly subject: string | null;
};
