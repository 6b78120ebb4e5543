/** The verbs that every administered table has: one row by id, a page in order of creation, and audited changes. */
import type { AuditEntry } from '../resources/audit.ts';
import type { After, Filter } from './conditions.ts';
import type { Statement } from './sqlite/driver/database.ts';

export type ResourceStore<T> = {
  get(id: string): Promise<T | null>;
  /** Up to `limit` rows that come after `after`, in its order. */
  list(after: After, limit: number, filter?: Filter): Promise<T[]>;
  /** `first` is written before it in the same transaction, here and below: the reply that is kept of it (`keptReplies.keep`). */
  insert(record: T, audit: AuditEntry, first?: readonly Statement[]): Promise<void>;
  /** Writes the row if it is still as `before` was read; throws `StaleWrite` when another write came between. */
  update(record: T, before: T, audit: AuditEntry, first?: readonly Statement[]): Promise<void>;
  /** Throws `StaleWrite` when there is no such row, or it has been written since `updatedAt`. */
  remove(id: string, audit: AuditEntry, updatedAt?: number): Promise<void>;
};

/** What is to be written together with something that is made or changed, once that is known. */
export type Beside<Made> = (made: Made) => readonly Statement[];

/** What a record needs to be administered. `updatedAt` grows with every write and so tells a stale one. */
export type Administered = { readonly id: string; readonly updatedAt: number };
