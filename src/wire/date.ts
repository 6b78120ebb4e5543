/** The one date format that HTTP senders write: IMF-fixdate (RFC 9110 §5.6.7), `Sat, 21 Nov 2026 05:00:00 GMT`. */

const SHAPE = /^[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}:\d{2}:\d{2}) GMT$/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Epoch milliseconds as IMF-fixdate, the fraction of the second cut off. For the years 0 to 9999. */
export function formatImfFixdate(at: number): string {
  return new Date(Math.floor(at / 1000) * 1000).toUTCString();
}

/**
 * The epoch milliseconds of exactly that format, or null. The weekday has to be the right one, the day to exist; the
 * obsolete formats of RFC 9110 and the leap second `:60` are null.
 */
export function parseImfFixdate(text: string): number | null {
  const [, day, monthName = '', year, time] = SHAPE.exec(text) ?? [];
  const month = String(MONTHS.indexOf(monthName) + 1).padStart(2, '0');
  const at = Date.parse(`${year}-${month}-${day}T${time}Z`);
  return !Number.isNaN(at) && formatImfFixdate(at) === text ? at : null;
}
