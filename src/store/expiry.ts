/** PGP keys and client certificates that expire soon, and which warnings were given (`pgp_key`, `endpoint`). */
import type { NewEvent } from '../events/event.ts';

/** What expires. `webhookIds` are the first 1,000 of those that use it. */
export type Expiring = {
  readonly kind: 'key' | 'certificate';
  /** Of the key, or of the endpoint whose certificate it is. */
  readonly id: string;
  readonly name: string;
  readonly expiresAt: number;
  readonly webhookIds: readonly string[];
  /** As the row was read: another write makes a warning stale. */
  readonly updatedAt: number;
};

export type Expiry = Pick<Expiring, 'kind' | 'id' | 'name' | 'expiresAt'>;

export type ExpiryStore = {
  /** Keys and certificates that expire, or have expired, by when. */
  all(limit: number): Promise<Expiry[]>;
  /** One that has come as near to its expiry as one of the thresholds, in days, and was not warned of since; null when there is none. */
  next(now: number, thresholdDays: readonly number[]): Promise<Expiring | null>;
  /** Marks the threshold as warned of and publishes the event. Throws `StaleWrite` when the row was changed meanwhile. */
  warn(expiring: Expiring, days: number, event: NewEvent): Promise<void>;
};
