/** Reading the log of a webhook in mode `pull`: the new records, and the acknowledgements of its reader. */
import type { StateChange } from '../../domain/webhook.ts';

/** A reader has processed the records from `from`, which is the cursor, to `through`. */
export type Acknowledgement = {
  readonly webhookNumber: number;
  readonly from: number;
  readonly through: number;
  readonly at: number;
  /** The session that begins with it. Null: the webhook's session continues. */
  readonly session: { readonly id: string; readonly at: number } | null;
  /** Makes an id for each batch that the records become. */
  readonly newId: () => string;
  /** The first acknowledgement after a start makes the webhook running. */
  readonly change: StateChange | null;
};

/** Where a log ends: the offset that the next record will get. */
export type LogEnd = { readonly webhookNumber: number; readonly nextOffset: number };

export type PullStore = {
  /**
   * Marks records as delivered and moves the cursor behind them. Throws `StaleWrite` if another acknowledgement, retention or a stop came
   * first.
   */
  acknowledge(acknowledgement: Acknowledgement): Promise<void>;
  /** The ends of several logs, in one read. Webhooks that do not exist are left out. */
  ends(webhookNumbers: readonly number[]): Promise<LogEnd[]>;
};
