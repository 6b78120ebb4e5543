/** A form field with a JSON object, and the merge patch (RFC 7396) that changes the stored object to the entered one. */
import { jsonProblem } from '../../kernel/json-place.ts';
import { type FieldProblem, refuseField } from '../../kernel/refusal.ts';
import { isDeeperThan, isObject, JSON_DEPTH_MAX } from '../../kernel/validation.ts';
import { textArea } from '../parts/fields.ts';
import { listText } from '../parts/text.ts';
import { type Body, type FormField, lines, linesOf } from './field-table.ts';

type JsonObject = Readonly<Body>;

export function jsonObject(options: Parameters<typeof lines>[0]): FormField {
  const all = { isCode: true, rows: 8, takesFile: '.json', ...options };
  const field = lines(all, {
    read: (sent, name) => readObject(name, linesOf(sent, name)),
    fill: (value, name) => ({ [name]: isObject(value) ? JSON.stringify(value, null, 2) : '' }),
    compare: linesOf,
  });
  return {
    ...field,
    draw: (state, name) => textArea({ ...state, problem: (of) => placedProblem(state.problems, of) }, { ...all, name }),
  };
}

/** The problems of a field, each with its place in the object: one text area has them all. */
export function placedProblem(problems: readonly FieldProblem[], name: string): string | null {
  const whole = problems.find(({ field }) => field === name);
  if (whole !== undefined) return whole.problem;
  const inside = problems.filter(({ field }) => field.startsWith(`${name}.`));
  const alike = [...Map.groupBy(inside, ({ problem }) => problem)].map(([problem, all]) => {
    const places = all.map(({ field }) => field.slice(name.length + 1));
    return `${listText(places)} ${places.length === 1 ? problem : problem.replace(/^is /, 'are ')}`;
  });
  return alike.length === 0 ? null : alike.join('; ');
}

/** The body of a change, with a patch in place of each of these objects. A new record takes them as they are. */
export function objectPatches<Field extends string>(
  body: Body,
  before: { readonly [Name in Field]: JsonObject | null } | null,
  fields: readonly Field[],
): Body {
  if (before === null) return body;
  return { ...body, ...Object.fromEntries(fields.map((field) => [field, patchOf(field, before[field], body[field])])) };
}

function patchOf(field: string, before: JsonObject | null, entered: unknown): unknown {
  if (!isObject(entered) || before === null) return entered;
  if (holdsNull(entered)) {
    const remedy = 'empty the field, save, and enter it again';
    throw refuseField(field, `cannot be changed to one with a member that is null: ${remedy}`);
  }
  return patchBetween(before, entered);
}

/** The merge patch from `from` to `to`. A merge patch cannot set a member to null, so `to` must not hold one. */
export function patchBetween(from: Readonly<Body>, to: Readonly<Body>): Body {
  const removed = Object.keys(from).filter((name) => !Object.hasOwn(to, name));
  const patch = new Map<string, unknown>(removed.map((name) => [name, null]));
  for (const [name, value] of Object.entries(to)) {
    const before = Object.hasOwn(from, name) ? from[name] : undefined;
    patch.set(name, isObject(value) && isObject(before) ? patchBetween(before, value) : value);
  }
  return Object.fromEntries(patch);
}

/** Whether a member at any depth is null. Items of lists may be null, because a patch replaces whole lists. */
function holdsNull(value: unknown): boolean {
  return isObject(value) && Object.values(value).some((member) => member === null || holdsNull(member));
}

/** The body is one more level. */
const DEPTH_MAX: number = JSON_DEPTH_MAX - 1;

function readObject(field: string, text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuseField(field, `is not JSON: ${jsonProblem(text)}`);
  }
  if (!isObject(value)) throw refuseField(field, 'must be a JSON object');
  if (isDeeperThan(DEPTH_MAX, value)) throw refuseField(field, `must not be nested deeper than ${DEPTH_MAX}`);
  return value;
}
