/** Turns what a schema finds wrong into a refusal that names each field (wire.md §1). */
import type { z } from 'zod';
import { type FieldProblem, Refusal } from './refusal.ts';

/** More problems than this are not listed: the first ones are what a caller mends. */
const PROBLEMS_MAX = 20;

/**
 * Checks a value from outside and returns it as the schema makes it, defaults filled in.
 * `reserved` says why a field that the schema does not know is refused, where there is more to say than "unknown".
 */
export function validate<T>(schema: z.ZodType<T>, value: unknown, reserved: Readonly<Record<string, string>> = {}): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.flatMap((issue) => problemsOf(issue, reserved)).slice(0, PROBLEMS_MAX);
  const [first] = problems;
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : '';
  throw new Refusal(
    'validation_failed',
    first === undefined ? 'the request is not valid' : `${first.field} ${first.problem}${more}`,
    {
      details: problems,
    },
  );
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

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function problemsOf(issue: z.core.$ZodIssue, reserved: Readonly<Record<string, string>>): FieldProblem[] {
  const field = fieldName(issue.path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        field: fieldName([...issue.path, key]),
        problem: (issue.path.length === 0 ? reserved[key] : undefined) ?? 'is not a known field',
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
function fieldName(path: readonly PropertyKey[]): string {
  let name = '';
  for (const step of path) {
    if (typeof step === 'number') name += `[${step}]`;
    else name += `${name === '' ? '' : '.'}${printable(String(step))}`;
  }
  return name === '' ? 'body' : name;
}

/** A caller's own field name goes back to it, but short and in visible ASCII. */
function printable(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
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
