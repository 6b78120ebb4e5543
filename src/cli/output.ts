/** How commands print data: JSON for programs, aligned text for people. */
import { isObject } from '../kernel/validation.ts';
import type { Invocation } from './command.ts';
import { TEXT_WIDTH } from './text/wrapped.ts';

export type Shown = Readonly<Record<string, unknown>>;

/** Prints one record. `note` is printed below it, but not with `--json`. */
export async function printRecord({ terminal, json }: Invocation, record: Shown, note?: string): Promise<void> {
  await terminal.out(
    json ? `${JSON.stringify(record)}\n` : recordText(record) + (note === undefined ? '' : `\n${note}\n`),
  );
}

/** A page of a list, as the administration API returns it (contract §1.10). */
type Page = { readonly items: readonly Shown[]; readonly nextCursor: string | null };

/** A column of a table: the field that it shows. */
export type Column = {
  readonly field: string;
  /** The shown value, if it is not the value of the field. */
  readonly of?: (row: Shown) => unknown;
  /** Default: the words of the field. */
  readonly title?: string;
  /** Never cut, because people copy it. Ids and instants are not cut either. */
  readonly whole?: true;
  /** Not cut to less than this. Default: 6, or the title. */
  readonly least?: number;
};

/** Prints a page: all of it with `--json`, else these columns of `rows`. */
export async function printPage(
  { terminal, json }: Invocation,
  page: Page,
  columns: readonly (string | Column)[],
  rows: readonly Shown[] = page.items,
): Promise<void> {
  if (json) return void (await terminal.out(`${JSON.stringify(page)}\n`));
  const more = page.nextCursor === null ? '' : `\nMore items: --cursor ${page.nextCursor}\n`;
  await terminal.out(rows.length === 0 ? 'None.\n' : tableText(rows, columns, terminal.width) + more);
}

/** The fields that people look for first in a record. */
const LEADING: readonly string[] = [
  'name',
  'userName',
  'displayName',
  'eventType',
  'state',
  'stateReason',
  'stateDescription',
];

/** Aligned `name  value` lines, with the words of the fields. Leaves out fields, lists and groups without a value. */
export function recordText(record: Shown): string {
  const names = [...new Set([...LEADING.filter((name) => name in record), ...Object.keys(record)])];
  const fields = names.map((name) => [name, record[name]] as const).filter(([, value]) => hasValue(value));
  const width = Math.max(...fields.map(([name]) => wordsOf(name).length));
  return fields.map(([name, value]) => `${wordsOf(name).padEnd(width)}  ${recordCell(name, value)}\n`).join('');
}

function hasValue(value: unknown): boolean {
  return value != null && !(typeof value === 'object' && Object.values(value).every((of) => of === null));
}

/** People enter these as JSON. */
const AS_JSON: readonly string[] = ['filter', 'sample', 'dataSchema', 'signature'];

/** A group of plain values: `policy exponential, maxAttempts 20`. Its names and values may be the user's own, so they stay as they are. */
function recordCell(name: string, value: unknown): string {
  if (AS_JSON.includes(name)) return cell(value);
  if (!isObject(value)) return tableCell(value);
  const members = Object.entries(value).filter(([, member]) => member !== null);
  if (members.some(([, member]) => typeof member === 'object' && !isPlainList(member))) return cell(value);
  return members.map(([member, of]) => `${escapeControls(member)} ${cell(of)}`).join(', ');
}

function isPlainList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item !== 'object');
}

const GAP = '  ';
/** Texts are not cut to less than this. */
const CUT_MIN = 6;

/**
 * An aligned table without columns that are empty in all rows. Cuts the widest texts if it would be wider than `width`, or 100 characters:
 * the whole texts are in `--json`.
 */
export function tableText(rows: readonly Shown[], columns: readonly (string | Column)[], width = 0): string {
  const shown = columns
    .map((column): Column => (typeof column === 'string' ? { field: column } : column))
    .filter((column) => rows.some((row) => (shownOf(column, row) ?? '') !== ''));
  const titles = shown.map(({ field, title }) => title ?? wordsOf(field));
  const cells = [titles, ...rows.map((row) => shown.map((column) => cellOf(column, row)))];
  const widths = fitted(
    shown.map(({ field, whole, least = CUT_MIN }, at) => ({
      width: Math.max(...cells.map((line) => line[at]?.length ?? 0)),
      min:
        whole === true || /^id$|(Id|At)$/.test(field)
          ? Number.POSITIVE_INFINITY
          : Math.max(titles[at]?.length ?? 0, least),
    })),
    Math.max(width, TEXT_WIDTH),
  );
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, at) => cut(text, widths[at] ?? 0, shown[at]?.field === 'url').padEnd(widths[at] ?? 0))
      .join(GAP)
      .trimEnd();
  return cells.map((texts) => `${line(texts)}\n`).join('');
}

function shownOf({ field, of }: Column, row: Shown): unknown {
  return of === undefined ? row[field] : of(row);
}

function cellOf(column: Column, row: Shown): string {
  return withoutScheme(column.field, tableCell(shownOf(column, row)));
}

type Flexible = { readonly width: number; readonly min: number };

/** The widths of the columns. The widest column that may be narrower is cut first. */
function fitted(columns: readonly Flexible[], total: number): readonly number[] {
  const widths = columns.map(({ width }) => width);
  let excess = widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1)) - total;
  for (; excess > 0; excess -= 1) {
    const [widest] = columns
      .map(({ min }, at) => ({ at, width: widths[at] ?? 0, min }))
      .filter(({ width, min }) => width > min)
      .sort((one, other) => other.width - one.width);
    if (widest === undefined) break;
    widths[widest.at] = widest.width - 1;
  }
  return widths;
}

/** `isAtStart`: addresses of one host differ at their ends. */
function cut(text: string, width: number, isAtStart: boolean): string {
  if (text.length <= width) return text;
  return isAtStart ? `…${text.slice(text.length - width + 1)}` : `${text.slice(0, width - 1)}…`;
}

/** `lastUsedAt` as `last used`. */
function wordsOf(field: string): string {
  return field.replace(/At$/, '').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Every address begins with https://, so only the part that differs is shown. */
function withoutScheme(field: string, text: string): string {
  return field === 'url' ? text.replace(/^https:\/\//, '') : text;
}

/** Instants without milliseconds, and yes or no. */
function tableCell(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'string' ? cell(value.replace(/^(\d{4}-\d\d-\d\dT[\d:]{8})\.\d{3}Z$/, '$1Z')) : cell(value);
}

/** Names and replies come from outside, so control characters are escaped. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value) && value.every((item) => typeof item === 'string' || typeof item === 'number'))
    return escapeControls(value.join(' '));
  return escapeControls(typeof value === 'string' ? value : JSON.stringify(value));
}

export function escapeControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
