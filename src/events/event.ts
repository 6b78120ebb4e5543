/** What an event is when it is made: identity, instants, and the data as the JSON text that will go out. */
import type { Ids } from '../kernel/ids.ts';
import type { NewEvent } from '../store/sqlite/events.ts';

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

/** Employee events are about the employee, whoever publishes them (wire.md §4). */
function subjectOf({ type, data }: EventDraft): string | null {
  return type.startsWith('employee.') && typeof data.userId === 'string' ? data.userId : null;
}
