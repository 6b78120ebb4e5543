/** Bounds of several instances on one database. */

/** An instance that renews nothing for this long has expired, and others take what it holds. It renews at a third of this. */
export const INSTANCE_LEASE_MS = 6000;
/** An instance stops sending this long before its lease ends by its own clock, in case the two clocks run at different speeds. */
export const INSTANCE_LEASE_MARGIN_MS = 500;
/** A due webhook that nobody holds is left to instances that hold fewer for this long. */
export const TAKEN_LATE_MS = 1000;
/** An instance gives webhooks back if it holds more than its share by more than this part of it. */
export const SHARE_EXCESS = 0.1;
