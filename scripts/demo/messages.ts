/** What the demo and its receiver, a process of its own, say to each other. */

/** From the demo. The first is `serve`; the receiver answers each with one message of the kind in the comment. */
export type ToReceiver =
  /** `serving` */
  | { readonly kind: 'serve'; readonly certificate: string; readonly privateKey: string }
  /** `expecting` */
  | ({ readonly kind: 'expect' } & Expectation);

/** What the receiver knows of one of its paths. */
export type Expectation = {
  readonly path: string;
  readonly apiKey: string;
  /** The shared secret: deliveries are signed with it, unless they carry a bearer token. */
  readonly secret: string;
  readonly authentication: 'signature' | 'bearer';
  /** Whether the Standard Webhooks signature has to be there as well. */
  readonly standardWebhooks: boolean;
  /** The private half of the key that deliveries are encrypted for, by name; null: nothing is encrypted. */
  readonly decryption: { readonly keyName: string; readonly privateKey: string } | null;
  /** The statuses of the first answers; 204 from then on. */
  readonly answers: readonly number[];
};

/** From the receiver. */
export type FromReceiver =
  | { readonly kind: 'serving'; readonly port: number }
  | { readonly kind: 'expecting'; readonly path: string }
  | { readonly kind: 'challenge'; readonly path: string; readonly token: string; readonly answer: string }
  | { readonly kind: 'token'; readonly path: string; readonly clientId: string; readonly scope: string }
  | ({ readonly kind: 'delivery' } & ReceivedDelivery)
  /** A request that it did not take, and why. */
  | { readonly kind: 'refused'; readonly path: string; readonly reason: string };

/** A delivery that the receiver has verified and read. */
export type ReceivedDelivery = {
  readonly path: string;
  /** Name and value as they came over the wire. */
  readonly headers: readonly (readonly [string, string])[];
  readonly bodyBytes: number;
  readonly signedHeaders: readonly string[];
  readonly encrypted: boolean;
  readonly compressed: boolean;
  /** The envelope as decoded. */
  readonly json: string;
  readonly answered: number;
};

/** Where the receiver's authorization server gives out tokens, and to whom. */
export const TOKEN_PATH = '/oauth/token';
export const OAUTH_CLIENT = { clientId: 'sallyport', clientSecret: 'the receiver knows this', scope: 'events:write' };
