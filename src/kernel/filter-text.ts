/** Says in words which events a filter lets pass, and why it stops one. Pure. */
import { compileFilter, type Filter, isCondition, type Judged, MISSING, valueAt } from './filter.ts';
import { isObject } from './validation.ts';

/** Such as `data.total is at least 100 and data.country is one of "DE", "FR"`. `filter` must be valid. */
export function filterText(filter: Filter): string {
  const parts = Object.entries(filter).map(([name, value]) => {
    if (name === '$and' || name === '$or') {
      const filters = value as readonly Filter[];
      return joined(name, filters, filters.map(filterText));
    }
    if (name === '$not') return `not (${filterText(value as Filter)})`;
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
      return `${path} ${WORDS[name]?.(value) ?? ''}`;
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

const WORDS: Readonly<Record<string, (value: unknown) => string>> = {
  $eq: (value) => `is ${json(value)}`,
  $neq: (value) => `is not ${json(value)}`,
  $gt: (value) => `is more than ${json(value)}`,
  $gte: (value) => `is at least ${json(value)}`,
  $lt: (value) => `is less than ${json(value)}`,
  $lte: (value) => `is at most ${json(value)}`,
  $in: (values) => `is one of ${list(values)}`,
  $nin: (values) => `is none of ${list(values)}`,
  $startsWith: (prefix) => `starts with ${json(prefix)}`,
  $endsWith: (suffix) => `ends with ${json(suffix)}`,
  $exist: (value) => (value === true ? 'is there' : 'is missing'),
};

/**
 * Why a filter stops an event: each of its conditions that does not hold, with what the event has there, such as `data.total is 40, not at
 * least 100`. Empty if the event passes. `filter` must be valid. `isSecret`: says nothing of what the event has.
 */
export function whyNot(filter: Filter, event: Judged, isSecret = false): string[] {
  return Object.entries(filter).flatMap(([name, value]) => {
    if (compileFilter({ [name]: value })(event)) return [];
    if (name === '$and') return (value as readonly Filter[]).flatMap((one) => whyNot(one, event, isSecret));
    if (name === '$or') {
      const filters = value as readonly Filter[];
      if (filters.length === 1) return whyNot(filters[0] ?? {}, event, isSecret);
      return [`none of these is true: ${filters.map(filterText).join('; ')}`];
    }
    if (name === '$not') return [`this is true, and must not be: ${filterText(value as Filter)}`];
    return failures(name, value, event, isSecret);
  });
}

/** The operators of a condition that do not hold. */
function failures(path: string, condition: unknown, event: Judged, isSecret: boolean): string[] {
  const operators = isCondition(condition) ? Object.entries(condition) : [['$eq', condition] as const];
  return operators.flatMap(([name, value]) => {
    if (compileFilter({ [path]: { [name]: value } })(event)) return [];
    if (name === '$and') return (value as readonly unknown[]).flatMap((one) => failures(path, one, event, isSecret));
    const wanted = conditionText(path, { [name]: value });
    return [isSecret ? `this is not true: ${wanted}` : failure(path, [name, value], wanted, valueAt(event, path))];
  });
}

function failure(path: string, [name, wanted]: readonly [string, unknown], text: string, has: unknown): string {
  if (has === MISSING) return `${path} is missing`;
  if (name === '$exist') return `${path} is there, and must be missing`;
  const shown = shortened(json(has));
  const words = WORDS[name]?.(wanted);
  if (words?.startsWith('is not ') || name === '$nin') return `${path} is ${shown}, which the filter excludes`;
  if (words?.startsWith('is ')) return `${path} is ${shown}, not ${words.slice('is '.length)}`;
  return `${path} is ${shown}, and this is not true: ${text}`;
}

/** Of the JSON of a value in a reason. */
const SHOWN_LENGTH = 60;

function shortened(text: string): string {
  return text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH)}…`;
}
