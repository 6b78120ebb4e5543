/**
 * A token bucket for events a second (contract §8.7). It holds at most the events of one second, and is full at first. Amounts are
 * thousandths of an event. So a millisecond adds a whole number of them, and nothing is rounded: in any period of `t` milliseconds, at most
 * `perSecond * (1 + t / 1000)` events pass.
 */

/** The level of the bucket at an instant. */
export type Allowance = { readonly thousandths: number; readonly at: number };

/** Events of one request for one customer, which may publish `perSecond` events a second. */
export type WantedEvents = { readonly customerId: string; readonly perSecond: number; readonly events: number };

/** Whether the events may be published; if not, which customer's allowance is used up, and for how long. */
export type Allowed =
  | { readonly ok: true }
  | { readonly ok: false; readonly customerId: string; readonly waitMs: number };

export const THOUSANDTHS = 1000;
export const CLOCK_AHEAD_MAX_MS = 60_000;

/**
 * The bucket at `now`, before anything is taken. A clock that was set back adds nothing, and after more than `CLOCK_AHEAD_MAX_MS` the
 * bucket continues from the new time instead of waiting for the old one. A lowered limit counts immediately.
 */
export function allowanceAt(before: Allowance | null, perSecond: number, now: number): Allowance {
  const full = perSecond * THOUSANDTHS;
  if (before === null) return { thousandths: full, at: now };
  if (before.at - now > CLOCK_AHEAD_MAX_MS) return { thousandths: Math.min(full, before.thousandths), at: now };
  const added = Math.max(0, now - before.at) * perSecond;
  return { thousandths: Math.min(full, before.thousandths + added), at: Math.max(now, before.at) };
}

/** The bucket after taking the events, or how long to wait until it has enough of them. */
export function takeFrom(
  before: Allowance | null,
  { perSecond, events }: Pick<WantedEvents, 'perSecond' | 'events'>,
  now: number,
): { readonly ok: true; readonly after: Allowance } | { readonly ok: false; readonly waitMs: number } {
  const current = allowanceAt(before, perSecond, now);
  const left = current.thousandths - events * THOUSANDTHS;
  if (left >= 0) return { ok: true, after: { ...current, thousandths: left } };
  // Includes the time until a clock that was set back reaches the bucket's instant again.
  return { ok: false, waitMs: Math.ceil(-left / perSecond) + Math.max(0, current.at - now) };
}

/** The bucket after giving back events that were taken but not kept. */
export function giveBackTo(
  before: Allowance | null,
  { perSecond, events }: Pick<WantedEvents, 'perSecond' | 'events'>,
  now: number,
): Allowance {
  const current = allowanceAt(before, perSecond, now);
  return {
    ...current,
    thousandths: Math.min(perSecond * THOUSANDTHS, current.thousandths + events * THOUSANDTHS),
  };
}
