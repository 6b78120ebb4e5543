/** The nearest of some names, for messages that ask whether it was meant. */

/** The name that is at most two edits away from the word, or null. */
export function nearest(word: string, names: readonly string[]): string | null {
  const [found] = names
    .map((name) => ({ name, edits: editDistance(word, name) }))
    .filter(({ edits }) => edits <= 2)
    .sort((a, b) => a.edits - b.edits);
  return found?.name ?? null;
}

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
