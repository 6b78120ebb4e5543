/** The audit log. An entry is written in the transaction of its change and carries the hash of the previous entry. */
import type { AuditAction, AuditEntry } from '../../domain/audit.ts';

/** Represents every actor of the operator in the audit log of a customer (contract §8.17). */
export const OPERATOR_ACTOR = 'operator';

/** A stored entry. */
export type AuditRecord = Omit<AuditEntry, 'action'> & { readonly action: string; readonly number: number };

export type AuditKind = 'changes' | 'sign-ins';

/** All given conditions must hold. `action` and `target` are prefixes; `since` is inclusive, `until` exclusive. */
export type AuditFilter = {
  readonly actor?: string;
  /** By actors who are not of this customer: neither its users nor its applications or portal links, nor the service itself. */
  readonly notBy?: string;
  readonly action?: string;
  readonly target?: string;
  readonly customerId?: string;
  readonly exactAction?: string;
  /** Only those of `COMING_AND_GOING`, or only the others. */
  readonly kind?: AuditKind;
  readonly exactTarget?: string;
  readonly since?: number;
  readonly until?: number;
};

/** The end of the chain: the number of entries and the hash of the last one. Written as `<entries>:<hash>`. */
type AuditHead = { readonly entries: number; readonly hash: string };

export type AuditStore = {
  /** Records an action that changed no row, for example a downloaded backup. */
  append(entry: AuditEntry): Promise<void>;
  /** With a customer, only an entry that its audit log shows. */
  get(id: string, customerId?: string | null): Promise<AuditRecord | null>;
  /**
   * Newest first. `before`: the id of the last entry of the previous page, or null. Nothing comes after an entry of another customer
   * than that of the filter.
   */
  list(before: string | null, limit: number, filter?: AuditFilter): Promise<AuditRecord[]>;
  /** Those of these actors that are users or applications of the customer, also deleted ones. */
  ofCustomer(actors: readonly string[], customerId: string): Promise<ReadonlySet<string>>;
  /** The instant of the newest entry of this action about each target that has one. */
  lastOf(action: AuditAction, targets: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** The number of the first entry that breaks the chain, or null. Entries removed from the end do not break it. */
  firstBroken(): Promise<number | null>;
  /** Null while the log is empty. */
  head(): Promise<AuditHead | null>;
  /** Whether the log contains the entry of this head. */
  hasHead(head: AuditHead): Promise<boolean>;
};

export function headText({ entries, hash }: AuditHead): string {
  return `${entries}:${hash}`;
}

/** Returns null for any other text. */
export function parseHead(text: string): AuditHead | null {
  const [, entries, hash] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text) ?? [];
  return entries === undefined || hash === undefined ? null : { entries: Number(entries), hash };
}
