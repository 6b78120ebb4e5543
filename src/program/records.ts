/**
 * The results of `Program`'s methods: the same fields as the replies of the API (docs/reference/http-api.md). Instants are ISO 8601 text.
 */
import type { Timings } from '../domain/outcome.ts';
import type { SignatureTemplate } from '../domain/webhook.ts';

/** `items` in order, and the `cursor` of the next page; null on the last one. */
export type Page<Item> = { readonly items: readonly Item[]; readonly nextCursor: string | null };

type Stored = { readonly id: string; readonly createdAt: string; readonly updatedAt: string };
/** `customerId` null: it belongs to the operator. */
type Owned = Stored & { readonly customerId: string | null };

/** The owner of endpoints, webhooks and applications. */
export type Customer = Stored & {
  readonly name: string;
  readonly externalId: string | null;
  readonly metadata: { readonly [name: string]: string };
  readonly active: boolean;
  readonly limits: {
    readonly endpoints: number;
    readonly webhooks: number;
    /** Null: no limit. */
    readonly eventsPerSecond: number | null;
  };
};

/** Good once. Anyone who opens it acts for the customer. */
export type PortalLink = { readonly url: string; readonly expiresAt: string };

/** A short-lived token of a customer, for the HTTP API. */
export type PortalToken = { readonly token: string; readonly expiresAt: string };

/** Counts of a day or a period. */
export type Usage = {
  readonly events: number;
  readonly deliveries: number;
  readonly attempts: number;
  readonly failures: number;
  readonly bytes: number;
  readonly tokens: number;
};

/** The usage of a customer, by day. */
export type CustomerUsage = {
  readonly customerId: string;
  readonly since: string;
  readonly until: string;
  /** Every day of the period, oldest first. */
  readonly items: readonly (Usage & { readonly day: string })[];
  readonly total: Usage;
  /** The limits of the customer, and what it has of them now. */
  readonly limits: {
    readonly endpoints: { readonly count: number; readonly limit: number };
    readonly webhooks: { readonly count: number; readonly limit: number };
    readonly eventsPerSecond: number | null;
  };
};

/** A portal account, and what its applications may do. */
export type User = Owned & {
  readonly userName: string;
  readonly displayName: string | null;
  readonly email: string | null;
  readonly active: boolean;
  readonly role: 'administrator' | 'operator' | 'viewer' | 'service';
  readonly permissions: readonly string[];
  readonly constraints: { readonly divisions?: readonly string[] | undefined };
};

/** A one-time link by which a user sets a password. */
export type Invitation = { readonly url: string; readonly expiresAt: string };

/** A registered application. */
export type Application = Owned & {
  readonly name: string;
  readonly userId: string;
  readonly clientId: string;
  readonly accessTokenValiditySeconds: number;
  readonly scopes: readonly string[];
  readonly active: boolean;
  readonly lastUsedAt: string | null;
  readonly secretCreatedAt: string;
  readonly previousSecretExpiresAt: string | null;
};

/** `clientSecret` is not stored and never returned again. */
export type ApplicationWithSecret = Application & { readonly clientSecret: string };

/** An API with its scopes and rules. */
export type Product = Stored & {
  readonly name: string;
  readonly builtIn: boolean;
  readonly scopes: readonly {
    readonly name: string;
    readonly description: string;
    readonly offered?: boolean | undefined;
  }[];
  readonly rules: readonly {
    readonly methods: readonly string[];
    readonly path: string;
    readonly scope: string;
    readonly permission?: string | undefined;
  }[];
};

/** A kind of event. */
export type EventType = Stored & {
  readonly name: string;
  readonly description: string;
  readonly encryptionRequired: boolean;
  readonly builtIn: boolean;
  readonly dataSchema: { readonly [member: string]: unknown } | null;
  readonly sample: { readonly [member: string]: unknown } | null;
  readonly group: string | null;
  readonly source: string | null;
  readonly deprecated: boolean;
  readonly public: boolean;
  readonly searchPaths: readonly string[];
};

/** Where deliveries go. */
export type Endpoint = Owned & {
  readonly name: string;
  readonly url: string;
  readonly apiKey: string;
  readonly contentEncoding: 'gzip' | null;
  readonly tokenChallenge: boolean;
  readonly verification: 'cloudevents' | null;
  /** The rate that the receiver allowed in the handshake of CloudEvents; null without a bound. */
  readonly allowedRequestsPerMinute: number | null;
  readonly verified: boolean;
  readonly enabled: boolean;
  readonly oauth: {
    readonly clientId: string;
    readonly tokenUrl: string;
    readonly tokenExpirationMinutes: number;
    readonly scopes: string | null;
  } | null;
  readonly signatureType: 'hmac' | 'ed25519';
  /** `whpk_` and Base64. */
  readonly publicKey: string | null;
  readonly nextPublicKey: string | null;
  readonly sendApiKey: boolean;
  /** Secrets are null. */
  readonly authentication: {
    readonly method: 'basic' | 'bearer' | 'header';
    readonly userName?: string | undefined;
    readonly password?: null | undefined;
    readonly token?: null | undefined;
    readonly name?: string | undefined;
    readonly value?: null | undefined;
    readonly hasSecret: true;
  } | null;
  readonly authenticationActivatesAt: string | null;
  readonly requestHeaders: readonly {
    readonly name: string;
    readonly value: string | null;
    readonly secret: boolean;
  }[];
  readonly clientCertificate: { readonly certificate: string; readonly expiresAt: string } | null;
  readonly secretCreatedAt: string;
  readonly secretActivatesAt: string | null;
  readonly secretOverlapEndsAt: string | null;
  readonly nextApiKey: string | null;
  readonly apiKeyActivatesAt: string | null;
  readonly lastVerification: {
    readonly at: string;
    readonly verified: boolean;
    readonly responseStatus: number | null;
    readonly responseBody: string | null;
    readonly error: string | null;
  } | null;
};

/** `secret` is never returned again. */
export type EndpointWithSecret = Endpoint & { readonly secret: string };

/** A PGP public key. */
export type Key = Owned & {
  readonly name: string;
  readonly publicKey: string;
  readonly fingerprint: string;
  readonly algorithm: string;
  readonly expiresAt: string | null;
  readonly expired: boolean;
};

/** Which events go where, and how that is going. */
export type Webhook = Owned & {
  readonly name: string;
  readonly mode: 'push' | 'pull';
  readonly endpointId: string | null;
  readonly eventTypes: readonly string[];
  readonly filter: { readonly [condition: string]: unknown } | null;
  readonly format: 'records' | 'standard' | 'cloudevents' | 'cloudevents-binary';
  /** Several CloudEvents in one body. */
  readonly batch: boolean;
  /** Bodies have a `url` in place of the data. */
  readonly thin: boolean;
  readonly customHeaders: readonly { readonly name: string; readonly value: string }[];
  readonly encryptionKeyName: string | null;
  readonly ordered: boolean | 'key';
  readonly maxBatchRecords: number;
  readonly maxRecordsPerSecond: number | null;
  readonly retry: {
    readonly policy: 'exponential' | 'linear' | 'schedule';
    /** Absent with a schedule. */
    readonly maxAttempts?: number | undefined;
    /** Only with a schedule. */
    readonly delaysSeconds?: readonly number[] | undefined;
  };
  readonly standardWebhooks: boolean;
  readonly signature: (SignatureTemplate & { readonly warnings: readonly string[] }) | null;
  readonly heartbeatSeconds: number;
  readonly timeoutSeconds: number;
  readonly state: 'stopped' | 'started' | 'running' | 'failing' | 'failed';
  readonly stateReason: string | null;
  readonly stateDescription: string | null;
  readonly stateChangedAt: string;
  readonly sessionId: string | null;
};

/** A signature for a sample. */
export type SignaturePreview = {
  readonly header: string;
  readonly value: string;
  readonly headers: { readonly [name: string]: string };
  /** The exact bytes that are signed, in Base64. */
  readonly signedBase64: string;
  /** The same as text; null if they are not UTF-8. */
  readonly signedText: string | null;
  readonly bodyBase64: string;
  readonly timestamp: number;
  readonly id: string;
  readonly warnings: readonly string[];
};

/** How many records are due again. */
export type Replayed = { readonly replayed: number };

/** How many records are dead now. */
export type GivenUp = { readonly givenUp: number };

/** A key of a webhook whose records wait. */
export type WaitingKey = {
  readonly orderingKey: string;
  readonly waitingRecords: number;
  readonly firstOffset: number;
  readonly attemptCount: number;
  readonly nextAttemptAt: string | null;
  readonly responseStatus: number | null;
  readonly errorClass: string | null;
  readonly error: string | null;
};

/** Which of the latest events would pass a filter, newest first. */
export type FilterPreview = {
  readonly judged: number;
  readonly passed: number;
  readonly items: readonly {
    readonly eventId: string;
    readonly eventType: string;
    readonly createdAt: string;
    readonly passes: boolean;
    readonly reasons: readonly string[];
  }[];
};

/** Records as the body of a delivery, with the headers of its encoding. `sallyport/receiver` opens encrypted ones. */
export type RecordsBody = { readonly bytes: Uint8Array; readonly headers: { readonly [name: string]: string } };

/** How far the records of a webhook are acknowledged. */
export type Acknowledged = {
  readonly acknowledged: number;
  readonly acknowledgedOffset: number;
  readonly newestOffset: number;
};

/** One event in a webhook's log, and whether it has arrived. */
export type Delivery = Stored & {
  readonly webhookId: string;
  readonly eventId: string;
  readonly eventType: string;
  /** Null without one, and after an erasure. */
  readonly orderingKey: string | null;
  readonly offset: number;
  readonly state: 'pending' | 'delivered' | 'dead' | 'discarded';
  readonly attemptCount: number;
  readonly nextAttemptAt: string | null;
  readonly settledAt: string | null;
};

/** One request to a receiver, and its result. */
export type Attempt = {
  readonly id: string;
  readonly kind: 'delivery' | 'heartbeat' | 'test';
  readonly attemptNumber: number;
  readonly startedAt: string;
  readonly batchId: string | null;
  /** As sent, secrets masked. */
  readonly requestHeaders: { readonly [name: string]: string };
  readonly responseStatus: number | null;
  readonly responseHeaders: { readonly [name: string]: string } | null;
  /** The first 4 KiB. */
  readonly responseBody: string | null;
  readonly responseProblem: string | null;
  readonly delivered: boolean;
  readonly errorClass: string | null;
  readonly error: string | null;
  readonly advice: string | null;
  readonly timings: Timings;
};

export type DeliveryWithAttempts = Delivery & { readonly attempts: readonly Attempt[] };

/** The result of a publication: one entry for each event, in order. */
export type Published = {
  readonly accepted: number;
  /** Events whose idempotency key was used before with the same content. */
  readonly duplicates: number;
  readonly events: readonly { readonly id: string; readonly duplicate: boolean }[];
};

/** The progress of an erasure. */
export type Erasure = {
  readonly id: string;
  readonly subject: string;
  readonly state: 'overwriting' | 'removing_copies' | 'finished';
  readonly events: number;
  readonly deliveriesDiscarded: number;
  readonly attempts: number;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** A note about copies that the service cannot reach. */
  readonly backups: string;
};
