/**
 * The input of the methods of `Program`. The fields mean the same as in the API (docs/reference/http-api.md). Fields that are optional have
 * the defaults of the API. Instants are ISO 8601 text with a time zone.
 */

/** `null` or absent: the operator's own. Fixed at creation. */
type OfCustomer = { readonly customerId?: string | null | undefined };

/** The fields of a customer that you may set. */
export type CustomerInput = {
  readonly name: string;
  /** Your own id of the customer. Unique. */
  readonly externalId?: string | null | undefined;
  readonly metadata?: { readonly [name: string]: string } | undefined;
  /** False suspends the customer: its applications and tokens are refused, and its webhooks stop. */
  readonly active?: boolean | undefined;
  readonly limits?:
    | {
        readonly endpoints?: number | null | undefined;
        readonly webhooks?: number | null | undefined;
        /** `null`: no limit. */
        readonly eventsPerSecond?: number | null | undefined;
      }
    | undefined;
};

/** Who opens the portal of a customer, and for how long. */
export type PortalLinkInput = {
  readonly role: 'administrator' | 'viewer';
  /** How long the link can be opened. */
  readonly expiresInSeconds?: number | undefined;
  /** How long the session lasts that it opens. */
  readonly sessionSeconds?: number | undefined;
  /** Where the portal leads back to: a page of your product. */
  readonly returnUrl?: string | null | undefined;
  /** Where a browser goes when its session has ended: a page of your product that makes a new link and opens it. */
  readonly renewUrl?: string | null | undefined;
};

/** The rights of a token for a customer, and its lifetime. */
export type PortalTokenInput = {
  readonly role: 'administrator' | 'viewer';
  /** How long it is valid: 60 to 3600, default 900. */
  readonly expiresInSeconds?: number | undefined;
};

/** Days in UTC, such as `2026-11-21`. Both are part of the period. By default the last 30 days. */
export type UsagePeriod = { readonly since?: string | undefined; readonly until?: string | undefined };

/** The fields of a user that you may set. */
export type UserInput = OfCustomer & {
  readonly userName: string;
  readonly displayName?: string | null | undefined;
  readonly email?: string | null | undefined;
  readonly active?: boolean | undefined;
  /** The role in the portal. `service`, the default, cannot sign in. */
  readonly role?: 'administrator' | 'operator' | 'viewer' | 'service' | undefined;
  readonly permissions?: readonly string[] | undefined;
  readonly constraints?: { readonly divisions?: readonly string[] | undefined } | undefined;
};

/** The fields of an application that you may set. */
export type ApplicationInput = OfCustomer & {
  readonly name: string;
  /** The user that it acts as. */
  readonly userId: string;
  readonly accessTokenValiditySeconds?: number | null | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly active?: boolean | undefined;
};

/** How long the replaced secret stays valid, and whether tokens are revoked. */
export type RegenerateSecretInput = {
  /** How long the replaced secret still counts. Default: 0. */
  readonly overlapSeconds?: number | undefined;
  /** Refuses every token issued so far, too. */
  readonly revokeTokens?: boolean | undefined;
};

/** An API with its scopes, and the rules that say which request needs which scope. */
export type ProductInput = {
  readonly name: string;
  readonly scopes?:
    | readonly {
        readonly name: string;
        readonly description?: string | undefined;
        /** Administrators of customers may give it to the applications of their customer. */
        readonly offered?: boolean | undefined;
      }[]
    | undefined;
  readonly rules?:
    | readonly {
        readonly methods: readonly string[];
        readonly path: string;
        readonly scope: string;
        /** Default: the permission with the scope's name. */
        readonly permission?: string | undefined;
      }[]
    | undefined;
};

/** The fields of an event type that you may set. `name` cannot be changed. */
export type EventTypeInput = {
  readonly name: string;
  readonly description?: string | undefined;
  readonly encryptionRequired?: boolean | undefined;
  /** A JSON Schema that the `data` of such events must satisfy. */
  readonly dataSchema?: { readonly [member: string]: unknown } | null | undefined;
  /** The `data` of an example. */
  readonly sample?: { readonly [member: string]: unknown } | null | undefined;
  readonly group?: string | null | undefined;
  /** The `source` of its CloudEvents, a URI reference. Default: the public address of Sallyport. */
  readonly source?: string | null | undefined;
  readonly deprecated?: boolean | undefined;
  /** Whether everyone sees it in the event catalogue, and webhooks of customers get it. Default: true. */
  readonly public?: boolean | undefined;
  /** Paths such as `data.orderId`: the portal finds its events by the values there. At most 5. */
  readonly searchPaths?: readonly string[] | undefined;
};

/** The settings of an endpoint that you can change. `rotateSecret` changes `secret`. */
export type EndpointInput = OfCustomer & {
  readonly name: string;
  readonly url: string;
  /** Sent as `X-Api-Key`. Made if absent. */
  readonly apiKey?: string | undefined;
  /** Signs the deliveries. Made if absent. */
  readonly secret?: string | undefined;
  readonly contentEncoding?: 'gzip' | null | undefined;
  /** The endpoint must answer a challenge before it is enabled. */
  readonly tokenChallenge?: boolean | undefined;
  /** In place of `tokenChallenge`: the OPTIONS handshake of CloudEvents. */
  readonly verification?: 'cloudevents' | null | undefined;
  readonly enabled?: boolean | undefined;
  readonly oauth?:
    | {
        readonly clientId: string;
        readonly clientSecret: string;
        readonly tokenUrl: string;
        readonly tokenExpirationMinutes?: number | undefined;
        readonly scopes?: string | null | undefined;
      }
    | null
    | undefined;
  /** How `webhook-signature` of Standard Webhooks is made. Default: `hmac`. */
  readonly signatureType?: 'hmac' | 'ed25519' | undefined;
  /** Whether requests have `X-Api-Key`. Default: true. */
  readonly sendApiKey?: boolean | undefined;
  /** The credentials that the receiver expects in place of the signature, or with `header` beside it. */
  readonly authentication?: AuthenticationInput | null | undefined;
  /** Sent with every request. The value of a secret header is never returned. */
  readonly requestHeaders?:
    | readonly {
        readonly name: string;
        readonly value?: string | null | undefined;
        readonly secret?: boolean | undefined;
      }[]
    | undefined;
  /** For mutual TLS, both in PEM. */
  readonly clientCertificate?: { readonly certificate: string; readonly privateKey: string } | null | undefined;
};

/** `basic` has `userName` and `password`, `bearer` has `token`, and `header` has `name` and `value`. */
type AuthenticationInput = {
  readonly method: 'basic' | 'bearer' | 'header';
  readonly userName?: string | null | undefined;
  readonly password?: string | null | undefined;
  readonly token?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly value?: string | null | undefined;
  /** As reads have it. Ignored. */
  readonly hasSecret?: boolean | undefined;
};

/** The new authentication, and when it begins to be sent. */
export type RotateAuthenticationInput = {
  readonly authentication: AuthenticationInput;
  /** How long the old one is still sent. Default: 0. */
  readonly activateAfterSeconds?: number | undefined;
};

/** The new secret, and when it begins to sign. */
export type RotateSecretInput = {
  /** Made if absent. */
  readonly secret?: string | undefined;
  /** How long the old one still signs. Default: 0. */
  readonly activateAfterSeconds?: number | undefined;
  /** How long after that `webhook-signature` has the signatures of both. Default: 0. */
  readonly overlapSeconds?: number | undefined;
};

/** The new API key, and when it begins to be sent. */
export type RotateApiKeyInput = {
  /** Made if absent. */
  readonly apiKey?: string | undefined;
  /** How long the old one is still sent. Default: 0. */
  readonly activateAfterSeconds?: number | undefined;
};

/** A PGP public key under a name that webhooks refer to. */
export type KeyInput = OfCustomer & {
  readonly name: string;
  /** ASCII armor. */
  readonly publicKey: string;
};

/** A preset, or a template with `{body}`, `{timestamp}`, `{id}`, `{url}`, `{path}` and, once in `value`, `{signature}`. */
type SignatureInput = {
  readonly preset?: 'github' | 'stripe' | 'shopify' | 'slack' | null | undefined;
  readonly header?: string | null | undefined;
  readonly algorithm?: 'sha256' | 'sha512' | 'sha1' | null | undefined;
  readonly encoding?: 'hex' | 'base64' | null | undefined;
  readonly value?: string | null | undefined;
  readonly content?: string | null | undefined;
  readonly key?: 'text' | 'decoded' | 'prefixed' | null | undefined;
  readonly repeat?: string | null | undefined;
  readonly timestampHeader?: string | null | undefined;
  readonly idHeader?: string | null | undefined;
  /** As reads have it. Ignored. */
  readonly warnings?: readonly string[] | undefined;
};

/** Which signature to preview, and of which sample. */
export type SignaturePreviewInput = {
  /** Instead of that of the webhook. */
  readonly signature?: SignatureInput | null | undefined;
  /** Default: a `webhook.test` record. */
  readonly eventType?: string | null | undefined;
};

/** The fields of a webhook that you may set. `mode` cannot be changed. */
export type WebhookInput = OfCustomer & {
  readonly name: string;
  readonly mode?: 'push' | 'pull' | undefined;
  /** Where the records are sent. Required in mode `push`, null in mode `pull`. */
  readonly endpointId?: string | null | undefined;
  /** Names of event types, `<category>.*` or `*`. */
  readonly eventTypes: readonly string[];
  /** Which events of these types it gets. */
  readonly filter?: { readonly [condition: string]: unknown } | null | undefined;
  /** The form of a body. Default: `records`. All others carry one event a request and have no heartbeat. */
  readonly format?: 'records' | 'standard' | 'cloudevents' | 'cloudevents-binary' | undefined;
  /** Several CloudEvents in one body. Only with the format `cloudevents`. */
  readonly batch?: boolean | undefined;
  /** Bodies have a `url` in place of the data. Not with the format `records`. */
  readonly thin?: boolean | undefined;
  readonly customHeaders?: readonly { readonly name: string; readonly value: string }[] | undefined;
  readonly encryptionKeyName?: string | null | undefined;
  /** True: one batch at a time. `key`: events of one `orderingKey` one after another. Default: false. */
  readonly ordered?: boolean | 'key' | undefined;
  readonly maxBatchRecords?: number | undefined;
  readonly maxRecordsPerSecond?: number | null | undefined;
  readonly retry?:
    | {
        readonly policy?: 'exponential' | 'linear' | 'schedule' | undefined;
        readonly maxAttempts?: number | undefined;
        /** The waits of a schedule. */
        readonly delaysSeconds?: readonly number[] | undefined;
      }
    | undefined;
  readonly standardWebhooks?: boolean | undefined;
  /** A signature as another product makes it, beside the others. */
  readonly signature?: SignatureInput | null | undefined;
  readonly heartbeatSeconds?: number | undefined;
  readonly timeoutSeconds?: number | undefined;
};

/** Which records to send again: those of events at or after `since` and before `until`. Without a range, the dead ones. */
export type ReplayInput = {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly states?: readonly ('delivered' | 'dead')[] | undefined;
  readonly orderingKey?: string | undefined;
};

/** The key whose waiting records are given up. */
export type GiveUpInput = { readonly orderingKey: string };

/** A filter, and how many of the latest events it judges. */
export type FilterPreviewInput = {
  readonly filter?: { readonly [condition: string]: unknown } | null | undefined;
  readonly limit?: number | undefined;
};

export type RecordsQuery = {
  /** The offset of the last record that you have. Default: -1; in mode `pull`, the last acknowledged one. */
  readonly after?: number | null | undefined;
  readonly limit?: number | undefined;
  /** How many seconds to wait for the next record if there is none. Default: 0. */
  readonly wait?: number | undefined;
};

/** Which records a reader of a webhook in mode `pull` has processed. */
export type AcknowledgeInput = { readonly throughOffset: number };

/** Whose data to erase: the `subject` of the events. */
export type ErasureInput = { readonly subject: string };

/** A page of a list, in order of creation unless `sort` says otherwise. */
export type PageQuery = {
  /** How many items at most. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before, in the same order. */
  readonly cursor?: string | null | undefined;
};

/** `customerId`: `null` is the operator; absent, the list has those of all. */
type OwnedQuery = PageQuery & { readonly customerId?: string | null | undefined };

/** All given fields must be equal. A hyphen reverses the order. */
export type CustomerQuery = PageQuery & {
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
  readonly active?: boolean | undefined;
  readonly sort?: 'createdAt' | '-createdAt' | 'name' | '-name' | undefined;
};

export type UserQuery = OwnedQuery & {
  readonly userName?: string | undefined;
  readonly role?: 'administrator' | 'operator' | 'viewer' | 'service' | undefined;
  readonly active?: boolean | undefined;
  readonly sort?: 'createdAt' | '-createdAt' | 'userName' | '-userName' | undefined;
};

export type ApplicationQuery = OwnedQuery & {
  readonly clientId?: string | undefined;
  readonly name?: string | undefined;
  readonly userId?: string | undefined;
  readonly active?: boolean | undefined;
  readonly sort?: 'createdAt' | '-createdAt' | 'name' | '-name' | 'lastUsedAt' | '-lastUsedAt' | undefined;
};

export type EndpointQuery = OwnedQuery & {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly sort?: 'createdAt' | '-createdAt' | 'name' | '-name' | undefined;
};

export type KeyQuery = OwnedQuery & { readonly sort?: 'createdAt' | '-createdAt' | undefined };

export type WebhookQuery = OwnedQuery & {
  readonly endpointId?: string | undefined;
  readonly mode?: 'push' | 'pull' | undefined;
  readonly state?: 'stopped' | 'started' | 'running' | 'failing' | 'failed' | undefined;
  readonly eventType?: string | undefined;
  readonly sort?: 'createdAt' | '-createdAt' | 'name' | '-name' | undefined;
};

export type DeliveryQuery = PageQuery & {
  /** Only deliveries to webhooks of this customer. */
  readonly customerId?: string | undefined;
  readonly webhookId?: string | undefined;
  readonly state?: 'pending' | 'delivered' | 'dead' | 'discarded' | undefined;
  readonly eventType?: string | undefined;
  /** Only events with this ordering key. */
  readonly orderingKey?: string | undefined;
  /** Of events from then on. */
  readonly since?: string | undefined;
  /** Of events before then. */
  readonly until?: string | undefined;
};
