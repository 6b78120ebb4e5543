/** Changes that one actor made within the same second, as a program does that sets a customer up: one row of the audit log. */
import type { AuditRecord } from '../../store/port/audit.ts';
import { countOf, listText } from '../parts/text.ts';
import { kindNoun } from './entries.ts';

/** Neighbours in the list; at least one. */
export type Burst = readonly [AuditRecord, ...AuditRecord[]];

/** Fewer changes are rows of their own. */
const BURST_MIN = 4;
const SECOND_MS = 1000;

/** In the order of the list. `isFiltered`: the reader asked for single entries, so each is a row. */
export function bursts(entries: readonly AuditRecord[], isFiltered: boolean): readonly Burst[] {
  const found: [AuditRecord, ...AuditRecord[]][] = [];
  for (const entry of entries) {
    const last = found.at(-1);
    if (last !== undefined && !isFiltered && belongsTo(last[0], entry)) last.push(entry);
    else found.push([entry]);
  }
  return found.flatMap((burst) => (burst.length < BURST_MIN ? burst.map((entry): Burst => [entry]) : [burst]));
}

function belongsTo(first: AuditRecord, entry: AuditRecord): boolean {
  const isSameSecond = Math.floor(entry.at / SECOND_MS) === Math.floor(first.at / SECOND_MS);
  return isSameSecond && entry.actor === first.actor && ownerOf(entry) === ownerOf(first);
}

/** The customer that an entry is about: its own creation too, which belongs to the operator. */
export function ownerOf({ customerId, target }: Pick<AuditRecord, 'customerId' | 'target'>): string | null {
  return target.startsWith('customer:') ? target.slice('customer:'.length) : customerId;
}

/** `3 webhooks, 2 endpoints and 1 user`: each object once, however often it changed. */
export function burstSummary(burst: Burst): string {
  const targets = [...new Set(burst.map(({ target }) => target))];
  const kinds = Map.groupBy(targets, (target) => target.split(':', 1)[0] ?? '');
  return listText(
    [...kinds].map(([kind, same]) => {
      if (kind === 'portal') return 'the look of the portal';
      const noun = kindNoun(kind);
      return countOf(same.length, noun, undefined, noun === 'delivery' ? 'deliveries' : `${noun}s`);
    }),
  );
}
