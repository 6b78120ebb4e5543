/** Events and their types: their shapes, and the rules that need nothing else. Pure, except for the ids it draws. */
import type { Ids } from '../kernel/ids.ts';

/** The most events of one request (contract §1.8). */
export const EVENTS_PER_REQUEST = 1000;

/**
 * Who gets an event besides the operator's own webhooks (contract §8.6): the webhooks of the customer with this id, of every customer
 * (`EVERYONE`), or of none (`OPERATOR_ONLY`).
 */
export type Audience = string;
export const EVERYONE: Audience = '*';
export const OPERATOR_ONLY: Audience = '';

export type EventDraft = {
  readonly type: string;
  readonly audience: Audience;
  /** Or its JSON, as a publisher sent it. */
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly dataJson?: string | undefined;
  readonly subject?: string | null | undefined;
  readonly correlationId?: string | null | undefined;
  readonly actorId?: string | null | undefined;
  readonly orderingKey?: string | null | undefined;
};

export function makeEvent(draft: EventDraft, { ids, now }: { readonly ids: Ids; readonly now: number }): NewEvent {
  return {
    id: ids.uuid(),
    type: draft.type,
    audience: draft.audience,
    dataJson: draft.dataJson ?? JSON.stringify(draft.data),
    subject: draft.subject ?? employeeOf(draft),
    correlationId: draft.correlationId ?? ids.uuid(),
    actorId: draft.actorId ?? null,
    orderingKey: draft.orderingKey ?? employeeOf(draft),
    createdAt: now,
    excluded: [],
    idempotency: null,
  };
}

/** Employee events are about the employee, and are sent in order for each employee, no matter who publishes them (contract §4.13). */
function employeeOf({ type, data }: Pick<EventDraft, 'type' | 'data'>): string | null {
  return type.startsWith(EMPLOYEE_CATEGORY) && typeof data?.userId === 'string' ? data.userId : null;
}

/** An event before it is stored. */
export type NewEvent = {
  readonly id: string;
  readonly type: string;
  readonly audience: Audience;
  /** The JSON text that is sent. */
  readonly dataJson: string;
  readonly subject: string | null;
  readonly correlationId: string;
  readonly actorId: string | null;
  /** Webhooks with `ordered: "key"` send events of one key in order. Null: in any order. */
  readonly orderingKey: string | null;
  readonly createdAt: number;
  /** The numbers of the webhooks whose filters it does not pass. The store fills them in. */
  readonly excluded: readonly number[];
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

/** Only the service publishes events of this category. */
export const STATUS_CATEGORY = 'webhook.';
/** Every type of this category goes out encrypted. */
export const EMPLOYEE_CATEGORY = 'employee.';

/** An event type, and the rules for its events. */
export type EventType = {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly encryptionRequired: boolean;
  readonly builtIn: boolean;
  /** A JSON Schema that the data of such an event must satisfy. */
  readonly dataSchema: Readonly<Record<string, unknown>> | null;
  /** The data of an example. It satisfies the schema. */
  readonly sample: Readonly<Record<string, unknown>> | null;
  /** The heading under which the event catalogue lists it. */
  readonly group: string | null;
  /** The `source` of its CloudEvents; null: the address of the service. */
  readonly source: string | null;
  /** Receivers should no longer subscribe to it. */
  readonly deprecated: boolean;
  /** Whether everyone sees it in the event catalogue. */
  readonly public: boolean;
  /** Paths such as `data.orderId`: people find its events by the values there. None if they must be encrypted. */
  readonly searchPaths: readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number;
};

type Named = Pick<EventType, 'name' | 'encryptionRequired'>;

/** The event types that match a subscription pattern: a name, `category.*` or `*`. */
export function matchingTypes<T extends Named>(pattern: string, eventTypes: readonly T[]): T[] {
  return eventTypes.filter(
    ({ name }) =>
      pattern === '*' || pattern === name || (pattern.endsWith('.*') && name.startsWith(pattern.slice(0, -1))),
  );
}

/** The event types whose events webhooks of this owner get: customers get only public ones (contract §8.4). */
export function typesFor(customerId: string | null, eventTypes: readonly EventType[]): readonly EventType[] {
  return customerId === null ? eventTypes : eventTypes.filter((eventType) => eventType.public);
}

/** Names the events that make encryption necessary for these patterns, or null. A wildcard also matches future types. */
export function encryptionNeed(
  patterns: readonly string[],
  eventTypes: readonly Named[],
  knowsEmployees = true,
): string | null {
  for (const pattern of patterns) {
    if (pattern === '*' || pattern.startsWith(EMPLOYEE_CATEGORY))
      return knowsEmployees ? 'employee events' : 'some of these events';
    const needing = matchingTypes(pattern, eventTypes).find(({ encryptionRequired }) => encryptionRequired);
    if (needing !== undefined) return `events of type ${needing.name}`;
  }
  return null;
}

/** One event of the outbox; `dataJson` is its data as JSON text, which is sent unchanged. */
export type EnvelopeRecord = {
  readonly offset: number;
  /** Epoch milliseconds of the event. */
  readonly createdAt: number;
  readonly correlationId: string;
  readonly messageId: string;
  readonly eventType: string;
  readonly actorId: string | null;
  readonly dataJson: string;
};

/** The same for a format that is not `records`. */
export type FormattedRecord = EnvelopeRecord & {
  /** The person that it is about. */
  readonly subject: string | null;
};
