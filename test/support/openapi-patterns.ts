/** Collects the patterns of an OpenAPI document, for tests that compile them with other regular expression engines. */

/** Every distinct `pattern` at any depth of a document. */
export function patternsIn(document: unknown): string[] {
  const found = new Set<string>();
  const walk = (value: unknown): void => {
    if (value === null || typeof value !== 'object') return;
    for (const [name, member] of Object.entries(value)) {
      if (name === 'pattern' && typeof member === 'string') found.add(member);
      else walk(member);
    }
  };
  walk(document);
  return [...found].sort();
}
