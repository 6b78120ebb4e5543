/** "Did you mean": the known name that is nearest to an unknown one. */

/** The end of a sentence that suggests the nearest name; empty if none is near. */
export function didYouMean(word: string, names: readonly string[]): string {
  const name = nearest(word, names);
  return name === null ? '' : `. Did you mean ${JSON.stringify(name)}?`;
}

/** A name is near if few edits lead to it, or to its beginning. Dashes of options and capital letters do not count. */
export function nearest(word: string, names: readonly string[]): string | null {
  const [wanted, ...known] = [word, ...names].map((name) => name.toLowerCase().replace(/^-+/, ''));
  const [found] = names
    .map((name, at) => ({ name, edits: distance(wanted ?? '', known[at] ?? '') }))
    .filter(({ edits }) => edits !== null)
    .sort((a, b) => (a.edits ?? 0) - (b.edits ?? 0));
  return found?.name ?? null;
}

/** Null if the names are not near. */
function distance(one: string, other: string): number | null {
  const edits = editDistance(one, other);
  const longest = Math.max(one.length, other.length);
  if (edits <= (longest <= 3 ? 1 : Math.max(2, Math.floor(longest / 3)))) return edits;
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  if (short.length < BEGINNING_LETTERS) return null;
  return editDistance(short, long.slice(0, short.length)) <= 2 && long.startsWith(short.slice(0, 2)) ? edits : null;
}

/** Shorter beginnings fit too many names. */
const BEGINNING_LETTERS = 4;

/** The Levenshtein distance. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [before, letter] of [...one].entries()) {
    const next = [before + 1];
    for (let at = 0; at < other.length; at += 1) {
      const replaced = (row[at] ?? 0) + (other[at] === letter ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
