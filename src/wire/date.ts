/** The date format of HTTP: IMF-fixdate (RFC 9110 §5.6.7), `Sat, 21 Nov 2026 05:00:00 GMT`. */

/** Formats epoch milliseconds, rounded down to the second. For the years 0 to 9999. */
export function formatImfFixdate(at: number): string {
  return new Date(at).toUTCString();
}

/**
 * Parses exactly that format into epoch milliseconds. Returns null for any other text: a wrong weekday, a day that does not exist, the
 * obsolete formats of RFC 9110, the leap second `:60`, and years before 100.
 */
export function parseImfFixdate(text: string): number | null {
  // The engine parses many more formats, but writes only this one.
  const at = Date.parse(text);
  return !Number.isNaN(at) && formatImfFixdate(at) === text ? at : null;
}
