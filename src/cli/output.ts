/** How commands print data: JSON for programs, aligned text for people. */
import type { Invocation } from './command.ts';

type Shown = Readonly<Record<string, unknown>>;

/** Prints one thing; `note` is a line for people beneath it. */
export async function printRecord({ terminal, json }: Invocation, record: Shown, note?: string): Promise<void> {
  await terminal.out(
    json ? `${JSON.stringify(record)}\n` : recordText(record) + (note === undefined ? '' : `\n${note}\n`),
  );
}

/** A page of a list, as the administration API answers one (contract §1). */
type Page = { readonly items: readonly Shown[]; readonly nextCursor: string | null };

/** Prints a page; people see these columns of it. */
export async function printPage({ terminal, json }: Invocation, page: Page, columns: readonly string[]): Promise<void> {
  if (json) return void (await terminal.out(`${JSON.stringify(page)}\n`));
  const more = page.nextCursor === null ? '' : `\nThere are more: --cursor ${page.nextCursor}\n`;
  await terminal.out(page.items.length === 0 ? 'None.\n' : tableText(page.items, columns) + more);
}

/** `name  value` lines, the names padded to one width. Fields without a value are left out. */
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

/** Names and answers come from outside: no control character of theirs reaches the terminal. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return printable(value.join(' '));
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}

export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
