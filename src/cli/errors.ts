/** Errors of commands, with messages for people. */

/** Wrong usage: the message names the mistake in the command line. Exit status 2. */
export class UsageError extends Error {
  /** The command for which to show help, such as `application create`; empty for the overview. */
  readonly topic: string;
  constructor(message: string, topic: string) {
    super(message);
    this.name = 'UsageError';
    this.topic = topic;
  }
}

/** A command failed: the message says why. Exit status 1. */
export class CommandError extends Error {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.name = 'CommandError';
  }
}

/** Suggests the nearest name that is at most two edits away, as the end of a sentence; empty without one. */
export function didYouMean(word: string, names: readonly string[]): string {
  const [nearest] = names
    .map((name) => ({ name, edits: editDistance(word, name) }))
    .filter(({ edits }) => edits <= 2)
    .sort((a, b) => a.edits - b.edits);
  return nearest === undefined ? '' : `. Did you mean ${JSON.stringify(nearest.name)}?`;
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
