/** The public API for embedding programs. docs/embedding.md is its reference; a test holds the two against each other. */

import type { PublishInput } from '../events/publish.ts';
import type { MergePatch } from '../resources/input.ts';
import type {
  AcknowledgeInput,
  ApplicationInput,
  ApplicationQuery,
  CustomerInput,
  CustomerQuery,
  DeliveryQuery,
  EndpointInput,
  EndpointQuery,
  ErasureInput,
  EventTypeInput,
  FilterPreviewInput,
  GiveUpInput,
  KeyInput,
  KeyQuery,
  PageQuery,
  PortalLinkInput,
  PortalTokenInput,
  ProductInput,
  RecordsQuery,
  RegenerateSecretInput,
  ReplayInput,
  RotateApiKeyInput,
  RotateAuthenticationInput,
  RotateSecretInput,
  SignaturePreviewInput,
  UsagePeriod,
  UserInput,
  UserQuery,
  WebhookInput,
  WebhookQuery,
} from './inputs.ts';
import type {
  Acknowledged,
  Application,
  ApplicationWithSecret,
  Customer,
  CustomerUsage,
  Delivery,
  DeliveryWithAttempts,
  Endpoint,
  EndpointWithSecret,
  Erasure,
  EventType,
  FilterPreview,
  GivenUp,
  Invitation,
  Key,
  Page,
  PortalLink,
  PortalToken,
  Product,
  Published,
  RecordsBody,
  Replayed,
  SignaturePreview,
  User,
  WaitingKey,
  Webhook,
} from './records.ts';

/** The last argument of `create`. */
export type CreateOptions = {
  /**
   * 1 to 255 visible ASCII characters. For 24 hours, the same call of the same caller under the same key changes nothing and resolves with
   * the first result again, secrets included. Another input rejects with 409 `idempotency_conflict`.
   */
  readonly idempotencyKey?: string | undefined;
};

/** The last argument of `update`, `delete` and most actions. */
export type ChangeOptions<Item> = {
  /** The record as you read it. If it has changed since, nothing is changed, and the call rejects with 412 `precondition_failed`. */
  readonly ifMatch?: Item | undefined;
};

/** The last argument of actions that replace a credential, or make a link or a token. */
export type ActionOptions<Item> = CreateOptions & ChangeOptions<Item>;

/** The five methods that every resource has. Each rejects with a `Refusal`: 404 for an unknown id, 400 with `details` for a bad field. */
export type Resource<Item, Input, Query = PageQuery, Created = Item> = {
  create(input: Input, options?: CreateOptions): Promise<Created>;
  get(id: string): Promise<Item>;
  list(query?: Query): Promise<Page<Item>>;
  /** Changes the fields that `patch` names. Null removes a value (RFC 7396). */
  update(id: string, patch: MergePatch<Input>, options?: ChangeOptions<Item>): Promise<Item>;
  /** Rejects with 409 `in_use` while another resource refers to it. */
  delete(id: string, options?: ChangeOptions<Item>): Promise<void>;
};

/**
 * The methods for an embedding program. `sallyport` itself has them with every right; `sallyport.as(caller)` has them with the rights
 * of a caller. Input is checked at run time too. Every method rejects with a `Refusal`, and with `StoppedError` after `stop`.
 */
export type Program = {
  /** In place of an id each method also takes `externalId:<your id>`. */
  readonly customers: Resource<Customer, CustomerInput, CustomerQuery> & {
    /** Makes a link that opens the customer's portal once. Rejects with 409 for a suspended customer, 503 without a public URL. */
    createPortalLink(customer: string, input: PortalLinkInput, options?: ActionOptions<Customer>): Promise<PortalLink>;
    /** Makes a short-lived token of the customer for the HTTP API. Rejects with 409 for a suspended customer. */
    createPortalToken(
      customer: string,
      input: PortalTokenInput,
      options?: ActionOptions<Customer>,
    ): Promise<PortalToken>;
    usage(customer: string, period?: UsagePeriod): Promise<CustomerUsage>;
  };
  readonly users: Resource<User, UserInput, UserQuery> & {
    /** Makes a one-time link by which the user sets a password. An earlier link ends. Rejects with 503 without a public URL. */
    invite(id: string, options?: ActionOptions<User>): Promise<Invitation>;
  };
  readonly applications: Resource<Application, ApplicationInput, ApplicationQuery, ApplicationWithSecret> & {
    regenerateSecret(
      id: string,
      input?: RegenerateSecretInput,
      options?: ActionOptions<Application>,
    ): Promise<ApplicationWithSecret>;
    /** Refuses every token issued so far. */
    revokeTokens(id: string, options?: ChangeOptions<Application>): Promise<Application>;
  };
  readonly products: Resource<Product, ProductInput>;
  readonly eventTypes: Resource<EventType, EventTypeInput>;
  readonly endpoints: Resource<Endpoint, EndpointInput, EndpointQuery, EndpointWithSecret> & {
    /** Challenges the endpoint now. The result is in `lastVerification`. */
    verify(id: string, options?: ChangeOptions<Endpoint>): Promise<Endpoint>;
    rotateSecret(id: string, input?: RotateSecretInput, options?: ActionOptions<Endpoint>): Promise<EndpointWithSecret>;
    rotateApiKey(id: string, input?: RotateApiKeyInput, options?: ActionOptions<Endpoint>): Promise<Endpoint>;
    rotateAuthentication(
      id: string,
      input: RotateAuthenticationInput,
      options?: ActionOptions<Endpoint>,
    ): Promise<Endpoint>;
  };
  readonly keys: Resource<Key, KeyInput, KeyQuery>;
  readonly webhooks: Resource<Webhook, WebhookInput, WebhookQuery> & {
    start(id: string, options?: ChangeOptions<Webhook>): Promise<Webhook>;
    /** The records wait until `start`. */
    stop(id: string, options?: ChangeOptions<Webhook>): Promise<Webhook>;
    /** Sends records again. */
    replay(id: string, input?: ReplayInput, options?: ChangeOptions<Webhook>): Promise<Replayed>;
    /** With `ordered: 'key'`: the keys whose records wait. */
    waitingKeys(id: string, query?: PageQuery): Promise<Page<WaitingKey>>;
    /** With `ordered: 'key'`: makes the waiting records of a key dead, except one that is being sent. */
    giveUp(id: string, input: GiveUpInput, options?: ChangeOptions<Webhook>): Promise<GivenUp>;
    /** Signs a sample by the template of the webhook, or by another one. Sends nothing. */
    previewSignature(
      id: string,
      input?: SignaturePreviewInput,
      options?: ChangeOptions<Webhook>,
    ): Promise<SignaturePreview>;
    /** Judges the latest events of the webhook's types by a filter. Changes nothing. */
    previewFilter(id: string, input: FilterPreviewInput, options?: ChangeOptions<Webhook>): Promise<FilterPreview>;
    /** Reads records in order, delivered or not. `signal` ends a wait. */
    readRecords(id: string, query?: RecordsQuery, signal?: AbortSignal): Promise<RecordsBody>;
    /** Reads an event that a webhook gets. With the key of the webhook `webhookId` it is encrypted. */
    readEvent(id: string, query?: { readonly webhookId?: string | null | undefined }): Promise<RecordsBody>;
    /** For mode `pull`: the reader has processed all records up to this one. */
    acknowledge(id: string, input: AcknowledgeInput, options?: ChangeOptions<Webhook>): Promise<Acknowledged>;
  };
  readonly deliveries: {
    get(id: string): Promise<DeliveryWithAttempts>;
    /** The newest event first. A page may have fewer items than `limit` and still a `nextCursor`. */
    list(query?: DeliveryQuery): Promise<Page<Delivery>>;
    /** Sends a delivered or dead delivery again, and a pending one now. */
    replay(id: string, options?: ChangeOptions<DeliveryWithAttempts>): Promise<Delivery>;
  };
  readonly erasures: {
    /** Erases a person's data from events. Resolves when it is finished, or after two seconds with its state so far. */
    create(input: ErasureInput): Promise<Erasure>;
    get(id: string): Promise<Erasure>;
  };
  /**
   * Publishes one event, or several with `{events: […]}`, all or none (contract §4.13). The events are durable when it resolves. A `Date`
   * is sent as ISO text. Rejects with a `Refusal` that names the field if a value does not fit into JSON.
   */
  publish(input: PublishInput): Promise<Published>;
};
