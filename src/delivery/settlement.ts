/** The result of an attempt for a batch and its webhook. */

import type { AuditEntry } from '../resources/audit.ts';
import type { StateChange, WebhookState } from '../webhooks/webhook.ts';
import type { AttemptRecord } from './attempt.ts';
import type { Batch, Claim } from './batch.ts';

/** What becomes of a batch. A released one was not tried after all: the attempt is not counted. */
export type BatchFate =
  | { readonly kind: 'delivered' | 'dead' | 'discarded'; readonly at: number }
  | { readonly kind: 'retry'; readonly at: number; readonly contentRefusals: number }
  | { readonly kind: 'release'; readonly at: number }
  | { readonly kind: 'halve'; readonly at: number; readonly halfIds: readonly [string, string] };

/** The part of a webhook's progress that every outcome may change. */
export type Health = {
  readonly stateReason: string | null;
  readonly stateDetail: string | null;
  readonly sentAt: number | null;
  readonly failingSinceAt: number | null;
  readonly failureStreak: number;
  readonly probeAt: number | null;
  readonly deadStreak: number;
};

/** `batch` and `fate` are null for a heartbeat, `attempt` for a batch that was not sent. */
export type SettledBatch = {
  readonly batch: Batch | null;
  readonly fate: BatchFate | null;
  readonly attempt: AttemptRecord | null;
};

export type Settlement = {
  readonly webhookNumber: number;
  /** Who holds the leases on the batches. */
  readonly owner: string;
  readonly batches: readonly SettledBatch[];
  /** The changes of state, each from where the one before led. */
  readonly changes: readonly StateChange[];
  /** Of a stop among the changes. */
  readonly audit: AuditEntry | null;
  /** Where the attempts leave the webhook, given that its state is `state` after these; null: as the changes left it. */
  readonly health: (Health & { readonly state: WebhookState }) | null;
  /** When the dispatcher looks next at the latest; null: when it was going to anyway. */
  readonly wakeAt: number | null;
  /** The webhook's next work, claimed in the same transaction, so that one commit lies between two batches; null: none. */
  readonly next: Claim | null;
};
