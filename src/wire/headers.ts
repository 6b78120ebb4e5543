/** Request headers in the forms that servers provide, with names in upper or lower case. */

/** Names to values; a list is a repeated header. Node's `request.headers` has this form. */
export type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

/** One pair for each header line. A `Headers` object and a `Map` have this form. */
export type HeaderPairs = Iterable<readonly [name: string, value: string]>;

/**
 * The headers under lower-case names. Repeated headers are joined with `, ` (RFC 9110 §5.3), so that no single value is picked. No header
 * that verification reads is valid with such a value.
 */
export function lowerCaseHeaders(headers: HeaderRecord | HeaderPairs): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of Symbol.iterator in headers ? headers : Object.entries(headers)) {
    if (value === undefined) continue;
    const lower = name.toLowerCase();
    found.set(lower, [found.get(lower) ?? [], value].flat(2).join(', '));
  }
  return found;
}
