/** The verbs that every administered table has, and how its lists are filtered and sorted. */
import type { AuditEntry } from '../../domain/audit.ts';
import type { Statement } from './database.ts';

export type ResourceStore<T> = {
  get(id: string): Promise<T | null>;
  /** Up to `limit` rows after `after`, in the order that it names. */
  list(after: After, limit: number, filter?: Filter): Promise<T[]>;
  /** `first`, here and below: statements written before the record in the same transaction, such as `keptReplies.keep`. */
  insert(record: T, audit: AuditEntry, first?: readonly Statement[]): Promise<void>;
  /** Throws `StaleWrite` if the row has changed since `before` was read. */
  update(record: T, before: T, audit: AuditEntry, first?: readonly Statement[]): Promise<void>;
  /** Throws `StaleWrite` if there is no such row or it has changed since `updatedAt`. */
  remove(id: string, audit: AuditEntry, updatedAt?: number): Promise<void>;
};

/** Makes the statements to write in the same transaction as the record `made`. */
export type Beside<Made> = (made: Made) => readonly Statement[];

/** The fields that every administered record has. `updatedAt` grows with every write, which reveals stale writes. */
export type Administered = { readonly id: string; readonly updatedAt: number };

/** Conditions on a list's rows. All of them must hold. */
export type Filter = Readonly<Record<string, string>>;

/** The order of a list. Rows with equal values are ordered by id. */
export type Sort = { readonly by: string; readonly descending: boolean };

/** The position of a page's last row: its sort value and its id. */
export type Place = { readonly value: string | number; readonly id: string };

/** Where a page begins: after an id in order of creation (empty: at the beginning), or after a position in another order. */
export type After = string | { readonly sort: Sort; readonly place: Place | null };

/** Every row of a list in order of creation. Each page has `limit` rows, and the last one fewer. */
export async function* everyRow<T extends { readonly id: string }>(
  limit: number,
  list: (after: string) => Promise<readonly T[]>,
): AsyncGenerator<T> {
  for (let after = ''; ; ) {
    const page = await list(after);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < limit) return;
    after = last.id;
  }
}
