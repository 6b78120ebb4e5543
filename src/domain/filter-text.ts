/** Says in words which events a filter lets pass, and why it stops one. Pure. */

import { isObject } from '../kernel/validation.ts';
import { compileFilter, type EventFilter, isCondition, type Judged, MISSING, valueAt } from './filter.ts';

/** Describes a filter, such as `data.total is at least 100 and data.country is one of "DE", "FR"`. `filter` must be valid. */
export function filterText(filter: EventFilter): string {
  const parts = Object.entries(filter).map(([name, value]) => {
    if (name === '$and' || name === '$or') {
      const filters = value as readonly EventFilter[];
      return joined(name, filters, filters.map(filterText));
    }
    if (name === '$not') return `not (${filterText(value as EventFilter)})`;
    return conditionText(name, value);
  });
  return parts.length === 0 ? 'any event' : parts.join(' and ');
}

function conditionText(path: string, condition: unknown): string {
  if (!isCondition(condition)) return `${path} is ${JSON.stringify(condition)}`;
  return Object.entries(condition)
    .map(([name, value]) => {
      if (name === '$and' || name === '$or') {
        const conditions = value as readonly unknown[];
        return joined(
          name,
          conditions,
          conditions.map((one) => conditionText(path, one)),
        );
      }
      if (name === '$not') return `not (${conditionText(path, value)})`;
      return `${path} ${comparisonText(name, value)}`;
    })
    .join(' and ');
}

/** `parts`: the filters or conditions that the texts describe. */
function joined(operator: '$and' | '$or', parts: readonly unknown[], texts: readonly string[]): string {
  const [only = ''] = texts;
  if (texts.length === 1) return only;
  if (operator === '$and') return `(${texts.join(' and ')})`;
  const isCompound = (part: unknown): boolean => isObject(part) && Object.keys(part).length > 1;
  return `(${texts.map((text, n) => (isCompound(parts[n]) ? `(${text})` : text)).join(' or ')})`;
}

const json = (value: unknown): string => JSON.stringify(value);
const list = (values: unknown): string => (values as readonly unknown[]).map(json).join(', ');

/** The text of each comparison of a filter, in the order in which forms offer them. */
export const COMPARISONS: Readonly<Record<string, string>> = {
  $eq: 'is',
  $neq: 'is not',
  $gt: 'is more than',
  $gte: 'is at least',
  $lt: 'is less than',
  $lte: 'is at most',
  $in: 'is one of',
  $nin: 'is none of',
  $startsWith: 'starts with',
  $endsWith: 'ends with',
  $exist: 'is there',
};

function comparisonText(name: string, operand: unknown): string {
  if (name === '$exist') return operand === true ? 'is there' : 'is missing';
  const isList = name === '$in' || name === '$nin';
  return `${COMPARISONS[name]} ${isList ? list(operand) : json(operand)}`;
}

/** The reasons why a filter stops an event, one by one. None if the event passes. `isSecret`: leaves out the values of the event. */
type WhyNot = (event: Judged, isSecret?: boolean) => Iterable<string>;

/**
 * Explains a filter, which must be valid: each of its conditions that does not hold, with what the event has there, such as `data.total is
 * 40, not at least 100`. Everything that depends only on the filter is done once.
 */
export function whyNot(filter: EventFilter): WhyNot {
  const parts = Object.entries(filter).map(([name, value]) =>
    unless(compileFilter({ [name]: value }), part(name, value)),
  );
  return all(parts);
}

function part(name: string, value: unknown): WhyNot {
  if (name === '$and') return all((value as readonly EventFilter[]).map(whyNot));
  if (name === '$or') {
    const filters = value as readonly EventFilter[];
    if (filters.length === 1) return whyNot(filters[0] ?? {});
    return always(() => `none of these is true: ${filters.map(filterText).join('; ')}`);
  }
  if (name === '$not') return always(() => `this is true, and must not be: ${filterText(value as EventFilter)}`);
  return failures(name, value);
}

function all(parts: readonly WhyNot[]): WhyNot {
  return function* (event, isSecret) {
    for (const one of parts) yield* one(event, isSecret);
  };
}

function unless(passes: (event: Judged) => boolean, why: WhyNot): WhyNot {
  return (event, isSecret) => (passes(event) ? [] : why(event, isSecret));
}

function always(write: () => string): WhyNot {
  let text: string | null = null;
  return () => {
    text ??= shortened(write(), REASON_LENGTH);
    return [text];
  };
}

/** The operators of a condition that do not hold. */
function failures(path: string, condition: unknown): WhyNot {
  const operators = isCondition(condition) ? Object.entries(condition) : [['$eq', condition] as const];
  const parts = operators.map(([name, value]) => {
    const passes = compileFilter({ [path]: { [name]: value } });
    if (name === '$and') return unless(passes, all((value as readonly unknown[]).map((one) => failures(path, one))));
    const wanted = always(() => conditionText(path, { [name]: value }));
    const secret = always(() => `this is not true: ${conditionText(path, { [name]: value })}`);
    const open: WhyNot = (event) => {
      const [text = ''] = wanted(event);
      return [shortened(failure(path, [name, value], text, valueAt(event, path)), REASON_LENGTH)];
    };
    return unless(passes, (event, isSecret) => (isSecret === true ? secret : open)(event));
  });
  return all(parts);
}

function failure(path: string, [name, wanted]: readonly [string, unknown], text: string, has: unknown): string {
  if (has === MISSING) return `${path} is missing`;
  if (name === '$exist') return `${path} is there, and must be missing`;
  const shown = shortened(jsonStart(has, SHOWN_LENGTH), SHOWN_LENGTH);
  const words = Object.hasOwn(COMPARISONS, name) ? comparisonText(name, wanted) : '';
  if (words.startsWith('is not ') || name === '$nin') return `${path} is ${shown}, which the filter excludes`;
  if (words.startsWith('is ')) return `${path} is ${shown}, not ${words.slice('is '.length)}`;
  return `${path} is ${shown}, and this is not true: ${text}`;
}

/** Characters of a value's JSON in a reason. */
const SHOWN_LENGTH = 60;
/** The most characters of a reason: a filter may have 16 KiB, and a preview has the reasons for a thousand events. */
const REASON_LENGTH = 300;

function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/** The JSON of a value, or its beginning with more than `length` characters: the value may be large. */
function jsonStart(value: unknown, length: number): string {
  if (typeof value === 'string') return json(value.slice(0, length + 1));
  if (value === null || typeof value !== 'object') return json(value);
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  for (const name in value) {
    if (text.length > length) return text;
    if (text.length > 1) text += ',';
    if (!isList) text += `${json(name)}:`;
    text += jsonStart((value as Readonly<Record<string, unknown>>)[name], length - text.length);
  }
  return text + (isList ? ']' : '}');
}
