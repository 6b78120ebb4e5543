/** Webhooks (`webhook`, `subscription`) and where the service is with each (`webhook_progress`). */
import type { AuditEntry } from '../resources/audit.ts';
import type { StateChange, Webhook, WebhookConfiguration } from '../webhooks/webhook.ts';
import type { After, Filter } from './conditions.ts';
import type { Statement } from './sqlite/driver/database.ts';

export type WebhookStore = {
  get(id: string): Promise<Webhook | null>;
  list(after: After, limit: number, filter?: Filter): Promise<Webhook[]>;
  /** The first few webhooks that use an endpoint, a key, or a pattern of event types. */
  ofEndpoint(endpointId: string): Promise<Webhook[]>;
  /** The first one of an endpoint with `standardWebhooks`, or none. */
  standardOfEndpoint(endpointId: string): Promise<Webhook[]>;
  ofKey(name: string): Promise<Webhook[]>;
  /** All webhooks that the service stopped because this endpoint was not enabled. */
  stoppedWithEndpoint(endpointId: string): Promise<Webhook[]>;
  ofPattern(pattern: string): Promise<Webhook[]>;
  /** The first few webhooks that get events of this type and have no key to encrypt them. */
  unencryptedOf(type: string): Promise<Webhook[]>;
  /** Webhooks whose attempts have failed since `since` or earlier, and that have none to make, or under way, before `quietUntil`. */
  failingSince(since: number, quietUntil: number, limit: number): Promise<Webhook[]>;
  insert(webhook: WebhookConfiguration, audit: AuditEntry, first?: readonly Statement[]): Promise<void>;
  /** Throws `StaleWrite` when the row is no longer as `before` was read. */
  update(webhook: WebhookConfiguration, before: WebhookConfiguration, audit: AuditEntry): Promise<void>;
  remove(id: string, audit: AuditEntry, updatedAt?: number): Promise<void>;
  /**
   * Starts or stops: writes the state with the event that tells of it. Throws `StaleWrite` if the state was another by then, or the
   * configuration is no longer `unchanged`.
   */
  setState(change: StateChange, audit: AuditEntry, unchanged?: WebhookConfiguration): Promise<void>;
  /** Stops because the endpoint is not enabled. Throws `StaleWrite` also if the endpoint was enabled by then. */
  stopWithEndpoint(change: StateChange, audit: AuditEntry, endpointId: string): Promise<void>;
  /** Behind the change that starts a webhook: what waits for a retry is due now. */
  resume(webhookNumber: number, now: number): Promise<void>;
};
