/** The one date format that HTTP senders write: IMF-fixdate (RFC 9110 §5.6.7), `Sat, 21 Nov 2026 05:00:00 GMT`. */

/** Epoch milliseconds as IMF-fixdate, the fraction of the second cut off. For the years 0 to 9999. */
export function formatImfFixdate(at: number): string {
  return new Date(at).toUTCString();
}

/**
 * The epoch milliseconds of exactly that format, or null. The weekday has to be the right one, the day to exist; the
 * obsolete formats of RFC 9110, the leap second `:60` and years before 100 are null.
 */
export function parseImfFixdate(text: string): number | null {
  // The engine reads much more than this; but it writes this alone.
  const at = Date.parse(text);
  return !Number.isNaN(at) && formatImfFixdate(at) === text ? at : null;
}
