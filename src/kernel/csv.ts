/** CSV (RFC 4180) that spreadsheets open without running its content. */

export type CsvValue = string | number | null;

/** One line with its end. */
export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(csvCell).join(',')}\r\n`;
}

/** Characters with which a formula begins, also in the widths and positions that some spreadsheets read as the plain ones (NFKC). */
const BEGINS_FORMULA = '=+\\-@\\t\\r＝﹦⁼₌⩵⩶＋﹢⁺₊﬩－﹣⁻₋−＠﹫';
/**
 * Where a cell may begin like a formula: at the start of the text, and after each character that some spreadsheet takes for the end of a
 * cell, such as a semicolon where the comma is the decimal sign. Quotes do not keep it from that. Also behind blanks, quotes and
 * apostrophes, so that readers can take exactly one apostrophe off.
 */
const FORMULA = new RegExp(`(?<=^|[;,|\\t\\r\\n])(?=['"\\s]*[${BEGINS_FORMULA}])`, 'gu');
const QUOTED = /[",\r\n]/;

/** Puts an apostrophe before a text that begins like a formula. Numbers stay as they are; null is an empty cell. */
function csvCell(value: CsvValue): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = value.replace(FORMULA, "'");
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
