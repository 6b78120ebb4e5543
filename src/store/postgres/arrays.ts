/** Arrays as PostgreSQL reads them from a parameter. */

/** For `CAST(@list AS TEXT[])`, or another type by the text of its values: `{"a",NULL,"b"}`. */
export function arrayText(values: readonly (string | null)[]): string {
  let text = '{';
  for (const value of values) {
    if (text.length > 1) text += ',';
    if (value === null) text += 'NULL';
    else text += SPECIAL.test(value) ? `"${value.replaceAll(ESCAPED, '\\$&')}"` : `"${value}"`;
  }
  return `${text}}`;
}

/** For `CAST(@list AS BIGINT[])`. */
export function numberArray(values: readonly number[]): string {
  return `{${values.join(',')}}`;
}

/** For `CAST(@list AS BYTEA[])`. */
export function byteArray(values: readonly (Uint8Array | null)[]): string {
  return arrayText(values.map((value) => (value === null ? null : `\\x${Buffer.from(value).toString('hex')}`)));
}

const SPECIAL = /["\\]/;
const ESCAPED = /["\\]/g;

/**
 * JSON texts in one parameter, for `string_to_array(@list, JSON_SEPARATOR)`. No JSON text contains the separator, because JSON escapes it.
 * Escaping the quotes of JSON in an array would cost more than everything else about a parameter.
 */
export function jsonList(texts: readonly string[]): string {
  return texts.join('\u001f');
}
export const JSON_SEPARATOR = 'chr(31)';
