/** Validates input with schemas and refuses it by field (contract §1.4). */
import type { z } from 'zod';
import { type FieldProblem, PROBLEMS_MAX, type Refusal, refuseField, refuseFields } from './refusal.ts';
import type { Work } from './slices.ts';

/** Nesting of lists and objects in values that are processed recursively. */
export const JSON_DEPTH_MAX = 100;

/**
 * Validates a value and returns the output of the schema, with defaults. `reserved`: why fields are refused that the schema does not
 * have, for more helpful errors than "unknown".
 */
export function validate<T>(schema: z.ZodType<T>, value: unknown, reserved: Readonly<Record<string, string>> = {}): T {
  const result = schema.safeParse(value, { reportInput: true });
  if (!result.success) throw refuseIssues(result.error.issues, reserved);
  const unfit = unfitValues(value);
  if (unfit.length > 0) throw refuseFields(unfit);
  return result.data;
}

/**
 * The problem of a text that no field takes, or null: PostgreSQL stores no U+0000, and all halves of surrogate pairs would become the same
 * character. The `data` of an event is stored as JSON, which has both as escapes.
 */
export function textProblem(text: string): string | null {
  if (text.includes('\0')) return 'must not hold U+0000';
  return text.isWellFormed() ? null : 'must be well-formed Unicode, and holds half of a surrogate pair';
}

/**
 * Validates each item of a list as `validate` does, and pauses between them. `list`: the name of the field that has them, for refusals;
 * null if the only item is the body itself.
 */
export function* validateEach<T>(schema: z.ZodType<T>, items: readonly unknown[], list: string | null): Work<T[]> {
  const valid: T[] = [];
  const problems: FieldProblem[] = [];
  for (const [at, item] of items.entries()) {
    const above = list === null ? [] : [list, at];
    const result = schema.safeParse(item, { reportInput: true });
    if (result.success) valid.push(result.data);
    const found = result.success ? unfitValues(item) : issuesOf(result.error.issues, {}, above);
    const prefix = result.success ? `${fieldName(above)}.` : '';
    problems.push(
      ...found.map(({ field, problem }) => ({ field: list === null ? field : `${prefix}${field}`, problem })),
    );
    if (problems.length >= PROBLEMS_MAX) break;
    yield;
  }
  if (problems.length > 0) throw refuseFields(problems);
  return valid;
}

/** The place of a value, as a linked list. It becomes a field name only for an error. */
type Place = { readonly above: Place | null; readonly name: PropertyKey; readonly value: object };

/** Finds texts, numbers and names of members that no field takes, in one walk without recursion. */
function unfitValues(body: unknown): FieldProblem[] {
  if (body === null || typeof body !== 'object') return problemsAt([], valueProblem(body));
  const found: FieldProblem[] = [];
  const waiting: Place[] = [{ above: null, name: '', value: body }];
  for (const at of waiting) {
    if (found.length >= PROBLEMS_MAX) break;
    for (const [name, value] of Object.entries(at.value)) {
      const problem = nameProblem(name) ?? valueProblem(value);
      if (problem !== null) found.push(...problemsAt(pathOf({ above: at, name: stepOf(at, name) }), problem));
      if (value !== null && typeof value === 'object') waiting.push({ above: at, name: stepOf(at, name), value });
    }
  }
  return found;
}

function problemsAt(path: readonly PropertyKey[], problem: string | null): FieldProblem[] {
  return problem === null ? [] : [{ field: fieldName(path), problem }];
}

/**
 * JSON has numbers that no double holds, such as `1e400`. They are parsed as infinite and stored as null, so that a filter or a schema with
 * one would be another one when it is read.
 */
function valueProblem(value: unknown): string | null {
  if (typeof value === 'string') return textProblem(value);
  if (typeof value !== 'number' || Number.isFinite(value)) return null;
  return `must be a number between -${Number.MAX_VALUE} and ${Number.MAX_VALUE}`;
}

/** Schemas and merges drop a member named `__proto__`, or take it for the prototype. */
function nameProblem(name: string): string | null {
  if (name === '__proto__') return 'is a name that no member can have';
  const problem = textProblem(name);
  return problem === null ? null : `${problem} (in its name)`;
}

function stepOf({ value }: Place, name: string): PropertyKey {
  return Array.isArray(value) ? Number(name) : name;
}

function pathOf(place: Pick<Place, 'above' | 'name'>): PropertyKey[] {
  const path = [place.name];
  for (let { above } = place; above?.above != null; above = above.above) path.unshift(above.name);
  return path;
}

/**
 * Refuses a merge patch (RFC 7396) that is not an object, or names fields that are unknown or cannot change, even to remove them:
 * `{"nmae": null}` is a mistake too.
 */
export function refusePatch(
  schema: z.ZodType,
  patch: unknown,
  reserved: Readonly<Record<string, string>>,
): asserts patch is Readonly<Record<string, unknown>> {
  if (!isObject(patch)) throw refuseField('body', 'must be an object');
  refuseDeep(patch);
  for (const [field, problem] of Object.entries(reserved)) {
    if (Object.hasOwn(patch, field)) throw refuseField(field, problem);
  }
  const unknown = schema.safeParse(patch).error?.issues.filter(({ code }) => code === 'unrecognized_keys') ?? [];
  if (unknown.length > 0) throw refuseIssues(unknown, reserved);
}

/** Refuses a body that is nested too deeply for recursion. The JSON parser accepts any depth; `JSON.stringify` does not. */
export function refuseDeep(body: unknown): void {
  if (isDeeperThan(JSON_DEPTH_MAX, body)) throw refuseField('body', `must not be nested deeper than ${JSON_DEPTH_MAX}`);
}

/** Whether lists and objects are nested in more than `depth` levels. */
export function isDeeperThan(depth: number, value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false;
  return depth === 0 || Object.values(value).some((member) => isDeeperThan(depth - 1, member));
}

/** RFC 7396: members of the patch replace those of the target, null removes, objects merge. Changes neither argument. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else
      Object.defineProperty(merged, name, {
        value: mergePatch(merged[name], value),
        enumerable: true,
        configurable: true,
        writable: true,
      });
  }
  return merged;
}

/** Only the fields with a value, so that the others keep their values or get their defaults. */
export function definedFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function refuseIssues(issues: readonly z.core.$ZodIssue[], reserved: Readonly<Record<string, string>>): Refusal {
  return refuseFields(issuesOf(issues, reserved));
}

/** `above`: the path of the validated value. */
function issuesOf(
  issues: readonly z.core.$ZodIssue[],
  reserved: Readonly<Record<string, string>>,
  above: readonly PropertyKey[] = [],
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const issue of distinctIssues(issues)) {
    if (problems.length >= PROBLEMS_MAX) break;
    problems.push(...problemsOf({ ...issue, path: [...above, ...issue.path] }, reserved));
  }
  return problems;
}

/**
 * Drops issues that follow from another one: a value that is not a list is not a short list either. A request of a megabyte may have tens
 * of thousands of issues, so this uses a set: comparing each issue with every other blocked the event loop for seconds.
 */
export function distinctIssues<Issue extends Located>(issues: readonly Issue[]): Issue[] {
  const mistyped = new Set(issues.filter(isWrongType).map(placeOf));
  return issues.filter((issue) => isWrongType(issue) || !mistyped.has(placeOf(issue)));
}

type Located = Pick<z.core.$ZodIssue, 'code' | 'path'>;

function isWrongType({ code }: Located): boolean {
  return code === 'invalid_type';
}

/** A text for each path. A number differs from a text with its digits. */
function placeOf({ path }: Located): string {
  return JSON.stringify(path);
}

function problemsOf(issue: z.core.$ZodIssue, reserved: Readonly<Record<string, string>>): FieldProblem[] {
  const field = fieldName(issue.path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.slice(0, PROBLEMS_MAX).map((key) => ({
        field: fieldName([...issue.path, key]),
        problem:
          (issue.path.length === 0 && Object.hasOwn(reserved, key) ? reserved[key] : null) ?? 'is not a known field',
      }));
    case 'invalid_type':
      return [{ field, problem: issue.input === undefined ? 'is required' : `must be ${expectation(issue.expected)}` }];
    case 'too_big':
      return [{ field, problem: `must ${bound(issue.origin, 'at most', Number(issue.maximum))}` }];
    case 'too_small':
      return [{ field, problem: `must ${bound(issue.origin, 'at least', Number(issue.minimum))}` }];
    case 'invalid_key':
      return issue.issues
        .flatMap((inner) => problemsOf({ ...inner, path: issue.path }, {}))
        .map((inner) => ({ ...inner, problem: `${inner.problem} (in its name)` }));
    case 'invalid_value':
      return [{ field, problem: `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}` }];
    default:
      return [{ field, problem: lowerFirst(issue.message) }];
  }
}

/** A path as text, such as `rules[0].scope`; `body` for the whole body. */
export function fieldName(path: readonly PropertyKey[]): string {
  let name = '';
  for (const step of path) {
    if (typeof step === 'number') name += `[${step}]`;
    else name += `${name === '' ? '' : '.'}${printableName(String(step))}`;
  }
  return name === '' ? 'body' : name;
}

/** Shortens the field name of a caller, and replaces everything but visible ASCII. */
export function printableName(name: string): string {
  return name === '' ? '""' : name.slice(0, 64).replace(/[^\x20-\x7e]/g, '?');
}

const EXPECTATIONS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  integer: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/** A type of zod or of JSON Schema in words: `a string`, `a list`. */
export function expectation(expected: string): string {
  return EXPECTATIONS[expected] ?? expected;
}

function bound(origin: string, which: string, size: number): string {
  if (origin === 'string') return `have ${which} ${size} ${size === 1 ? 'character' : 'characters'}`;
  if (origin === 'array' || origin === 'set') return `have ${which} ${size} ${size === 1 ? 'item' : 'items'}`;
  return `be ${which} ${size}`;
}

function lowerFirst(message: string): string {
  return message.slice(0, 1).toLowerCase() + message.slice(1);
}
