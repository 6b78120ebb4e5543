/** Customers, the resources that belong to them, and the links that open their portals. */

import type { AuditEntry } from '../../domain/audit.ts';
import type { Customer, PortalLink } from '../../domain/customer.ts';
import type { Session } from '../../domain/user.ts';
import type { Statement } from './database.ts';
import type { ResourceStore } from './resource.ts';
import type { AllowanceStore, UsageStore } from './usage.ts';
import type { WebhookStart } from './webhooks.ts';

/** The resources that belong to customers, by their tables. */
export type OwnedTable = 'user_account' | 'application' | 'endpoint' | 'pgp_key' | 'webhook';

/** A customer that something belongs to. */
export type OwnerName = { readonly id: string; readonly name: string };

/** The tables of resources whose number a customer may have a limit of. */
export type LimitedTable = 'endpoint' | 'webhook';

/** The number of a customer's resources of each kind. */
export type Belongings = { readonly [Kind in 'users' | 'applications' | 'endpoints' | 'keys' | 'webhooks']: number };

/** All given conditions must hold. */
type CustomerSearch = {
  /** A part of the name or of the external id, or the id. */
  readonly text?: string;
  /** The whole name. Neither it nor `text` distinguishes upper and lower case. */
  readonly name?: string;
  readonly active?: boolean;
  /** Has a webhook with problems. */
  readonly troubled?: boolean;
};

/** How a customer is doing, for the list of customers. */
export type CustomerHealth = {
  /** Webhooks with problems: failing, failed, or stopped by something else than people. */
  readonly troubled: number;
  /** Waiting records of all its webhooks, including those in flight or waiting for a retry. */
  readonly pending: number;
  /** The last day with events, deliveries or tokens; null if there was none, or if it is no longer kept. */
  readonly lastDay: string | null;
};

/** Customers (`customer`). */
export type CustomerStore = Omit<ResourceStore<Customer>, 'update'> & {
  getByExternalId(externalId: string): Promise<Customer | null>;
  /**
   * Writes the customer, and stops or starts webhooks in the same transaction. If `active` changes, the customer's sessions, portal links,
   * invitations and tokens end. Throws `StaleWrite` if any of the records has changed, or a webhook of a suspended customer would run.
   */
  update(
    customer: Customer,
    before: Customer,
    audit: AuditEntry,
    first?: readonly Statement[],
    changes?: readonly WebhookStart[],
  ): Promise<void>;
  /** Newest first. `before`: the id of the previous page's last row. */
  search(wanted: CustomerSearch, before: string | null, limit: number): Promise<Customer[]>;
  /** By id: the names of customers. Unknown ids are absent. */
  names(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** By the id of a record: the customer that it belongs to. Records of the operator, and unknown ids, are absent. */
  ownersOf(table: OwnedTable, ids: readonly string[]): Promise<ReadonlyMap<string, OwnerName>>;
  /** By id: how much belongs to each. */
  belongings(ids: readonly string[]): Promise<ReadonlyMap<string, Belongings>>;
  /** By id: how each is doing. */
  health(ids: readonly string[]): Promise<ReadonlyMap<string, CustomerHealth>>;
  /** Whether a row belongs to the customer. Takes the same time for a row of someone else and for none. */
  owns(customerId: string, table: OwnedTable, id: string): Promise<boolean>;
  /** By id: the numbers of each customer's webhooks. */
  webhookNumbersOf(ids: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>>;
  /** The numbers of the customer's webhooks with their ids, newest first. */
  webhookNumbers(customerId: string): Promise<ReadonlyMap<number, string>>;
};

/** Portal links (`portal_link`). */
export type PortalLinkStore = {
  /** Keeps a link and deletes some expired ones. Throws `StaleWrite` if the customer is not active. */
  add(link: PortalLink, audit: AuditEntry, first?: readonly Statement[]): Promise<void>;
  /** Keeps a portal token, which is a session of the method `token`. Throws `StaleWrite` if the customer is not active. */
  addToken(session: Session, audit: AuditEntry, first?: readonly Statement[]): Promise<void>;
  /** The link with this token if it can be used: not used, not expired, of an active customer. */
  find(tokenHash: Uint8Array, now: number): Promise<PortalLink | null>;
  /** The `renewUrl` of the link with this token, also of one that was used; null without one, or for an unknown link. */
  renewUrl(tokenHash: Uint8Array): Promise<string | null>;
  /** Uses the link and begins the session. Throws `StaleWrite` if the link has already been used. */
  use(link: PortalLink, session: Session, audit: AuditEntry): Promise<void>;
};

export type CustomerVerbs = {
  readonly customers: CustomerStore;
  readonly portalLinks: PortalLinkStore;
  readonly usage: UsageStore;
  readonly allowances: AllowanceStore;
};
