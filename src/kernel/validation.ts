/** Turns what a schema finds wrong into a refusal that names each field (contract §1). */
import type { z } from 'zod';
import { JSON_DEPTH_MAX } from './limits/limits.ts';
import { type FieldProblem, PROBLEMS_MAX, type Refusal, refuseField, refuseFields } from './refusal.ts';

/**
 * Checks a value from outside and returns it as the schema makes it, defaults filled in.
 * `reserved` says why a field that the schema does not know is refused, where there is more to say than "unknown".
 */
export function validate<T>(schema: z.ZodType<T>, value: unknown, reserved: Readonly<Record<string, string>> = {}): T {
  const result = schema.safeParse(value, { reportInput: true });
  if (!result.success) throw refuseIssues(result.error.issues, reserved);
  const illFormed = illFormedTexts(value);
  if (illFormed.length > 0) throw refuseFields(illFormed);
  return result.data;
}

/** Where a value was found: its name in what is above it. Written out only for what is refused. */
type Place = { readonly above: Place | null; readonly name: PropertyKey; readonly value: object };

/**
 * Half of a surrogate pair is no character: kept as text, one would be the same as any other. An event's `data` is kept as JSON, where
 * it stays what it is.
 */
function illFormedTexts(body: unknown): FieldProblem[] {
  if (body === null || typeof body !== 'object') return [];
  const found: FieldProblem[] = [];
  const waiting: Place[] = [{ above: null, name: '', value: body }];
  for (const at of waiting) {
    for (const [name, value] of Object.entries(at.value)) {
      if (name === KEPT_AS_JSON) continue;
      if (typeof value === 'string' && !value.isWellFormed())
        found.push({ field: fieldName(pathOf({ above: at, name: stepOf(at, name) })), problem: ILL_FORMED });
      if (value !== null && typeof value === 'object') waiting.push({ above: at, name: stepOf(at, name), value });
    }
  }
  return found;
}

function stepOf({ value }: Place, name: string): PropertyKey {
  return Array.isArray(value) ? Number(name) : name;
}

function pathOf(place: Pick<Place, 'above' | 'name'>): PropertyKey[] {
  const path = [place.name];
  for (let { above } = place; above?.above != null; above = above.above) path.unshift(above.name);
  return path;
}

const ILL_FORMED = 'must be well-formed Unicode, and holds half of a surrogate pair';
const KEPT_AS_JSON = 'data';

/**
 * Checks a merge patch (RFC 7396) on `target`, what a caller could have sent to make the record, and returns what that
 * makes of it. What the patch names must be known even where it is only removed: `{"nmae": null}` is a mistake too.
 */
export function validatePatch<T>(
  schema: z.ZodType<T>,
  target: unknown,
  patch: unknown,
  reserved: Readonly<Record<string, string>> = {},
): T {
  refusePatch(schema, patch, reserved);
  return validate(schema, mergePatch(target, patch), reserved);
}

/** The part of `validatePatch` that needs no target: refuses what is no patch, or names what may not be patched. */
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

/** Refuses a body that is nested too deep to be walked: the parser takes any depth, and writing it out again would not. */
export function refuseDeep(body: unknown): void {
  if (isDeeperThan(JSON_DEPTH_MAX, body)) throw refuseField('body', `must not be nested deeper than ${JSON_DEPTH_MAX}`);
}

/** Whether lists and objects are nested in more than `depth` levels. Whoever walks a value by recursion asks this first. */
export function isDeeperThan(depth: number, value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false;
  return depth === 0 || Object.values(value).some((member) => isDeeperThan(depth - 1, member));
}

/** RFC 7396: members of the patch replace those of the target, null removes, objects merge. Neither argument is changed. */
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

/** A body of those fields that have a value: absent ones stay as they are, or have their defaults. */
export function definedFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function refuseIssues(issues: readonly z.core.$ZodIssue[], reserved: Readonly<Record<string, string>>): Refusal {
  const problems: FieldProblem[] = [];
  for (const issue of tellingIssues(issues)) {
    if (problems.length >= PROBLEMS_MAX) break;
    problems.push(...problemsOf(issue, reserved));
  }
  return refuseFields(problems);
}

/**
 * Those of the issues that say something of their own: what is no list is no short one either. A request of a megabyte may have
 * tens of thousands, so places are looked up: to compare each issue with every other held everything else up for seconds.
 */
export function tellingIssues<Issue extends Located>(issues: readonly Issue[]): Issue[] {
  const mistyped = new Set(issues.filter(saysItsType).map(placeOf));
  return issues.filter((issue) => saysItsType(issue) || !mistyped.has(placeOf(issue)));
}

type Located = Pick<z.core.$ZodIssue, 'code' | 'path'>;

function saysItsType({ code }: Located): boolean {
  return code === 'invalid_type';
}

/** A text for each path, in which a number is another step than its digits. */
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
    case 'invalid_value':
      return [{ field, problem: `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}` }];
    default:
      return [{ field, problem: lowerFirst(issue.message) }];
  }
}

/** `rules[0].scope`; the whole body is `body`. */
export function fieldName(path: readonly PropertyKey[]): string {
  let name = '';
  for (const step of path) {
    if (typeof step === 'number') name += `[${step}]`;
    else name += `${name === '' ? '' : '.'}${printable(String(step))}`;
  }
  return name === '' ? 'body' : name;
}

/** A caller's own field name goes back to it, but short and in visible ASCII. */
function printable(name: string): string {
  return name === '' ? '""' : name.slice(0, 64).replace(/[^\x20-\x7e]/g, '?');
}

const EXPECTATIONS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

function expectation(expected: string): string {
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
