/** The audit log: appended in the transaction of the change itself, each entry chained to the one before by its hash. */
import type { AuditEntry } from '../resources/audit.ts';

/** An entry as it is kept. */
export type AuditRecord = Omit<AuditEntry, 'action'> & { readonly action: string; readonly number: number };

/** Which entries. `action` and `target` are how those begin; `since` is included, `until` is not. */
export type AuditFilter = {
  readonly actor?: string;
  readonly action?: string;
  readonly target?: string;
  readonly exactAction?: string;
  readonly exactTarget?: string;
  readonly since?: number;
  readonly until?: number;
};

/**
 * The end of the chain: how many entries there are, and the hash of the last one, which stands for all of them. Written as
 * `<entries>:<hash>`.
 */
export type AuditHead = { readonly entries: number; readonly hash: string };

export type AuditStore = {
  /** Of something that changed no row, such as a backup that was downloaded. */
  append(entry: AuditEntry): Promise<void>;
  get(id: string): Promise<AuditRecord | null>;
  /** Newest first; `before` is the id of the last entry of the page before, or null. */
  list(before: string | null, limit: number, filter?: AuditFilter): Promise<AuditRecord[]>;
  /** The number of the first entry that does not fit its chain, or null when all do. Entries cut from the end leave a chain that fits. */
  firstBroken(): Promise<number | null>;
  /** Null while the log is empty. */
  head(): Promise<AuditHead | null>;
  /** Whether the log has, or once ended in, this entry. */
  hasHead(head: AuditHead): Promise<boolean>;
};

export function headText({ entries, hash }: AuditHead): string {
  return `${entries}:${hash}`;
}

/** Null for what is no head. */
export function parseHead(text: string): AuditHead | null {
  const [, entries, hash] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text) ?? [];
  return entries === undefined || hash === undefined ? null : { entries: Number(entries), hash };
}
