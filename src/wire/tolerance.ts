/** How far a signed instant may be from the receiver's clock: what stops a captured request from being sent again later. */

/**
 * Null if `at` is within the tolerance of `now` (both epoch milliseconds), else the sentence with the figures, such as
 * `date is 412 s old, 300 s allowed`. Whole seconds count, since that is what the wire carries.
 */
export function ageProblem(what: string, at: number, now: number, toleranceSeconds: number): string | null {
  const ageSeconds = Math.floor(now / 1000) - Math.floor(at / 1000);
  // Written so that a clock or a tolerance that is not a number lets nothing in.
  if (Math.abs(ageSeconds) <= toleranceSeconds) return null;
  const relation = ageSeconds > 0 ? `${ageSeconds} s old` : `${-ageSeconds} s ahead of this clock`;
  return `${what} is ${relation}, ${toleranceSeconds} s allowed`;
}
