/** How the service is, as the overview tells it: what waits, what fails, what was given up. Reads only. */
import type { WebhookState } from '../webhooks/webhook.ts';

export type Named = { readonly id: string; readonly name: string };

/** A webhook with records that wait: those of `Queue`, and when the oldest of them happened. */
export type Waiting = Named & {
  readonly state: WebhookState;
  readonly records: number;
  readonly oldestAt: number | null;
};

export type Backlog = {
  /** Records that wait, of all webhooks, those under way and those waiting for a retry included. */
  readonly records: number;
  readonly oldestAt: number | null;
  readonly webhooks: number;
  /** Those with the most. */
  readonly longest: readonly Waiting[];
};

/** A webhook that does not deliver, and not because somebody stopped it. */
export type Ailing = Named & {
  readonly endpointId: string;
  readonly endpointName: string;
  readonly state: WebhookState;
  readonly reason: string | null;
  readonly detail: string | null;
  /** Since when attempts fail, or since when it is stopped. */
  readonly since: number;
  readonly waiting: number;
};

export type DeadLetters = {
  readonly records: number;
  /** There are more than could be counted. */
  readonly more: boolean;
};

export type OverviewStore = {
  backlog(longest: number): Promise<Backlog>;
  /** The latest first. */
  ailing(limit: number): Promise<Ailing[]>;
  dead(): Promise<DeadLetters>;
};
