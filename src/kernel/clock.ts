/** The clock, and whether it can be trusted. */

/** Await this before any decision by the clock. Resolves immediately unless the clock was set since the last call. */
export type CheckClock = () => Promise<void>;
