/** Reading the query of a page. It tolerates mistakes, because people type and cut links. */

import { refuseField } from '../../kernel/refusal.ts';
import { parseMoment } from '../../kernel/schemas.ts';
import { PERIODS, type Period } from '../../observe/figures.ts';

/** The trimmed text; null if it is empty or absent. */
export function readText(query: URLSearchParams, name: string): string | null {
  const text = query.get(name)?.trim() ?? '';
  return text === '' ? null : text;
}

/** Whether one of the fields contains the text, in upper or lower case. Null fits all. */
export function fits(text: string | null, ...fields: readonly string[]): boolean {
  return text === null || fields.some((field) => field.toLowerCase().includes(text.toLowerCase()));
}

/** One of the choices, or null. */
export function readChoice<Choice extends string>(
  query: URLSearchParams,
  name: string,
  choices: readonly Choice[],
): Choice | null {
  const text = query.get(name);
  return choices.find((choice) => choice === text) ?? null;
}

const PERIOD_NAMES = Object.keys(PERIODS) as readonly Period[];

/** The period of charts. Default: the shortest that shows the last `lengthMs`, for example how long a webhook has failed. */
export function readPeriod(query: URLSearchParams, lengthMs = 0): Period {
  const isShown = (period: Period): boolean => lengthMs <= PERIODS[period].spanSeconds * PERIODS[period].points * 1000;
  return readChoice(query, 'period', PERIOD_NAMES) ?? PERIOD_NAMES.find(isShown) ?? 'week';
}

/** An instant in UTC, as `readInstant` reads it; null for other texts. */
export function instantOf(text: string): number | null {
  const hasZone = /[Zz]$|[+-]\d\d:\d\d$/.test(text);
  return parseMoment(hasZone ? text.toUpperCase() : `${text}${text.includes('T') ? '' : 'T00:00'}Z`);
}

/**
 * An instant in UTC, as `datetime-local` sends it (`2026-11-21T05:00`) or in ISO 8601; null if absent. Throws 400, which names the
 * field.
 */
export function readInstant(query: URLSearchParams, name: string): number | null {
  const text = readText(query, name);
  if (text === null) return null;
  const at = instantOf(text);
  if (at === null) throw refuseField(name, 'must be a time, such as 2026-11-21T05:00');
  return at;
}
