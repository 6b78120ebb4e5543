/** Publishing (contract §4.13): all events are read and checked, then appended all or none, and durable before the reply. */

import { z } from 'zod';
import type { Acting } from '../domain/acting.ts';
import {
  type Accepted,
  type Audience,
  EMPLOYEE_CATEGORY,
  type EventDraft,
  makeEvent,
  type NewEvent,
} from '../domain/event.ts';
import { hashing } from '../kernel/content-hash.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import { parsing, parsingExactly } from '../kernel/json-parts.ts';
import { type FieldProblem, PROBLEMS_MAX, Refusal, refuseFields } from '../kernel/refusal.ts';
import { slices, type Work } from '../kernel/slices.ts';
import { fieldName, JSON_DEPTH_MAX } from '../kernel/validation.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import { KeyConflict, retryStale } from '../store/port/errors.ts';
import type { EventVerbs } from '../store/port/events.ts';
import type { Store } from '../store/port/store.ts';
import {
  audiencesOf,
  countEvents,
  duplicatesOf,
  giveBack,
  type LimitedEvents,
  limitedEvents,
  takeAllowances,
} from './audience.ts';
import { type CheckedEvent, type Events, fieldOf } from './event-input.ts';
import type { EventTypes } from './event-types.ts';
import { IDEMPOTENCY_MS } from './limits.ts';

export const acceptedView = z
  .object({
    accepted: z.int(),
    duplicates: z.int(),
    events: z.array(z.object({ id: z.string(), duplicate: z.boolean() })),
  })
  .meta({ id: 'Accepted', description: 'The result of each event, in the order of the request.' });
export type AcceptedView = z.infer<typeof acceptedView>;

/** Appends the events all or none. They are durable when it resolves. */
export type Publish = (events: Events, acting: Acting) => Promise<AcceptedView>;

type Dependencies = {
  readonly store: CustomerVerbs & EventVerbs & Pick<Store, 'customerId'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly eventTypes: Pick<EventTypes, 'problemsOf'>;
  /** Tells the dispatcher that there may be work. */
  readonly wake: () => void;
};

/** `limited`: how many of the events are for customers with a limit. */
type Made = { readonly events: readonly NewEvent[]; readonly limited: readonly LimitedEvents[] };

/** Idempotency keys are per publisher: two applications may use the same key. */
export function createPublish({ store, clock, ids, eventTypes, wake }: Dependencies): Publish {
  const make = async (inputs: readonly CheckedEvent[], batch: boolean, publisher: string): Promise<Made> => {
    const { audiences, addressees } = await audiencesOf(store, inputs);
    const { events, sound, problems } = await slices(
      store.customerId,
      making(inputs, { audiences, ids, now: clock(), publisher }),
    );
    const ofTypes = await eventTypes.problemsOf(sound);
    for (const [n, { at }] of sound.entries()) problems[at] = ofTypes[n] ?? [];
    const details = problems.flatMap((ofEvent, at) =>
      ofEvent.map(({ field, problem }) => ({ field: fieldOf(at, field, batch), problem })),
    );
    if (details.length > 0) throw refuseFields(details);
    return { events, limited: limitedEvents(events, addressees) };
  };
  return async (given, { actor: publisher }) => {
    const batch = Array.isArray(given);
    const inputs: readonly CheckedEvent[] = batch ? given : [given];
    let taken: readonly LimitedEvents[] = [];
    let audiences: readonly Audience[] = [];
    const accepted = await retryStale(async () => {
      const { events, limited } = await make(inputs, batch, publisher);
      refuseConflicts(conflictsWithin(events), batch);
      // Once, for all rounds.
      if (limited.length > 0 && taken.length === 0) {
        await takeAllowances(store.allowances, limited, clock());
        taken = limited;
      }
      audiences = events.map(({ audience }) => audience);
      const judged = await store.events.judge(events);
      // The ids are made when the events are written, so that logs keep the order of ids when requests are checked concurrently.
      return store.events.publish(judged.map((event) => ({ ...event, id: ids.uuid() })));
    }).catch(async (error: unknown) => {
      // Refused events also count if too many events of their customer wait: otherwise the customer would send them again immediately.
      const counts = error instanceof Refusal && error.code === 'too_many_requests';
      if (!counts) await giveBack(store.allowances, taken, clock());
      if (error instanceof KeyConflict) refuseConflicts(error.at, batch);
      throw error;
    });
    if (taken.length > 0) await giveBack(store.allowances, duplicatesOf(taken, accepted, audiences), clock());
    countEvents(store.usage, accepted, audiences, clock());
    wake();
    return summary(accepted);
  };
}

type Sound = { readonly at: number; readonly type: string; readonly dataJson: string };
type Making = {
  readonly events: NewEvent[];
  /** The events that the rules of their types judge. */
  readonly sound: Sound[];
  readonly problems: (readonly FieldProblem[])[];
};

/** Makes the events, with the problems of each input. Pauses within and between them, because data may be large. */
function* making(
  inputs: readonly CheckedEvent[],
  {
    audiences,
    ids,
    now,
    publisher,
  }: {
    readonly audiences: readonly (Audience | FieldProblem)[];
    readonly ids: Ids;
    readonly now: number;
    readonly publisher: string;
  },
): Work<Making> {
  const made: Making = { events: [], sound: [], problems: [] };
  for (const [at, { idempotencyKey, ...draft }] of inputs.entries()) {
    const audience = audiences[at];
    if (audience === undefined || typeof audience !== 'string') {
      made.problems.push(audience === undefined ? [] : [audience]);
      continue;
    }
    // The data contains the subject.
    const isParsed = draft.type.startsWith(EMPLOYEE_CATEGORY);
    const data = isParsed ? ((yield* parsing(draft.dataJson)) as EventDraft['data']) : undefined;
    const event = makeEvent({ ...draft, data, audience }, { ids, now });
    made.problems.push([]);
    made.sound.push({ at, ...draft });
    const key = idempotencyKey ?? null;
    const idempotency =
      key === null
        ? null
        : { publisher, key, expiresAt: now + IDEMPOTENCY_MS, contentHash: yield* hashOf(draft, audience) };
    made.events.push({ ...event, idempotency });
    yield;
  }
  return made;
}

/** Hashes the event without its key. The order of members does not matter, and null equals absent. */
function* hashOf(event: Omit<CheckedEvent, 'idempotencyKey'>, audience: Audience): Work<Uint8Array> {
  const { type, dataJson, subject, correlationId, actorId, orderingKey } = event;
  const data = yield* parsingExactly(dataJson);
  const parts = [type, data, subject ?? null, correlationId ?? null, actorId ?? null, audience];
  // Events without an ordering key have the hash that earlier versions stored.
  return yield* hashing(orderingKey == null ? parts : [...parts, orderingKey]);
}

/** The places of events that share their key with an earlier event of the request but not its content. */
function conflictsWithin(events: readonly NewEvent[]): number[] {
  const first = new Map<string, Uint8Array>();
  return [...events.entries()].flatMap(([at, { idempotency }]) => {
    if (idempotency === null) return [];
    const { key, contentHash } = idempotency;
    const before = first.get(key);
    if (before === undefined) first.set(key, contentHash);
    return before === undefined || Buffer.compare(before, contentHash) === 0 ? [] : [at];
  });
}

function refuseConflicts(places: readonly number[], batch: boolean): void {
  const problem = 'was used within 24 hours for an event with other content';
  const problems = places.map((at) => ({ field: fieldOf(at, 'idempotencyKey', batch), problem }));
  if (problems.length > 0) throw refuseFields(problems, 'idempotency_conflict');
}

function summary(events: readonly Accepted[]): AcceptedView {
  const duplicates = events.filter(({ duplicate }) => duplicate).length;
  return { accepted: events.length - duplicates, duplicates, events: [...events] };
}

/** A value that JSON can represent. A `Date` is sent as ISO 8601 text. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | Date
  | readonly JsonValue[]
  | { readonly [member: string]: JsonValue };

/** One event (contract §4.2). */
export type EventInput = {
  /** The name of an event type. */
  readonly type: string;
  readonly data: { readonly [member: string]: JsonValue };
  /** The person that the event is about. Erasure finds events by it. */
  readonly subject?: string | null | undefined;
  /** Passed on to receivers. Random if absent. */
  readonly correlationId?: string | null | undefined;
  /** Who caused it. */
  readonly actorId?: string | null | undefined;
  /** Webhooks with `ordered: 'key'` send events of one key in order. For employee events by default the `userId`. */
  readonly orderingKey?: string | null | undefined;
  /** The customer whose webhooks get it, besides the operator's own. Without one, only the operator's own get it. */
  readonly customerId?: string | null | undefined;
  /** The same by your own id. */
  readonly customerExternalId?: string | null | undefined;
  /** All webhooks that subscribe get it, the operator's and every customer's. */
  readonly audience?: 'everyone' | null | undefined;
  /** For 24 hours, an event with the same key and content counts as this one. Other content under the key is refused. */
  readonly idempotencyKey?: string | null | undefined;
};

export type PublishInput = EventInput | { readonly events: readonly EventInput[] };

/**
 * The JSON text of what a program publishes, for `readEvents`. Throws a `Refusal` that names each value that JSON cannot represent, such as
 * `events[1].data.total`. JSON.stringify would drop or change it, or throw without naming it.
 */
export function eventsText(input: unknown): string {
  const found: FieldProblem[] = [];
  examine(input, { path: [], above: [], found });
  if (found.length > 0) throw refuseFields(found);
  return JSON.stringify(input) ?? 'null';
}

/** The same for one event with these other fields. `dataJson`: a JSON object. */
export function eventText(fields: Readonly<Record<string, unknown>>, dataJson: string): string {
  return `{"data":${dataJson},${JSON.stringify(fields).slice(1)}`;
}

type Walk = {
  readonly path: PropertyKey[];
  /** The objects around the value, outermost first. */
  readonly above: object[];
  readonly found: FieldProblem[];
};

/** The bound counts below `data`; the request, the list and the event are levels above it. */
const DEPTH_MAX = JSON_DEPTH_MAX + 4;

function examine(value: unknown, walk: Walk): void {
  const { path, above, found } = walk;
  if (found.length >= PROBLEMS_MAX) return;
  const problem = problemOf(value, above);
  if (problem !== null) {
    found.push({ field: path.length === 0 ? 'body' : fieldName(path), problem });
    return;
  }
  if (value === null || typeof value !== 'object' || value instanceof Date) return;
  above.push(value);
  for (const name of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const member = (value as Readonly<Record<PropertyKey, unknown>>)[name];
    if (member === undefined && isEventsOwn(path)) continue;
    path.push(name);
    examine(member, walk);
    path.pop();
  }
  above.pop();
}

/** An undefined member of an event counts as absent. */
function isEventsOwn(path: readonly PropertyKey[]): boolean {
  return path.length === 0 || (path.length === 2 && path[0] === 'events');
}

function problemOf(value: unknown, above: readonly object[]): string | null {
  switch (typeof value) {
    case 'bigint':
      return 'is a BigInt, which JSON cannot carry: send it as a string';
    case 'undefined':
      return 'is undefined, which JSON cannot carry: leave it out, or send null';
    case 'function':
    case 'symbol':
      return `is a ${typeof value}, which JSON cannot carry`;
    case 'number':
      return numberProblem(value);
    case 'object':
      return value === null ? null : problemOfObject(value, above);
    default:
      return null;
  }
}

function numberProblem(value: number): string | null {
  if (!Number.isFinite(value)) return `is ${value}, which JSON cannot carry`;
  // The program may have meant another integer: beyond this bound one double represents several.
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return null;
  return `is ${value}, a number that is not kept exactly: send it as a string`;
}

function problemOfObject(value: object, above: readonly object[]): string | null {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'is an invalid Date' : null;
  if (above.includes(value)) return 'is an object that it is inside of: JSON cannot carry a cycle';
  if (above.length > DEPTH_MAX) return `must not be nested deeper than ${JSON_DEPTH_MAX}`;
  if (Object.getOwnPropertySymbols(value).length > 0) return 'has a member named by a symbol, which JSON cannot carry';
  if (Array.isArray(value) || isPlain(value)) return null;
  const name = (value.constructor as { readonly name?: unknown } | undefined)?.name;
  return `is a ${typeof name === 'string' && name !== '' ? name : 'class instance'}, which JSON cannot carry: send a plain object`;
}

/** An object literal, also of another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
