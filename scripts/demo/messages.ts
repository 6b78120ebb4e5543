/** The messages between the demo and the process of its receiver. */

/** From the demo. The first message is `serve`. The comments name the kind of the receiver's reply. */
export type ToReceiver =
  /** `serving` */
  | { readonly kind: 'serve'; readonly certificate: string; readonly privateKey: string }
  /** `expecting` */
  | ({ readonly kind: 'expect' } & Expectation);

/** The receiver's configuration of a path. */
export type Expectation = {
  readonly path: string;
  readonly apiKey: string;
  /** The shared secret, which signs deliveries without a bearer token. */
  readonly secret: string;
  readonly authentication: 'signature' | 'bearer';
  /** Whether deliveries must also have the signature of Standard Webhooks. */
  readonly standardWebhooks: boolean;
  /** The private key for encrypted deliveries, with its name; null if nothing is encrypted. */
  readonly decryption: { readonly keyName: string; readonly privateKey: string } | null;
  /** The statuses of the first responses. Later ones are 204. */
  readonly answers: readonly number[];
};

/** From the receiver. */
export type FromReceiver =
  | { readonly kind: 'serving'; readonly port: number }
  | { readonly kind: 'expecting'; readonly path: string }
  | { readonly kind: 'challenge'; readonly path: string; readonly token: string; readonly answer: string }
  | { readonly kind: 'token'; readonly path: string; readonly clientId: string; readonly scope: string }
  | ({ readonly kind: 'delivery' } & ReceivedDelivery)
  /** A refused request, and why. */
  | { readonly kind: 'refused'; readonly path: string; readonly reason: string };

/** A delivery that the receiver has verified and decoded. */
export type ReceivedDelivery = {
  readonly path: string;
  /** Names and values as received. */
  readonly headers: readonly (readonly [string, string])[];
  readonly bodyBytes: number;
  readonly signedHeaders: readonly string[];
  readonly encrypted: boolean;
  readonly compressed: boolean;
  /** The decoded envelope. */
  readonly json: string;
  readonly answered: number;
};

/** The token endpoint of the receiver's authorization server, and its client. */
export const TOKEN_PATH = '/oauth/token';
export const OAUTH_CLIENT = { clientId: 'sallyport', clientSecret: 'the receiver knows this', scope: 'events:write' };
