/** Publishing (contract §4): all events are read and checked, then appended all or none, and durable before the reply. */
import { z } from 'zod';
import { contentHash } from '../kernel/content-hash.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import { compactJson, countMembers, parseExactly, repeatedName } from '../kernel/json-text.ts';
import { EXTERNAL_ID_MAX_LENGTH } from '../kernel/limits/customers.ts';
import {
  EVENT_DATA_BYTES,
  EVENTS_PER_REQUEST,
  IDEMPOTENCY_KEY_MAX_LENGTH,
  IDEMPOTENCY_MS,
  JSON_DEPTH_MAX,
} from '../kernel/limits/limits.ts';
import { type FieldProblem, PROBLEMS_MAX, refuseFields } from '../kernel/refusal.ts';
import { EVENT_TYPE_NAME, text } from '../kernel/schemas.ts';
import { fieldName, isObject, parseJson, validate } from '../kernel/validation.ts';
import type { Acting } from '../resources/acting.ts';
import { KeyConflict, retryStale } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import {
  audiencesOf,
  countEvents,
  duplicatesOf,
  giveBack,
  type LimitedEvents,
  limitedEvents,
  takeAllowances,
} from './audience.ts';
import { type Accepted, type Audience, makeEvent, type NewEvent } from './event.ts';
import { type DataSpan, findData } from './event-text.ts';
import type { EventTypes } from './event-types.ts';

export const reference: z.ZodType<string, string> = text(1, 200);

export const eventInput = z
  .strictObject({
    type: z.string().max(130).meta({ description: 'The name of an event type.', pattern: EVENT_TYPE_NAME.source }),
    data: z.record(z.string(), z.unknown()).meta({ description: `At most ${EVENT_DATA_BYTES} bytes of JSON.` }),
    subject: reference
      .nullish()
      .meta({ description: 'Whom it is about: what is erased when that person asks for it.' }),
    correlationId: reference.nullish().meta({ description: 'Handed on to receivers; made if absent.' }),
    actorId: reference.nullish().meta({ description: 'Who caused it.' }),
    customerId: z.string().max(100).nullish().meta({
      description:
        "The customer whose webhooks get it, besides the operator's own. Without one, only the operator's own get it.",
    }),
    customerExternalId: text(1, EXTERNAL_ID_MAX_LENGTH).nullish().meta({ description: 'The same by your own id.' }),
    audience: z
      .literal('everyone')
      .nullish()
      .meta({ description: 'All webhooks that subscribe get it, whoever they belong to.' }),
    idempotencyKey: text(1, IDEMPOTENCY_KEY_MAX_LENGTH).nullish().meta({
      description:
        'For 24 hours, an event with the same key and content is this one again; with other content it is refused.',
    }),
  })
  .meta({ id: 'EventInput', description: 'An event.' });
export type CheckedEvent = z.output<typeof eventInput> & {
  /** The JSON of `data` that is stored and sent. */
  readonly dataJson: string;
  /** Whether `data` has every number with the digits of `dataJson`. */
  readonly isExact: boolean;
};
export const eventBatchInput = z
  .strictObject({ events: z.array(eventInput).min(1).max(EVENTS_PER_REQUEST) })
  .meta({ id: 'EventBatchInput', description: 'Events that are accepted all or none.' });

export const acceptedView = z
  .object({
    accepted: z.int(),
    duplicates: z.int(),
    events: z.array(z.object({ id: z.string(), duplicate: z.boolean() })),
  })
  .meta({ id: 'Accepted', description: 'What became of each event, in the order of the request.' });
export type AcceptedView = z.infer<typeof acceptedView>;

/** One event, or a list of them. Refusals name the fields of a list by their place: `events[1].data`. */
export type Events = CheckedEvent | readonly CheckedEvent[];

/** Appends the events all or none. They are durable when it resolves. */
export type Publish = (events: Events, acting: Acting) => Promise<AcceptedView>;

/**
 * Reads the JSON text of a request: one event, or several as `{events: […]}`. The data of an event is stored and sent as it came, without
 * the white space between its parts. Throws 400: `malformed_json`, or a `Refusal` that names the fields.
 */
export function readEvents(text: string): Events {
  const { request, members, data } = findData(text);
  const body = parsedPart(request, text);
  if (countMembers(body) < members) throw refuseFields([repeated([], request)]);
  const isBatch = isObject(body) && Object.hasOwn(body, 'events');
  const given = isBatch ? validate(eventBatchInput, body).events : [validate(eventInput, body)];
  // Before any of the data is parsed.
  refuseAll(
    data.map((span) => dataProblem(text, span)),
    data,
    isBatch,
  );
  const problems: (FieldProblem | null)[] = [];
  const events = data.map((span): CheckedEvent => {
    const { problem, ...kept } = keptData(text.slice(span.begin, span.end), text);
    problems.push(problem);
    return { ...(given[span.event] as z.output<typeof eventInput>), ...kept };
  });
  refuseAll(problems, data, isBatch);
  return isBatch ? events : (events[0] as CheckedEvent);
}

/** The data that a part of the text holds. `problem`: a name is repeated. */
function keptData(
  sent: string,
  text: string,
): Pick<CheckedEvent, 'data' | 'dataJson' | 'isExact'> & { readonly problem: FieldProblem | null } {
  const data = parsedPart(sent, text) as CheckedEvent['data'];
  const written = JSON.stringify(data);
  // As most programs send it: nothing was lost.
  if (written === sent) return { data, dataJson: written, isExact: true, problem: null };
  const { json: dataJson, members, isExact } = compactJson(sent);
  const problem = countMembers(data) < members ? repeated(['data'], sent) : null;
  return { data, dataJson, isExact, problem };
}

/** Parses a part of a text. If that fails, the text is not JSON either, and the refusal tells the place in the text. */
function parsedPart(part: string, text: string): unknown {
  try {
    return JSON.parse(part) as unknown;
  } catch {
    return parseJson(text);
  }
}

function repeated(above: readonly PropertyKey[], json: string): FieldProblem {
  return { field: fieldName([...above, ...(repeatedName(json) ?? [])]), problem: 'is there more than once' };
}

/** The problem of data that is too large or nested too deep. */
function dataProblem(text: string, { begin, end, depth }: DataSpan): FieldProblem | null {
  if (depth > JSON_DEPTH_MAX) return { field: 'data', problem: `must not be nested deeper than ${JSON_DEPTH_MAX}` };
  // A character takes at most 3 bytes of UTF-8.
  if ((end - begin) * 3 <= EVENT_DATA_BYTES) return null;
  const size = compactJson(text.slice(begin, end)).bytes;
  if (size <= EVENT_DATA_BYTES) return null;
  return { field: 'data', problem: `has ${size} bytes of JSON, more than ${EVENT_DATA_BYTES}` };
}

function refuseAll(problems: readonly (FieldProblem | null)[], data: readonly DataSpan[], isBatch: boolean): void {
  const details = problems.flatMap((found, n) =>
    found === null ? [] : [{ ...found, field: fieldOf(data[n]?.event ?? 0, found.field, isBatch) }],
  );
  if (details.length > 0) throw refuseFields(details);
}

type Dependencies = {
  readonly store: Store;
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
    const now = clock();
    const events: NewEvent[] = [];
    const sound: { readonly at: number; readonly type: string; readonly data: unknown }[] = [];
    const { audiences, addressees } = await audiencesOf(store, inputs);
    const problems = inputs.map(({ idempotencyKey, ...draft }, at): FieldProblem | null => {
      const audience = audiences[at];
      if (audience === undefined || typeof audience !== 'string') return audience ?? null;
      const event = makeEvent({ ...draft, audience }, { ids, now });
      const key = idempotencyKey ?? null;
      const idempotency =
        key === null ? null : { publisher, key, expiresAt: now + IDEMPOTENCY_MS, contentHash: hashOf(draft, audience) };
      events.push({ ...event, idempotency });
      sound.push({ at, ...draft });
      return null;
    });
    for (const [n, problem] of (await eventTypes.problemsOf(sound)).entries()) problems[sound[n]?.at ?? 0] = problem;
    const details = problems.flatMap((problem, at) =>
      problem === null ? [] : [{ ...problem, field: fieldOf(at, problem.field, batch) }],
    );
    if (details.length > 0) throw refuseFields(details);
    return { events, limited: limitedEvents(events, addressees) };
  };
  return async (given, { actor: publisher }) => {
    const batch = Array.isArray(given);
    const inputs: readonly CheckedEvent[] = batch ? given : [given];
    let taken: readonly LimitedEvents[] = [];
    let isTaken = false;
    let audiences: readonly Audience[] = [];
    const accepted = await retryStale(async () => {
      const { events, limited } = await make(inputs, batch, publisher);
      refuseConflicts(conflictsWithin(events), batch);
      // Once, for all rounds.
      if (limited.length > 0 && !isTaken) {
        await takeAllowances(store.allowances, limited, clock());
        taken = limited;
        isTaken = true;
      }
      audiences = events.map(({ audience }) => audience);
      // The ids are made when the events are written, so that logs keep the order of ids when requests are checked concurrently.
      return store.events.publish(events.map((event) => ({ ...event, id: ids.uuid() })));
    }).catch(async (error: unknown) => {
      await giveBack(store.allowances, taken, clock());
      if (error instanceof KeyConflict) refuseConflicts(error.at, batch);
      throw error;
    });
    if (taken.length > 0) await giveBack(store.allowances, duplicatesOf(taken, accepted, audiences), clock());
    countEvents(store.usage, accepted, audiences, clock());
    wake();
    return summary(accepted);
  };
}

function fieldOf(at: number, field: string, batch: boolean): string {
  return batch ? `events[${at}].${field}` : field;
}

/** Hashes the event without its key. The order of members does not matter, and null equals absent. */
function hashOf(event: Omit<CheckedEvent, 'idempotencyKey'>, audience: Audience): Uint8Array {
  const { type, dataJson, isExact, subject, correlationId, actorId } = event;
  const data = isExact ? event.data : parseExactly(dataJson);
  return contentHash([type, data, subject ?? null, correlationId ?? null, actorId ?? null, audience]);
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

/** One event (contract §4). */
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
  /** The customer whose webhooks get it, besides the operator's own. Without one, only the operator's own get it. */
  readonly customerId?: string | null | undefined;
  /** The same by your own id. */
  readonly customerExternalId?: string | null | undefined;
  /** All webhooks that subscribe get it, whoever they belong to. */
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
  // The program may have meant another one: from there on a double stands for several integers.
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
