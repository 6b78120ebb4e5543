/** A delivery: one event on its way to one webhook. */
import type { WebhookState } from './webhook.ts';

export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'discarded';

export type Delivery = {
  readonly id: string;
  readonly webhookNumber: number;
  readonly webhookId: string;
  readonly webhookName: string;
  readonly webhookState: WebhookState;
  readonly eventId: string;
  readonly eventType: string;
  readonly subject: string | null;
  readonly offset: number;
  readonly state: DeliveryState;
  readonly attemptCount: number;
  readonly nextAttemptAt: number | null;
  readonly createdAt: number;
  readonly settledAt: number | null;
  /** When its data was erased. */
  readonly erasedAt: number | null;
};
