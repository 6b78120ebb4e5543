/** The logs of deleted webhooks (`removed_webhook`): taken away in steps, however large they are. */
import type { StepResult } from './steps.ts';

export type RemovalStore = {
  /** Takes up to `limit` rows of the log of a deleted webhook, and its number when nothing else is left. */
  step(limit: number): Promise<StepResult>;
};
