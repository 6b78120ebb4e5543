/** Says in words which events a filter lets pass. */
import type { Filter } from '../../kernel/filter.ts';
import { isObject } from '../../kernel/validation.ts';

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
  if (!isObject(condition) || !Object.keys(condition).some((name) => name.startsWith('$')))
    return `${path} is ${JSON.stringify(condition)}`;
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
  $exist: (value) => (value === true ? 'is there' : 'is missing'),
};
