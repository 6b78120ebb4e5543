/** How commands print data: JSON for programs, aligned text for people. */
import type { Store } from '../store/port/store.ts';
import type { Invocation } from './command.ts';

export type Shown = Readonly<Record<string, unknown>>;

/** Prints one record. `note` is printed below it, but not with `--json`. */
export async function printRecord({ terminal, json }: Invocation, record: Shown, note?: string): Promise<void> {
  await terminal.out(
    json ? `${JSON.stringify(record)}\n` : recordText(record) + (note === undefined ? '' : `\n${note}\n`),
  );
}

/** A page of a list, as the administration API returns it (contract §1). */
type Page = { readonly items: readonly Shown[]; readonly nextCursor: string | null };

/** Prints a page: all of it with `--json`, else these columns. */
export async function printPage({ terminal, json }: Invocation, page: Page, columns: readonly string[]): Promise<void> {
  if (json) return void (await terminal.out(`${JSON.stringify(page)}\n`));
  const more = page.nextCursor === null ? '' : `\nMore items: --cursor ${page.nextCursor}\n`;
  await terminal.out(page.items.length === 0 ? 'None.\n' : tableText(page.items, columns) + more);
}

type Table = { readonly items: readonly Shown[]; readonly columns: readonly string[] };

/** The table with the column `customer` behind the name, if a record belongs to a customer. JSON has the id instead. */
export async function withCustomers(
  { customers }: Pick<Store, 'customers'>,
  records: readonly object[],
  { items, columns }: Table,
): Promise<Table> {
  const ids = records.map((record) => (record as { readonly customerId?: string | null }).customerId ?? null);
  if (ids.every((id) => id === null)) return { items, columns };
  const names = await customers.names(ids.filter((id) => id !== null));
  const behind = Math.max(1, columns.findIndex((column) => /name$/i.test(column)) + 1);
  return {
    items: items.map((item, at) => ({ ...item, customer: names.get(ids[at] ?? '') ?? null })),
    columns: columns.toSpliced(behind, 0, 'customer'),
  };
}

/** Aligned `name  value` lines. Leaves out fields without a value. */
export function recordText(record: Shown): string {
  const fields = Object.entries(record).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}\n`).join('');
}

export function tableText(rows: readonly Shown[], columns: readonly string[]): string {
  const cells = [columns, ...rows.map((row) => columns.map((column) => cell(row[column])))];
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => line[at]?.length ?? 0)));
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  return cells.map((texts) => `${line(texts)}\n`).join('');
}

/** Names and replies come from outside, so control characters are escaped. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return escapeControls(value.join(' '));
  return escapeControls(typeof value === 'string' ? value : JSON.stringify(value));
}

export function escapeControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
