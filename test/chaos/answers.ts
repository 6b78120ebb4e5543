/** How a client of a kill test treats a request without a reply. */

/**
 * A service that is killed resets its connections, one that is paused goes on after at most 12 s, and a write that is not confirmed is
 * answered after ten. A request that is open for longer hangs.
 */
export const ANSWERED_WITHIN_MS = 60_000;

/** For `catch`: no reply is what kills bring about, but one that does not come is a fault. */
export function unanswered(what: string, faults: string[]): (error: unknown) => null {
  return (error) => {
    if (error instanceof Error && error.name === 'TimeoutError')
      faults.push(`${what} was not answered within ${ANSWERED_WITHIN_MS / 1000} s`);
    return null;
  };
}
