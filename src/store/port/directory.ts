/**
 * Reads for the portal's lists: webhooks, endpoints, applications and users, newest first and filtered, with what each list shows beside a
 * row.
 */
import type { Application } from '../../domain/application.ts';
import type { Endpoint } from '../../domain/endpoint.ts';
import type { Audience } from '../../domain/event.ts';
import type { Role, User } from '../../domain/user.ts';
import type { Webhook, WebhookState } from '../../domain/webhook.ts';

/**
 * All given conditions must hold. `text` matches names and endpoint URLs, ignoring ASCII case. `customerId`, here and below: of this
 * customer.
 */
export type WebhookFilter = {
  readonly customerId?: string;
  readonly state?: WebhookState;
  /** With problems: failing, failed, or stopped by something else than people. */
  readonly troubled?: 'yes';
  /** Subscribes to this event type, by its name, its category or `*`. */
  readonly eventType?: string;
  readonly endpointId?: string;
  readonly keyName?: string;
  /** A part of the name. */
  readonly text?: string;
  /** The whole name. Neither it nor `text` distinguishes upper and lower case. */
  readonly name?: string;
};

type EndpointFilter = {
  readonly customerId?: string;
  readonly text?: string;
  /** `problems`: ownership is to be verified, or a webhook with problems sends there. */
  readonly state?: 'problems' | 'enabled' | 'disabled';
};

/** The fields that a choice of endpoints shows, without secrets. */
export type EndpointName = Pick<Endpoint, 'id' | 'name' | 'enabled' | 'tokenChallenge' | 'verified'>;

export type WebhookListing = {
  readonly webhook: Webhook;
  /** Null in mode `pull`. */
  readonly endpointName: string | null;
  /** Also true in mode `pull`, where no endpoint keeps the webhook from starting. */
  readonly endpointEnabled: boolean;
  /** Waiting records, including those in flight or waiting for a retry. */
  readonly pendingRecords: number;
};

export type WebhookName = { readonly id: string; readonly name: string };

/** A webhook as the page of its endpoint shows it. */
export type EndpointWebhook = Omit<Use, 'filter'> & {
  readonly endpointId: string;
  readonly webhookNumber: number;
  readonly stateReason: string | null;
  readonly failingSinceAt: number | null;
  /** As in a `WebhookListing`. */
  readonly pendingRecords: number;
};

/** Webhooks and endpoints. */
export type DirectoryStore = {
  /** `before`: the id of the previous page's last row; null begins with the newest. */
  webhooks(filter: WebhookFilter, before: string | null, limit: number): Promise<WebhookListing[]>;
  /** One row of that list, or null. */
  webhook(id: string): Promise<WebhookListing | null>;
  /** The webhooks with these numbers. Numbers of none are absent. */
  webhookNames(numbers: readonly number[]): Promise<ReadonlyMap<number, WebhookName>>;
  /** The time of a webhook's oldest waiting record, or null. */
  oldestWaitingAt(webhookNumber: number): Promise<number | null>;
  /** The number of dead records of each webhook, in up to `batches` batches; `isWhole` if there are no further batches. */
  deadRecords(
    webhookNumbers: readonly number[],
    batches: number,
  ): Promise<ReadonlyMap<number, { readonly records: number; readonly isWhole: boolean }>>;
  /** The number of webhooks by state, without states that have none: of a customer, or of all with null. */
  states(customerId: string | null): Promise<Readonly<Partial<Record<WebhookState, number>>>>;
  endpoints(filter: EndpointFilter, before: string | null, limit: number): Promise<Endpoint[]>;
  /** The number of endpoints that fit, at most `limit`. */
  countEndpoints(filter: EndpointFilter, limit: number): Promise<number>;
  /** The webhooks of endpoints, newest first, at most `limit` in total. */
  webhooksOf(endpointIds: readonly string[], limit: number): Promise<EndpointWebhook[]>;
  /** For a choice of endpoints, ordered by name: of a customer ('' is the operator), or of all with null. */
  endpointNames(customerId: string | null, limit: number): Promise<EndpointName[]>;
};

/** All given conditions must hold. `text` matches names and client ids, ignoring ASCII case. */
type ApplicationFilter = {
  readonly customerId?: string;
  readonly text?: string;
  readonly userId?: string;
  readonly scope?: string;
};

type UserFilter = {
  readonly customerId?: string;
  readonly text?: string;
  readonly role?: Role;
  readonly state?: 'active';
};

export type ApplicationListing = {
  readonly application: Application;
  readonly userName: string;
  readonly userActive: boolean;
};

export type UserListing = { readonly user: User; readonly applications: number };

/** Applications and users. */
export type RegistryStore = {
  /** `before`: the id of the previous page's last row; null begins with the newest. */
  applications(filter: ApplicationFilter, before: string | null, limit: number): Promise<ApplicationListing[]>;
  users(filter: UserFilter, before: string | null, limit: number): Promise<UserListing[]>;
};

export type Use = {
  readonly id: string;
  readonly name: string;
  readonly state: WebhookState;
  readonly filter: Webhook['filter'];
};

/** The number of webhooks and the first few in order of creation. */
export type Uses = { readonly count: number; readonly first: readonly Use[] };

/** A webhook that subscribes to an event type. */
export type Subscriber = Pick<Webhook, 'id' | 'name' | 'customerId' | 'filter' | 'createdAt' | 'updatedAt'> & {
  readonly state: WebhookState;
};

/** `total` and `ofCustomers` count unlisted ones too. */
type Subscribers = {
  readonly first: readonly Subscriber[];
  readonly total: number;
  readonly ofCustomers: number;
};

/** Which webhooks use an endpoint, a key or an event type, for many of them in one call. */
export type UseStore = {
  /** By endpoint id; unused endpoints are absent. */
  ofEndpoints(ids: readonly string[]): Promise<ReadonlyMap<string, Uses>>;
  /** By key id. */
  ofKeys(ids: readonly string[]): Promise<ReadonlyMap<string, Uses>>;
  /** By pattern. A webhook with `order.*` does not count for `order.created`. */
  ofPatterns(patterns: readonly string[]): Promise<ReadonlyMap<string, Uses>>;
  /** By event type, of a customer, or of all with null. A webhook with a wildcard counts for every matching type. */
  ofEventTypes(names: readonly string[], customerId: string | null): Promise<ReadonlyMap<string, Uses>>;
  /** The webhooks that subscribe to an event type: first the operator's own and those of the audience. At most `limit` are listed. */
  subscribers(type: string, audience: Audience, limit: number): Promise<Subscribers>;
};

export const NO_USES: Uses = { count: 0, first: [] };
