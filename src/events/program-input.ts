/** Events as an embedding program publishes them: JavaScript values, some of which JSON cannot represent. */
import { JSON_DEPTH_MAX } from '../kernel/limits/limits.ts';
import { type FieldProblem, PROBLEMS_MAX, refuseFields } from '../kernel/refusal.ts';
import { fieldName } from '../kernel/validation.ts';

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
  /** For 24 hours, an event with the same key and content counts as this one. Other content under the key is refused. */
  readonly idempotencyKey?: string | null | undefined;
};

export type PublishInput = EventInput | { readonly events: readonly EventInput[] };

/**
 * A copy of `input` as JSON represents it, which the program can no longer change. Throws a `Refusal` that names each value that JSON
 * cannot represent, such as `events[1].data.total`. JSON.stringify would drop or change it, or throw without naming it.
 */
export function checkedEvents(input: unknown): unknown {
  const found: FieldProblem[] = [];
  examine(input, { path: [], above: [], found });
  if (found.length > 0) throw refuseFields(found);
  return input === undefined ? undefined : (JSON.parse(JSON.stringify(input)) as unknown);
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
      return Number.isFinite(value) ? null : `is ${value}, which JSON cannot carry`;
    case 'object':
      return value === null ? null : problemOfObject(value, above);
    default:
      return null;
  }
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
