/** CSV (RFC 4180) that spreadsheets open without running what is in it. */

export type CsvValue = string | number | null;

/** One line with its end. */
export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(csvCell).join(',')}\r\n`;
}

/** What a spreadsheet takes for a formula, also behind apostrophes, so that readers can take exactly one apostrophe off. */
const FORMULA = /^'*[=+\-@\t\r]/;
const QUOTED = /[",\r\n]/;

/** A text that begins like a formula gets an apostrophe before it. Numbers stay as they are; null is an empty cell. */
function csvCell(value: CsvValue): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
