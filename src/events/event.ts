/** A new event: its identity, its instant, and its data as the JSON text that is sent. */
import type { Ids } from '../kernel/ids.ts';

export type EventDraft = {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly subject?: string | null | undefined;
  readonly correlationId?: string | null | undefined;
  readonly actorId?: string | null | undefined;
};

export function makeEvent(draft: EventDraft, { ids, now }: { readonly ids: Ids; readonly now: number }): NewEvent {
  return {
    id: ids.uuid(),
    type: draft.type,
    dataJson: JSON.stringify(draft.data),
    subject: draft.subject ?? subjectOf(draft),
    correlationId: draft.correlationId ?? ids.uuid(),
    actorId: draft.actorId ?? null,
    createdAt: now,
    idempotency: null,
  };
}

/** Employee events are about the employee, whoever publishes them (contract §4). */
function subjectOf({ type, data }: EventDraft): string | null {
  return type.startsWith('employee.') && typeof data.userId === 'string' ? data.userId : null;
}

/** An event before it is stored. */
export type NewEvent = {
  readonly id: string;
  readonly type: string;
  /** The JSON text that is sent. */
  readonly dataJson: string;
  readonly subject: string | null;
  readonly correlationId: string;
  readonly actorId: string | null;
  readonly createdAt: number;
  readonly idempotency: Idempotency | null;
};

export type Idempotency = {
  readonly publisher: string;
  readonly key: string;
  readonly expiresAt: number;
  /** SHA-256 of the event as published. The same key with another hash is refused. */
  readonly contentHash: Uint8Array;
};

/** An accepted event. A duplicate has the id of the earlier event with the same idempotency key. */
export type Accepted = { readonly id: string; readonly duplicate: boolean };
