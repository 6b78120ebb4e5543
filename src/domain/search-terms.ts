/** Finding events by values of their data: the paths that an event type names, and the values at them. Pure. */
import { FILTER_STEPS, MISSING, valueAt } from './filter.ts';

/** The paths of an event type. */
export const SEARCH_PATHS_MAX = 5;
const SEARCH_PATH_MAX_LENGTH = 200;

/** Longer values cannot be found. Of a list, only the first values can be found. */
const SEARCH_VALUE_MAX_LENGTH = 200;
const SEARCH_VALUES_MAX = 20;
/** NFC makes one code unit of at most this many, for example of a Greek letter with three accents. */
const COMPOSED_MAX = 4;

/** Why a text is not a path at which events of a type are found; null: it is one. */
export function searchPathProblem(path: string): string | null {
  const steps = path.split('.');
  if (steps[0] !== 'data' || steps.length < 2 || steps.some((step) => step === '')) {
    return 'must be a path such as data.orderId';
  }
  if (path.length > SEARCH_PATH_MAX_LENGTH) return `must have at most ${SEARCH_PATH_MAX_LENGTH} characters`;
  return steps.length > FILTER_STEPS + 1 ? `must have at most ${FILTER_STEPS} steps` : null;
}

/** A value in the form in which it is kept and searched: without regard to case and space around it; null: it is not searched. */
export function searchValue(text: string): string | null {
  const trimmed = text.trim();
  // `normalize` takes quadratic time for a long run of accents.
  if (trimmed.length > SEARCH_VALUE_MAX_LENGTH * COMPOSED_MAX) return null;
  const value = trimmed.normalize('NFC').toLowerCase();
  return value === '' || value.length > SEARCH_VALUE_MAX_LENGTH ? null : value;
}

/** The texts and numbers of an event's data at the paths, each once. A list has its first `SEARCH_VALUES_MAX` values. */
export function searchValues(
  dataJson: string,
  paths: readonly string[],
): readonly { readonly path: string; readonly value: string }[] {
  const event = { type: '', subject: null, data: JSON.parse(dataJson) as unknown };
  return paths.flatMap((path) => {
    const found = valueAt(event, path);
    const values = (Array.isArray(found) ? found.slice(0, SEARCH_VALUES_MAX) : [found]).flatMap(
      (one: unknown) =>
        (one === MISSING
          ? null
          : typeof one === 'string' || typeof one === 'number'
            ? searchValue(String(one))
            : null) ?? [],
    );
    return [...new Set(values)].map((value) => ({ path, value }));
  });
}
