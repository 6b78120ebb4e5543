/**
 * What was written by a clock that has been set since (`batch`, `webhook_progress`). Where it is known by how much the clock was set,
 * instants move with it; what else lies further ahead than any rule can put it is taken for now. In steps, however much it is.
 */
import type { StepResult } from './steps.ts';

export type ClockLeadStore = {
  /** The clock was set by `byMs` and shows `now`: moves what is kept of webhooks with it. */
  moveWebhooks(byMs: number, now: number): Promise<void>;
  /** The clock was set back by `byMs`: what waits for a retry is due that much earlier. Takes long where much waits. */
  moveRetries(byMs: number, now: number): Promise<void>;
  /** At start: a clock that shows less than the latest attempt was set back at least by that; and time without attempts is no failure. */
  resume(now: number): Promise<void>;
  /** Takes about `size` batches back from where the clock was ahead, and all webhooks. */
  step(now: number, size: number): Promise<StepResult>;
  /** All of it. */
  take(now: number): Promise<void>;
};
