/** The processes that serve and deliver on one database, and which of them sends for a webhook. */

/** The facts that an instance reports about itself. */
export type NewInstance = {
  readonly name: string;
  readonly version: string;
  /** Where it listens, or null if it does not. */
  readonly address: string | null;
};

/** Times are epoch milliseconds by the clock of the database. */
export type Instance = NewInstance & {
  readonly number: number;
  /** How many webhooks it holds. */
  readonly webhooks: number;
  readonly duties: readonly string[];
  readonly startedAt: number;
  readonly seenAt: number;
  /** Without a renewal until then, others may take what it holds. */
  readonly expiresAt: number;
  readonly alive: boolean;
};

/** The state of all instances at a renewal. */
export type Renewal = {
  readonly alive: number;
  /** The webhooks that all living instances hold. */
  readonly webhooks: number;
  /** Instances that have expired and still hold what they held. */
  readonly expired: readonly number[];
};

/** A standby of the database. Null: the role may not see it (`pg_read_all_stats`). */
export type Standby = {
  readonly name: string;
  /** As PostgreSQL calls it, for example `streaming`. */
  readonly state: string | null;
  /** Whether commits wait for it. */
  readonly isSynchronous: boolean;
  /** How far its replay is behind. */
  readonly lagMs: number | null;
};

/** The database as this instance sees it. */
export type DatabaseStatus = {
  readonly roundTripMs: number;
  /** The clock of this machine minus that of the database. */
  readonly clockAheadMs: number;
  /** Whether commits wait for a standby. */
  readonly isSynchronous: boolean;
  readonly standbys: readonly Standby[];
  /** The age of the oldest transaction that keeps old versions of rows; 0 without one. Null: the role may not see those of others. */
  readonly oldestSnapshotMs: number | null;
  /** When the first table runs out of partitions. */
  readonly partitionsEndAt: number;
};

/** The instances on one database. */
export type InstanceStore = {
  /** Joins under a new number, which all verbs of this store use from then on. */
  join(instance: NewInstance, leaseMs: number): Promise<void>;
  /** Renews this instance for `leaseMs`. Null if it has expired and another instance has released its webhooks: it must join again. */
  renew(leaseMs: number): Promise<Renewal | null>;
  /**
   * Gives back what an expired instance held: its webhooks, their batches and its duties. False if it was renewed or another one did so.
   */
  expire(instance: number): Promise<boolean>;
  /** Gives back everything that this instance holds, and leaves. Its deliveries must have ended. */
  leave(): Promise<void>;
  /** Takes a duty unless a living instance has it. Returns whether this instance has it now. */
  takeDuty(name: string): Promise<boolean>;
  /** How many webhooks this instance holds. */
  held(): number;
  /** Takes no more webhooks than this while other instances have fewer. */
  limitTo(webhooks: number): void;
  /** Up to `limit` of the webhooks that it holds. */
  holding(limit: number): readonly number[];
  /** Gives webhooks back with the batches that are leased, so that others take them. No work on them may be in progress. */
  giveBack(webhookNumbers: readonly number[]): Promise<void>;
  /** All instances, oldest first, expired ones included. */
  list(): Promise<Instance[]>;
  /** Reads the state of the database. */
  database(): Promise<DatabaseStatus>;
};
