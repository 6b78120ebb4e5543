/** How much waits at each webhook, for the metrics: from its progress and one index look-up, whatever the size of its log. */
export type Queue = {
  readonly webhookId: string;
  readonly name: string;
  readonly state: string;
  /** Records that wait, and those in batches that are under way or wait for a retry. */
  readonly records: number;
  /** When the oldest of them happened; null when there is none. */
  readonly oldestAt: number | null;
};

export type QueueStore = {
  /** The queues of the first `limit` webhooks in order of creation, and the records that wait at all the others. */
  read(limit: number): Promise<{ readonly queues: readonly Queue[]; readonly otherRecords: number }>;
};
