/** Filters of Outpost as filters of webhooks (contract §7.1): its operators are the same, nested members become paths. Pure. */

import { isDeeperThan, isObject } from '../kernel/validation.ts';
import type { Fields } from './export-reader.ts';

const NESTING_MAX = 20;

/** Operators that mean the same here, and the values that both accept. */
const OPERATORS: Readonly<Record<string, (operand: unknown) => boolean>> = {
  $eq: isPlain,
  $neq: isPlain,
  $gt: isComparable,
  $gte: isComparable,
  $lt: isComparable,
  $lte: isComparable,
  $in: (operand) => Array.isArray(operand) && operand.every(isPlain),
  $nin: (operand) => Array.isArray(operand) && operand.every(isPlain),
  $startsWith: (operand) => typeof operand === 'string',
  $endsWith: (operand) => typeof operand === 'string',
  $exist: (operand) => typeof operand === 'boolean',
};

/** Outpost's hold only for a member that is there. */
const NEGATIVE = ['$neq', '$nin'];

/** The members of an event there, and here. */
const ROOTS: Readonly<Record<string, string>> = { topic: 'type', data: 'data' };

type TranslatedFilter = { readonly filter: Fields | null } | { readonly problem: string };

/** Null and `{}` are no filter. */
export function translateFilter(given: unknown): TranslatedFilter {
  if (given === undefined || given === null) return { filter: null };
  if (!isObject(given) || isDeeperThan(NESTING_MAX, given)) return { problem: 'has a filter that cannot be read' };
  const problems: string[] = [];
  const filter = together(filtersOf(given, '', problems));
  const [problem] = problems;
  if (problem !== undefined) return { problem };
  return { filter: Object.keys(filter).length === 0 ? null : filter };
}

/** Conditions that must all hold at `path`; empty: the event. */
function filtersOf(given: unknown, path: string, problems: string[]): readonly Fields[] {
  if (!isObject(given))
    return path === '' ? refused('has a filter that cannot be read', problems) : valueAt(given, path, problems);
  const entries = Object.entries(given);
  if (entries.length === 0) return path === '' ? [] : [{ [path]: { $exist: true } }];
  return entries.flatMap(([name, value]) => {
    if (name === '$not') return [...present(path), { $not: together(filtersOf(value, path, problems)) }];
    if (name === '$and') return items(value, problems).flatMap((one) => filtersOf(one, path, problems));
    if (name === '$or') return [{ $or: items(value, problems).map((one) => together(filtersOf(one, path, problems))) }];
    if (name.startsWith('$')) return operatorAt(name, value, path, problems);
    return memberAt(name, value, path, problems);
  });
}

function memberAt(name: string, value: unknown, path: string, problems: string[]): readonly Fields[] {
  const isMember = path !== 'type' && name !== '' && !name.includes('.');
  const at = path !== '' ? `${path}.${name}` : Object.hasOwn(ROOTS, name) ? ROOTS[name] : undefined;
  if (at === undefined) return refused(`has a filter on ${JSON.stringify(name.slice(0, 40))} of the event`, problems);
  if (!isMember) return refused('has a filter on a member whose name has a dot', problems);
  return filtersOf(value, at, problems);
}

function operatorAt(name: string, operand: unknown, path: string, problems: string[]): readonly Fields[] {
  const accepts = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (accepts === undefined || path === '' || !accepts(operand))
    return refused(`has a filter with ${name.slice(0, 40)} that means something else here`, problems);
  return [...(NEGATIVE.includes(name) ? present(path) : []), { [path]: { [name]: operand } }];
}

function valueAt(value: unknown, path: string, problems: string[]): readonly Fields[] {
  return isPlain(value) ? [{ [path]: value }] : refused('has a filter on the items of a list', problems);
}

function present(path: string): readonly Fields[] {
  return path === '' || path === 'type' ? [] : [{ [path]: { $exist: true } }];
}

function items(value: unknown, problems: string[]): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0) return value;
  return refused('has a filter that cannot be read', problems);
}

/** One filter of several, in one object if they read different members. */
function together(filters: readonly Fields[]): Fields {
  const names = filters.flatMap((filter) => Object.keys(filter));
  return new Set(names).size === names.length ? Object.assign({}, ...filters) : { $and: filters };
}

function refused(problem: string, problems: string[]): readonly never[] {
  problems.push(problem);
  return [];
}

function isPlain(value: unknown): boolean {
  return value === null || typeof value !== 'object';
}

function isComparable(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'string';
}
