/**
 * Finds where in a webhook's log a moment lies, by halving it: a few dozen look-ups, whatever its length and its age.
 *
 * A log stands in the order in which its events were written, hence almost in that of their keys: two processes that publish at the
 * same moment may write in another order than they drew their keys in. So whoever needs every record of a stretch of time looks
 * a little beyond its ends, too.
 */
/** Both included. */
export type FoundOffsets = { readonly first: number; readonly last: number };
