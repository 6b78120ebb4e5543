/** Maps the event types of an export to names here, and to the patterns of webhooks. Pure. */
import { EVENT_TYPE_NAME } from '../kernel/schemas.ts';
import type { ImportOptions } from './export-reader.ts';
import { shown } from './record-names.ts';

/** The names of event types here, and the patterns of webhooks. */
export type TypeNames = {
  /** The name here, or null if it is not of the form `<category>.<name>`. */
  nameOf(name: string): string | null;
  /** The event types of a list, or of `null` all of them. */
  patternsOf(names: readonly string[] | null): {
    readonly patterns: readonly string[];
    readonly problem: string | null;
    readonly lost: readonly string[];
  };
};

/** `known`: the names of the event types in the export. */
export function typeNames(known: readonly string[], { renamed }: ImportOptions): TypeNames {
  const nameOf = (name: string): string | null => {
    const here = renamed.get(name) ?? name;
    return EVENT_TYPE_NAME.test(here) ? here : null;
  };
  const all = known.map(nameOf).filter((name) => name !== null);
  const categories = [...new Set(all.map((name) => `${name.slice(0, name.indexOf('.'))}.*`))].sort();
  return {
    nameOf,
    patternsOf: (names) => {
      if (names === null) {
        const problem =
          categories.length === 0 ? 'gets every event type, and the export has none with a valid name' : null;
        // `*` is every event of Sallyport too, and some of those must be encrypted.
        return { patterns: categories, problem, lost: ['event types of categories that the export lacks'] };
      }
      const here = names.map((name) => [name, nameOf(name)] as const);
      const unnamed = here.flatMap(([name, valid]) =>
        valid === null ? [`the event type ${shown(name)}: ${RENAME}`] : [],
      );
      const patterns = [...new Set(here.flatMap(([, valid]) => valid ?? []))];
      return {
        patterns,
        problem: patterns.length === 0 ? 'gets no event type with a valid name' : null,
        lost: unnamed,
      };
    },
  };
}

export const RENAME = 'its name is not <category>.<name> in lower case: give it another with --rename';
