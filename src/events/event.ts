/** What an event is when it is made: identity, instants, and the data as the JSON text that will go out. */
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

/** An event on its way in. */
export type NewEvent = {
  readonly id: string;
  readonly type: string;
  /** JSON text, as it will go out. */
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
  /** SHA-256 of all that the publisher said of the event: the same key with another one is refused. */
  readonly contentHash: Uint8Array;
};

/** An event as accepted: its id, or that of the earlier one which the same idempotency key stands for. */
export type Accepted = { readonly id: string; readonly duplicate: boolean };
