/** How far a signed instant may be from the receiver's clock. This bounds how long a captured request can be replayed. */

/**
 * Null if `at` is within the tolerance of `now` (both in epoch milliseconds), otherwise a message such as `date is 412 s old, 300 s allowed`.
 * Compares whole seconds, because that is the precision on the wire.
 */
export function ageProblem(what: string, at: number, now: number, toleranceSeconds: number): string | null {
  const ageSeconds = Math.floor(now / 1000) - Math.floor(at / 1000);
  // Written so that a clock or a tolerance of NaN accepts nothing.
  if (Math.abs(ageSeconds) <= toleranceSeconds) return null;
  const relation = ageSeconds > 0 ? `${ageSeconds} s old` : `${-ageSeconds} s ahead of this clock`;
  return `${what} is ${relation}, ${toleranceSeconds} s allowed`;
}
