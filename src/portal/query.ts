/** What stands in a page's query, read with care: links are typed and cut by people. */
import { refuseField } from '../kernel/refusal.ts';
import { parseMoment } from '../kernel/schemas.ts';

/** A text without what surrounds it; empty is as good as absent. */
export function readText(query: URLSearchParams, name: string): string | null {
  const text = query.get(name)?.trim() ?? '';
  return text === '' ? null : text;
}

/** One of a closed list, or null for anything else. */
export function readChoice<Choice extends string>(
  query: URLSearchParams,
  name: string,
  choices: readonly Choice[],
): Choice | null {
  const text = query.get(name);
  return choices.find((choice) => choice === text) ?? null;
}

/**
 * An instant in UTC, as `datetime-local` sends it (`2026-11-21T05:00`) or in ISO 8601; null where there is none. Throws 400 naming
 * the field.
 */
export function readInstant(query: URLSearchParams, name: string): number | null {
  const text = readText(query, name);
  if (text === null) return null;
  const hasZone = /[Zz]$|[+-]\d\d:\d\d$/.test(text);
  const at = parseMoment(hasZone ? text.toUpperCase() : `${text}${text.includes('T') ? '' : 'T00:00'}Z`);
  if (at === null) throw refuseField(name, 'must be a time, such as 2026-11-21T05:00');
  return at;
}
