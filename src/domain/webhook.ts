/** A webhook: its configuration and its progress; its key, and its deliveries. */
import type { NewEvent } from './event.ts';
import type { EventFilter } from './filter.ts';
import type { RetrySettings } from './retry.ts';
import type { FormatSettings } from './webhook-format.ts';

export type WebhookState = 'stopped' | 'started' | 'running' | 'failing' | 'failed';

/** Whether the service sends the records to an endpoint, or a reader fetches and acknowledges them. Fixed at creation. */
export type WebhookMode = 'push' | 'pull';

/** `key`: events of one `orderingKey` in order; true: all events; false: no order. */
export type WebhookOrder = boolean | 'key';

export type WebhookConfiguration = FormatSettings &
  RetrySettings & {
    readonly id: string;
    /** The customer that it belongs to; null: the operator's own. */
    readonly customerId: string | null;
    readonly name: string;
    readonly mode: WebhookMode;
    /** Null in mode `pull`. */
    readonly endpointId: string | null;
    readonly eventTypes: readonly string[];
    /** Which events of these types it gets; null: all. */
    readonly filter: EventFilter | null;
    readonly customHeaders: readonly CustomHeader[];
    readonly encryptionKeyName: string | null;
    readonly ordered: WebhookOrder;
    readonly maxBatchRecords: number;
    readonly maxRecordsPerSecond: number | null;
    readonly standardWebhooks: boolean;
    /** A signature as another product makes it, beside the others; null for none. */
    readonly signature: SignatureTemplate | null;
    readonly heartbeatSeconds: number;
    readonly timeoutSeconds: number;
    readonly createdAt: number;
    readonly updatedAt: number;
  };

/** How a request is signed for a receiver that knows the signature of another product (contract §12.6). */
export type SignatureTemplate = {
  readonly preset: 'github' | 'stripe' | 'shopify' | 'slack' | null;
  readonly header: string;
  readonly algorithm: 'sha256' | 'sha512' | 'sha1';
  readonly encoding: 'hex' | 'base64';
  /** With place-holders, `{signature}` among them. */
  readonly value: string;
  readonly content: string;
  /** `text`: the UTF-8 bytes of the secret. */
  readonly key: 'text' | 'decoded' | 'prefixed';
  /** Separates the pieces of several secrets during a rotation; null: only the active secret signs. */
  readonly repeat: string | null;
  readonly timestampHeader: string | null;
  readonly idHeader: string | null;
};

export type Progress = {
  readonly webhookNumber: number;
  readonly state: WebhookState;
  readonly stateReason: string | null;
  readonly stateDetail: string | null;
  readonly stateAt: number;
  readonly sessionId: string | null;
  readonly sessionAt: number | null;
  /** The offset that the next record will get. */
  readonly nextOffset: number;
  /** Every record below is in a batch. In mode `push` the process that sends for the webhook moves it every few seconds. */
  readonly cursorOffset: number;
  readonly sentAt: number | null;
  readonly failingSinceAt: number | null;
  readonly failureStreak: number;
  readonly probeAt: number | null;
  readonly deadStreak: number;
};

export type Webhook = WebhookConfiguration & { readonly progress: Progress };

/** The new progress, written only if the state is still `stateBefore`. `event` is published unless it is null. */
export type StateChange = {
  readonly progress: Progress;
  readonly stateBefore: WebhookState;
  readonly event: NewEvent | null;
};

export type PastState = {
  readonly state: WebhookState;
  readonly previousState: WebhookState;
  /** The code of the reason, with the status if the endpoint answered one. */
  readonly reason: string | null;
  readonly at: number;
};

/** A PGP key that encrypts payloads. */
export type PgpKey = {
  readonly id: string;
  /** The customer that it belongs to; null: the operator's own. */
  readonly customerId: string | null;
  readonly name: string;
  readonly publicKey: string;
  readonly fingerprint: string;
  readonly algorithm: string;
  readonly expiresAt: number | null;
  /** The last warning given before expiry: 30, 7 or 1 days. */
  readonly warnedDays: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};

export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'discarded';

/** One event on its way to one webhook. */
export type Delivery = {
  readonly id: string;
  readonly webhookNumber: number;
  readonly webhookId: string;
  readonly customerId: string | null;
  readonly webhookName: string;
  readonly webhookState: WebhookState;
  readonly webhookMode: WebhookMode;
  readonly eventId: string;
  readonly eventType: string;
  readonly subject: string | null;
  /** The event's; null without one, and once erased. */
  readonly orderingKey: string | null;
  readonly offset: number;
  readonly state: DeliveryState;
  readonly attemptCount: number;
  readonly nextAttemptAt: number | null;
  /** A process has claimed it: an attempt is in progress until `nextAttemptAt`, the end of the lease. */
  readonly isLeased: boolean;
  readonly createdAt: number;
  readonly settledAt: number | null;
  /** When its last attempt began or ended, when it was last replayed, or when it was erased; otherwise when it was created. */
  readonly updatedAt: number;
  /** When its data was erased. */
  readonly erasedAt: number | null;
};

/** A custom header of a webhook, with its name in the configured case. */
export type CustomHeader = { readonly name: string; readonly value: string };
