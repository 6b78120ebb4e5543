/** Reads `synchronous_standby_names` (PostgreSQL, "Replication", "Primary Server"). */

type StandbyNames = {
  /** How many standbys confirm each commit. */
  readonly wanted: number;
  /** The names of the standbys that may; `*` is any. In lower case, as PostgreSQL compares them. */
  readonly names: readonly string[];
};

const SHAPE = /^\s*(?:(?:FIRST\s+|ANY\s+)?(?<wanted>\d+)\s*\((?<listed>.*)\)|(?<plain>.*))\s*$/is;
const NAME = /"(?<quoted>(?:[^"]|"")*)"|(?<bare>[^\s,]+)/g;

/** `FIRST 2 (a, "b")`, `ANY 1 (a, b)`, `1 (a)` and `a, b`. Of an empty text: no standby is wanted. */
export function readStandbyNames(text: string): StandbyNames {
  const { wanted = '1', listed, plain = '' } = SHAPE.exec(text)?.groups ?? {};
  const names = [...(listed ?? plain).matchAll(NAME)].map(({ groups }) =>
    (groups?.quoted?.replaceAll('""', '"') ?? groups?.bare ?? '').toLowerCase(),
  );
  return { wanted: names.length === 0 ? 0 : Number(wanted), names };
}

/**
 * The named standbys that are not connected, and whether so many are missing that no commit is confirmed. `connected`: the names of
 * the connected ones.
 */
export function missingStandbys(
  { wanted, names }: StandbyNames,
  connected: readonly string[],
): { readonly missing: readonly string[]; readonly isBlocked: boolean } {
  const known = connected.map((name) => name.toLowerCase());
  const counted = known.filter((name) => names.includes('*') || names.includes(name));
  return { missing: names.filter((name) => name !== '*' && !known.includes(name)), isBlocked: counted.length < wanted };
}
