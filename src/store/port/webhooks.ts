/** The resources that customers configure: endpoints, PGP keys and webhooks with their states. */

import type { AuditEntry } from '../../domain/audit.ts';
import type { Endpoint } from '../../domain/endpoint.ts';
import type { EventType } from '../../domain/event.ts';
import type { PastState, PgpKey, StateChange, Webhook, WebhookConfiguration } from '../../domain/webhook.ts';
import type { Statement } from './database.ts';
import type { Administered, After, Filter, ResourceStore } from './resource.ts';

/** A webhook that starts because its endpoint changed, with its audit entry. */
export type WebhookStart = { readonly change: StateChange; readonly audit: AuditEntry };

/** The public keys of an endpoint that signs with Ed25519, and when they are in use. */
export type EndpointPublicKeys = Pick<Endpoint, 'publicKey' | 'nextPublicKey' | 'nextSecretAt' | 'secretOverlapEndsAt'>;

/** Customers' endpoints (`endpoint`). */
export type EndpointStore = Omit<ResourceStore<Endpoint>, 'update'> & {
  /** For `first` of a webhook that was checked with this endpoint: the write throws `StaleWrite` if the endpoint has changed since. */
  unchanged(endpoint: Administered): Statement;
  /** The keys of all endpoints that sign with Ed25519. */
  publicKeys(): Promise<EndpointPublicKeys[]>;
  /**
   * Writes the endpoint and starts its webhooks in one transaction. Throws `StaleWrite` if any of them has changed since it was read.
   */
  update(
    endpoint: Endpoint,
    before: Endpoint,
    audit: AuditEntry,
    first?: readonly Statement[],
    starts?: readonly WebhookStart[],
    /** The version of its webhooks with which it was checked. Also throws `StaleWrite` if it is another one. */
    webhooks?: string,
  ): Promise<void>;
};

/** Customers' PGP public keys (`pgp_key`). */
export type KeyStore = ResourceStore<PgpKey> & {
  /** A key of a customer, or of the operator with null. */
  getByName(customerId: string | null, name: string): Promise<PgpKey | null>;
};

/** Without progress, it begins stopped. */
export type NewWebhook = WebhookConfiguration & { readonly progress?: Webhook['progress'] };

/** Webhooks (`webhook`, `subscription`) and their progress (`webhook_progress`). */
export type WebhookStore = {
  get(id: string): Promise<Webhook | null>;
  list(after: After, limit: number, filter?: Filter): Promise<Webhook[]>;
  /** The first few webhooks of an endpoint. */
  ofEndpoint(endpointId: string): Promise<Webhook[]>;
  /** The endpoint's first webhook with `standardWebhooks`, if any. */
  standardOfEndpoint(endpointId: string): Promise<Webhook[]>;
  /** Changes with every webhook that the endpoint gets or loses, and with the settings of each. */
  versionAt(endpointId: string): Promise<string>;
  ofKey(customerId: string | null, name: string): Promise<Webhook[]>;
  /** All webhooks that the service stopped because this endpoint was disabled. */
  stoppedWithEndpoint(endpointId: string): Promise<Webhook[]>;
  ofPattern(pattern: string): Promise<Webhook[]>;
  /** The first few webhooks that receive events of this type without encryption. */
  unencryptedOf(type: Pick<EventType, 'name' | 'public'>): Promise<Webhook[]>;
  /** Webhooks that have been failing since `since` or earlier and have no attempt in flight or due before `quietUntil`. */
  failingSince(span: { readonly since: number; readonly quietUntil: number }, limit: number): Promise<Webhook[]>;
  insert(webhook: NewWebhook, audit: AuditEntry, first?: readonly Statement[]): Promise<void>;
  /** Throws `StaleWrite` if the row has changed since `before` was read. */
  update(
    webhook: WebhookConfiguration,
    before: WebhookConfiguration,
    audit: AuditEntry,
    first?: readonly Statement[],
  ): Promise<void>;
  remove(id: string, audit: AuditEntry, updatedAt?: number): Promise<void>;
  /**
   * Starts or stops a webhook: writes the state and the event about it. Throws `StaleWrite` if the state has changed since it was
   * read, the configuration is no longer `unchanged`, or the webhook starts and its customer is suspended.
   */
  setState(change: StateChange, audit: AuditEntry, unchanged?: WebhookConfiguration): Promise<void>;
  /** Stops a webhook because its endpoint is disabled. Also throws `StaleWrite` if the endpoint has been enabled since. */
  stopWithEndpoint(change: StateChange, audit: AuditEntry, endpointId: string): Promise<void>;
  /** After a start: makes waiting retries due now. */
  resume(webhookNumber: number, now: number): Promise<void>;
};

/** The past states of a webhook (`event`). */
export type StateHistoryStore = {
  /** State changes, newest first. Read from the events about them, for as long as those are retained. */
  ofWebhook(webhookId: string, limit: number): Promise<PastState[]>;
};

export type WebhookVerbs = {
  readonly endpoints: EndpointStore;
  readonly keys: KeyStore;
  readonly webhooks: WebhookStore;
  readonly stateHistory: StateHistoryStore;
};
