/** Request headers as receivers hold them, whatever the case of their names. */

/** Names to values; a list is a header that came several times. Node's `request.headers` is one. */
export type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

/** One pair a header line. A `Headers` object of the web is one, and so is a `Map`. */
export type HeaderPairs = Iterable<readonly [name: string, value: string]>;

/**
 * The headers under lower-case names. Repeated ones are joined with `, ` (RFC 9110 §5.3), so that no single one is picked: none
 * of those that a delivery is judged by can have such a value.
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
