/** An endpoint, its credentials at an instant, and the result of its last verification. */
import type { Secret } from '../kernel/secret.ts';

/** The result of the last ownership challenge (contract §5.5). */
export type Verification = {
  readonly at: number;
  readonly verified: boolean;
  readonly responseStatus: number | null;
  readonly responseBody: string | null;
  readonly error: string | null;
  /** After a successful handshake: the requests a minute that the receiver allows; null without a limit. */
  readonly allowedPerMinute?: number | null;
  /** The sent value, the expected answer and the received one: tokens, or origins. Results of earlier versions lack it. */
  readonly exchange?: { readonly token: string; readonly wanted: string; readonly came: string | null };
};

export const AUTHENTICATION_METHODS = ['basic', 'bearer', 'header'] as const;

/** `name` is the user name of `basic`, the header of `header`, and null for `bearer`. */
export type Authentication = {
  readonly method: (typeof AUTHENTICATION_METHODS)[number];
  readonly name: string | null;
  readonly secret: Secret;
};

/** A header that every request to an endpoint carries. `secret`: no read shows its value. */
export type RequestHeader = { readonly name: string; readonly value: Secret; readonly secret: boolean };

export const SIGNATURE_TYPES = ['hmac', 'ed25519'] as const;
type SignatureType = (typeof SIGNATURE_TYPES)[number];

export type Endpoint = {
  readonly id: string;
  /** The customer that it belongs to; null: the operator's own. */
  readonly customerId: string | null;
  readonly name: string;
  readonly url: string;
  readonly apiKey: Secret;
  readonly secret: Secret;
  readonly secretCreatedAt: number;
  /** Replaces `secret` from `nextSecretAt` on. */
  readonly nextSecret: Secret | null;
  readonly nextSecretCreatedAt: number | null;
  readonly nextSecretAt: number | null;
  /** How `webhook-signature` is made: with the secret, or with an Ed25519 key of which receivers get the public part. */
  readonly signatureType: SignatureType;
  /** Of `ed25519`: the Base64 of the 32 bytes of each key. Rotated together with the secret. */
  readonly signingKey: Secret | null;
  readonly publicKey: string | null;
  readonly nextSigningKey: Secret | null;
  readonly nextPublicKey: string | null;
  /** From the rotation until then, `webhook-signature` has the signatures of both secrets. */
  readonly secretOverlapEndsAt: number | null;
  /** Replaces `apiKey` from `nextApiKeyAt` on. */
  readonly nextApiKey: Secret | null;
  readonly nextApiKeyAt: number | null;
  readonly sendApiKey: boolean;
  /** The credentials that the receiver expects instead of the signature, or in addition to it. */
  readonly authentication: Authentication | null;
  /** Replaces `authentication` from `nextAuthenticationAt` on. */
  readonly nextAuthentication: Authentication | null;
  readonly nextAuthenticationAt: number | null;
  /** Sent with every request; null for none. */
  readonly requestHeaders: readonly RequestHeader[] | null;
  readonly contentEncoding: 'gzip' | null;
  readonly tokenChallenge: boolean;
  /** Verified by the OPTIONS handshake of CloudEvents in place of the challenge. */
  readonly verification: 'cloudevents' | null;
  /** The requests a minute that the receiver allowed in the handshake; null without a limit. */
  readonly allowedRequestsPerMinute: number | null;
  readonly verified: boolean;
  readonly enabled: boolean;
  /** Nobody disabled it: a successful challenge enables it. */
  readonly enableWhenVerified: boolean;
  readonly oauthClientId: string | null;
  readonly oauthClientSecret: Secret | null;
  readonly oauthTokenUrl: string | null;
  readonly oauthTokenExpirationMinutes: number | null;
  readonly oauthScopes: string | null;
  readonly clientCertificate: string | null;
  readonly clientPrivateKey: Secret | null;
  readonly clientCertificateExpiresAt: number | null;
  /** The last warning given before expiry: 30, 7 or 1 days. */
  readonly clientCertificateWarnedDays: number | null;
  readonly lastVerification: Verification | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** Whether nothing is sent to the endpoint until it is verified. */
export function mustBeVerified({
  tokenChallenge,
  verification,
}: Pick<Endpoint, 'tokenChallenge' | 'verification'>): boolean {
  return tokenChallenge || verification !== null;
}

/** Whether ownership must be verified and is not yet: nothing is sent to the endpoint. */
export function isUnverified(endpoint: Pick<Endpoint, 'tokenChallenge' | 'verification' | 'verified'>): boolean {
  return mustBeVerified(endpoint) && !endpoint.verified;
}

/** The secret that signs at `now`. */
export function signingSecret({ secret, nextSecret, nextSecretAt }: Endpoint, now: number): Secret {
  return effective(secret, nextSecret, nextSecretAt, now);
}

/** When the secret that signs at `now` was created. */
export function signingSecretCreatedAt(endpoint: Endpoint, now: number): number {
  const { secretCreatedAt, nextSecretCreatedAt, nextSecretAt } = endpoint;
  return effective(secretCreatedAt, nextSecretCreatedAt, nextSecretAt, now);
}

/** The secrets that sign `webhook-signature` at `now`: the active one, then the other one during the overlap of a rotation. */
export function standardWebhookSecrets(endpoint: Endpoint, now: number): readonly [Secret, ...Secret[]] {
  const { secret, nextSecret, secretOverlapEndsAt } = endpoint;
  const active = signingSecret(endpoint, now);
  if (nextSecret === null || secretOverlapEndsAt === null || secretOverlapEndsAt <= now) return [active];
  return [active, active === nextSecret ? secret : nextSecret];
}

/** The same of Ed25519: the active private key, then the other one. None without `ed25519`. */
export function signingKeys(endpoint: Endpoint, now: number): readonly Secret[] {
  return inUse(endpoint, endpoint.signingKey, endpoint.nextSigningKey, now);
}

type RotationTimes = Pick<Endpoint, 'nextSecretAt' | 'secretOverlapEndsAt'>;

/** The public keys in use at `now`: the active one, then the other one from the announcement of a rotation to the end of its overlap. */
export function publicKeys(
  endpoint: RotationTimes & Pick<Endpoint, 'publicKey' | 'nextPublicKey'>,
  now: number,
): readonly string[] {
  return inUse(endpoint, endpoint.publicKey, endpoint.nextPublicKey, now);
}

function inUse<T>(
  { nextSecretAt, secretOverlapEndsAt }: RotationTimes,
  current: T | null,
  next: T | null,
  now: number,
): readonly T[] {
  const isActive = next !== null && nextSecretAt !== null && nextSecretAt <= now;
  const [active, other] = isActive ? [next, current] : [current, next];
  const overlaps = secretOverlapEndsAt !== null && now < secretOverlapEndsAt;
  return [active, overlaps ? other : null].filter((one) => one !== null);
}

/** The API key that is sent at `now`. */
export function currentApiKey({ apiKey, nextApiKey, nextApiKeyAt }: Endpoint, now: number): Secret {
  return effective(apiKey, nextApiKey, nextApiKeyAt, now);
}

/** The authentication that is sent at `now`. */
export function currentAuthentication(
  { authentication, nextAuthentication, nextAuthenticationAt }: Endpoint,
  now: number,
): Authentication | null {
  return effective(authentication, nextAuthentication, nextAuthenticationAt, now);
}

/** Whether requests carry more than the service's own headers. Most endpoints have none, and their requests cost nothing more. */
export function hasOwnHeaders({ authentication, requestHeaders }: Endpoint): boolean {
  return authentication !== null || requestHeaders !== null;
}

function effective<T>(current: T, next: NonNullable<T> | null, nextAt: number | null, now: number): T {
  return next !== null && nextAt !== null && nextAt <= now ? next : current;
}

/** The client certificate for mutual TLS. */
export function clientCertificateOf({ clientCertificate, clientPrivateKey }: Endpoint): ClientCertificate | null {
  if (clientCertificate === null || clientPrivateKey === null) return null;
  return { certificate: clientCertificate, privateKey: clientPrivateKey.reveal() };
}

/** For a command that could not reach an endpoint. */
export const OWN_SETTINGS =
  'A command sends with the settings of the running server, or without one with SALLYPORT_EGRESS_ALLOW, ' +
  'SALLYPORT_CUSTOMER_EGRESS_ALLOW, SALLYPORT_EGRESS_PROXY and SALLYPORT_CA_FILE of its own environment.';

/** The client certificate of an endpoint with mutual TLS, both parts in PEM. */
export type ClientCertificate = { readonly certificate: string; readonly privateKey: string };
