/** The search of the portal over all named resources. Reads only. */
import type { WebhookState } from '../../domain/webhook.ts';

export type FoundKind = 'customer' | 'endpoint' | 'webhook' | 'application' | 'user' | 'product' | 'event-type' | 'key';

/** `detail` distinguishes resources with similar names: a URL, a client id, a description. */
export type Found = {
  readonly kind: FoundKind;
  readonly id: string;
  readonly name: string;
  readonly detail: string | null;
  /** The state of a webhook; null for other resources. */
  readonly state: WebhookState | null;
};

export type SearchStore = {
  /**
   * Resources whose id is `text`, or whose name or detail contains it, ignoring ASCII case: at most `limit` of each kind. For the
   * operator also those whose words are all in their name or in that of their customer. For a customer,
   * its own resources and the event types that are not internal; for the operator, with null, all.
   */
  find(text: string, customerId: string | null, limit: number): Promise<Found[]>;
};
