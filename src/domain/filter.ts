/**
 * Filters of webhooks (contract §7.1, §7.2): which events of its types a webhook gets. Pure. A filter is compiled once into closures. A
 * typical one takes less than a microsecond; the bounds on its text, its conditions and its paths bound the work of any other, whatever the
 * event has (`npm run bench:filter` measures both).
 */
import { type FieldProblem, Refusal, refuseField } from '../kernel/refusal.ts';
import { isDeeperThan, isObject, JSON_DEPTH_MAX } from '../kernel/validation.ts';

/** The limits of a filter: its JSON text, its conditions, and its nesting (contract §7.1). */
export const FILTER_BYTES: number = 16 * 1024;
export const FILTER_CONDITIONS = 50;
export const FILTER_DEPTH = 8;

/** The steps of a path. */
export const FILTER_STEPS = 20;

export type EventFilter = Readonly<Record<string, unknown>>;

/** The part of an event that a filter judges. `data` is parsed JSON. */
export type Judged = { readonly type: string; readonly subject: string | null; readonly data: unknown };

type Passes = (event: Judged) => boolean;
/** `value` is `MISSING` if the event has no such member. */
type Test = (value: unknown) => boolean;

/** The value of a member that the event does not have. */
export const MISSING: unique symbol = Symbol('missing');
const ROOTS = ['type', 'subject', 'data'] as const;

/** Compiles a filter. Throws a `Refusal` of the place that is wrong. */
export function compileFilter(filter: EventFilter): Passes {
  return all(filterOf(filter, { path: 'filter', depth: 1, count: { conditions: 0 } }));
}

/** The first problem of a filter, with its place, or null. */
export function filterProblem(filter: EventFilter): FieldProblem | null {
  // First: everything below is recursive.
  if (isDeeperThan(JSON_DEPTH_MAX, filter))
    return { field: 'filter', problem: `must not be nested deeper than ${JSON_DEPTH_MAX}` };
  const bytes = Buffer.byteLength(JSON.stringify(filter));
  if (bytes > FILTER_BYTES) return { field: 'filter', problem: `must be at most ${FILTER_BYTES} bytes of JSON` };
  try {
    compileFilter(filter);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.details?.[0] ?? null;
    throw error;
  }
}

/** The place of a part of a filter, and the size of the filter so far. */
type Place = { readonly path: string; readonly depth: number; readonly count: { conditions: number } };

function filterOf(filter: unknown, place: Place): Passes[] {
  if (!isObject(filter)) throw refuseField(place.path, 'must be an object');
  if (place.depth > FILTER_DEPTH) throw refuseField(place.path, `is nested deeper than ${FILTER_DEPTH} filters`);
  return Object.entries(filter).map(([name, value]) => {
    const at = { ...place, path: `${place.path}.${name}` };
    if (name === '$and') return all(list(value, at).flatMap(([one, where]) => filterOf(one, where)));
    if (name === '$or') return any(list(value, at).map(([one, where]) => all(filterOf(one, where))));
    if (name === '$not') return not(all(filterOf(value, { ...at, depth: at.depth + 1 })));
    if (name.startsWith('$')) throw refuseField(at.path, `is not an operator here: use $and, $or, $not or a path`);
    const read = reader(name, at.path);
    const test = all(conditionOf(value, at));
    return (event) => test(read(event));
  });
}

/** The filters or conditions of `$and` and `$or`, each one level deeper. */
function list(value: unknown, place: Place): [item: unknown, place: Place][] {
  if (!Array.isArray(value) || value.length === 0)
    throw refuseField(place.path, 'must be a list with at least one item');
  return value.map((item: unknown, n) => [item, { ...place, path: `${place.path}[${n}]`, depth: place.depth + 1 }]);
}

/**
 * Reads the value at a path. Only own members count, so `__proto__` and `constructor` are names like any other. JSON knows no length of a
 * list, so `length` is no member of one.
 */
function reader(name: string, path: string): (event: Judged) => unknown {
  const [root = '', ...steps] = name.split('.');
  if (!ROOTS.some((known) => known === root))
    throw refuseField(path, 'is not a path: it must begin with type, subject or data');
  if (steps.length > FILTER_STEPS) throw refuseField(path, `has more than ${FILTER_STEPS} steps`);
  if (root !== 'data') {
    if (steps.length > 0) throw refuseField(path, `is not a path: ${root} has no members`);
    return root === 'type' ? ({ type }) => type : ({ subject }) => subject;
  }
  return ({ data }) => {
    let value = data;
    for (const step of steps) {
      if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return MISSING;
      if (step === 'length' && Array.isArray(value)) return MISSING;
      value = (value as Readonly<Record<string, unknown>>)[step];
    }
    return value;
  };
}

/** The value at a path of a valid filter, or `MISSING`. */
export function valueAt(event: Judged, path: string): unknown {
  return reader(path, 'filter')(event);
}

/** Whether these are the operators of a condition, and not a plain value. */
export function isCondition(value: unknown): value is EventFilter {
  return isObject(value) && Object.keys(value).some((name) => name.startsWith('$'));
}

/** The operators at a path, or a plain value. */
function conditionOf(value: unknown, place: Place): Test[] {
  if (!isCondition(value)) {
    refuseOperators(value, place.path);
    return [operator('$eq', value, place)];
  }
  return Object.entries(value).map(([name, operand]) =>
    operator(name, operand, { ...place, path: `${place.path}.${name}` }),
  );
}

/** An operator inside a plain value would never do anything. */
function refuseOperators(value: unknown, path: string): void {
  if (value === null || typeof value !== 'object') return;
  for (const [name, member] of Object.entries(value)) {
    if (name.startsWith('$'))
      throw refuseField(
        `${path}.${name}`,
        'is an operator in a plain value: write the whole path, such as data.order.total',
      );
    refuseOperators(member, `${path}.${name}`);
  }
}

function operator(name: string, operand: unknown, place: Place): Test {
  if (name === '$and') return all(list(operand, place).flatMap(([one, where]) => nested(one, where)));
  if (name === '$or') return any(list(operand, place).map(([one, where]) => all(nested(one, where))));
  if (name === '$not') return not(all(nested(operand, { ...place, depth: place.depth + 1 })));
  place.count.conditions += 1;
  if (place.count.conditions > FILTER_CONDITIONS)
    throw refuseField('filter', `has more than ${FILTER_CONDITIONS} conditions`);
  const make = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (make === undefined)
    throw refuseField(place.path, `is not an operator: use ${Object.keys(OPERATORS).join(', ')}, $and, $or or $not`);
  return make(operand, place);
}

function nested(value: unknown, place: Place): Test[] {
  if (place.depth > FILTER_DEPTH) throw refuseField(place.path, `is nested deeper than ${FILTER_DEPTH} filters`);
  return conditionOf(value, place);
}

type MakeTest = (operand: unknown, place: Place) => Test;

const OPERATORS: Readonly<Record<string, MakeTest>> = {
  $eq: (wanted) => equals(wanted),
  $neq: (wanted) => not(equals(wanted)),
  $gt: comparison((order) => order > 0),
  $gte: comparison((order) => order >= 0),
  $lt: comparison((order) => order < 0),
  $lte: comparison((order) => order <= 0),
  $in: (wanted, place) => oneOf(wanted, place),
  $nin: (wanted, place) => not(oneOf(wanted, place)),
  $startsWith: (prefix, { path }) => {
    if (typeof prefix !== 'string') throw refuseField(path, 'must be a string');
    return (value) => typeof value === 'string' && value.startsWith(prefix);
  },
  $endsWith: (suffix, { path }) => {
    if (typeof suffix !== 'string') throw refuseField(path, 'must be a string');
    return (value) => typeof value === 'string' && value.endsWith(suffix);
  },
  $exist: (wanted, { path }) => {
    if (typeof wanted !== 'boolean') throw refuseField(path, 'must be true or false');
    return (value) => (value !== MISSING) === wanted;
  },
};

/** JSON values with the same content. The order of members does not matter. */
function equals(wanted: unknown): Test {
  return wanted !== null && typeof wanted === 'object'
    ? (value) => isEqual(value, wanted)
    : (value) => value === wanted;
}

function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return b.every((item, at) => isEqual(a[at], item));
  }
  const [one, other] = [a, b] as readonly Readonly<Record<string, unknown>>[];
  for (const name in other) if (!Object.hasOwn(a, name) || !isEqual(one?.[name], other[name])) return false;
  return sizeOf(a) === sizeOf(b);
}

/**
 * The members of objects, counted once: a list of 1,456 small objects in a filter counted the 23,831 members of a wide one 1,456 times,
 * which took 10 s for one event (`1456 objects` of `npm run bench:filter`). Objects of events and filters do not change.
 */
const sizes = new WeakMap<object, number>();

function sizeOf(object: object): number {
  const known = sizes.get(object);
  if (known !== undefined) return known;
  const size = Object.keys(object).length;
  sizes.set(object, size);
  return size;
}

/** Two numbers, or two strings by their code units. Values of other types never pass. */
function comparison(passes: (order: number) => boolean): MakeTest {
  return (wanted, { path }) => {
    if (typeof wanted === 'number') return (value) => typeof value === 'number' && passes(value - wanted);
    if (typeof wanted !== 'string') throw refuseField(path, 'must be a number or a string');
    return (value) => typeof value === 'string' && passes(value < wanted ? -1 : value > wanted ? 1 : 0);
  };
}

function oneOf(wanted: unknown, { path }: Place): Test {
  if (!Array.isArray(wanted) || wanted.length === 0) throw refuseField(path, 'must be a list with at least one item');
  const items: readonly unknown[] = wanted;
  const plain = new Set(items.filter((item) => item === null || typeof item !== 'object'));
  const others = items.filter((item) => item !== null && typeof item === 'object');
  return (value) => plain.has(value) || others.some((other) => isEqual(value, other));
}

function all<T>(tests: readonly ((value: T) => boolean)[]): (value: T) => boolean {
  const [first, second] = tests;
  if (first === undefined) return () => true;
  if (second === undefined) return first;
  return (value) => tests.every((test) => test(value));
}

function any<T>(tests: readonly ((value: T) => boolean)[]): (value: T) => boolean {
  return (value) => tests.some((test) => test(value));
}

function not<T>(test: (value: T) => boolean): (value: T) => boolean {
  return (value) => !test(value);
}
