/** Request headers as receivers hold them, whatever the case of their names. */

/** Names to values; a list is a header that came several times. Node's `request.headers` is one. */
export type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The headers under lower-case names. Repeated ones are joined with `, ` (RFC 9110 §5.3), so no single one is picked. */
export function lowerCaseHeaders(headers: HeaderRecord): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    const text = typeof value === 'string' ? value : value.join(', ');
    const lower = name.toLowerCase();
    const before = found.get(lower);
    found.set(lower, before === undefined ? text : `${before}, ${text}`);
  }
  return found;
}

/** Says that one of these names came more than once, in whatever case, where the record still shows it; else null. */
export function repeatedHeader(headers: HeaderRecord, names: readonly string[]): string | null {
  const counts = new Map<string, number>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    const times = value === undefined ? 0 : typeof value === 'string' ? 1 : value.length;
    counts.set(lower, (counts.get(lower) ?? 0) + times);
  }
  const repeated = names.find((name) => (counts.get(name) ?? 0) > 1);
  return repeated === undefined ? null : `the header ${repeated} came ${counts.get(repeated)} times`;
}
