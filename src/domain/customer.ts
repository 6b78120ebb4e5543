/** A customer of the operator, and the links that open its portal (contract §8.1, §8.10). */

/** The limits of a customer. A lower limit keeps existing resources. */
export type CustomerLimits = {
  readonly endpoints: number;
  readonly webhooks: number;
  /** Events a second that are published for the customer, no matter by whom; null: no limit. Events for everyone do not count. */
  readonly eventsPerSecond: number | null;
};

/** A customer that the operator serves. Users, applications, endpoints, keys and webhooks belong to a customer or to the operator. */
export type Customer = {
  readonly id: string;
  readonly name: string;
  /** The operator's own id of the customer. Unique. */
  readonly externalId: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** False: the customer is suspended. Its sessions, applications and tokens are refused, and its webhooks stop. */
  readonly active: boolean;
  readonly limits: CustomerLimits;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** The role of the person who opens a portal link. */
export type LinkRole = 'administrator' | 'viewer';

/** A link that opens the portal of a customer once. Epoch milliseconds. */
export type PortalLink = {
  readonly id: string;
  readonly customerId: string;
  readonly tokenHash: Uint8Array;
  readonly role: LinkRole;
  readonly sessionSeconds: number;
  /** The page of the operator's product to return to. */
  readonly returnUrl: string | null;
  /** Where a browser goes for a new link when the session has ended. */
  readonly renewUrl: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
};
