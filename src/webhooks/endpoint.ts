/** An endpoint, and the result of its last verification. */
import type { Secret } from '../kernel/secret.ts';

/** What the last ownership challenge brought (contract §5). */
export type Verification = {
  readonly at: number;
  readonly verified: boolean;
  readonly responseStatus: number | null;
  readonly responseBody: string | null;
  readonly error: string | null;
  /** The token that was sent, the answer to it that was wanted, and the one that came; what was kept by earlier versions lacks it. */
  readonly exchange?: { readonly token: string; readonly wanted: string; readonly came: string | null };
};

export type Endpoint = {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly apiKey: Secret;
  readonly secret: Secret;
  readonly secretCreatedAt: number;
  /** Signs in place of `secret` from `nextSecretAt` on. */
  readonly nextSecret: Secret | null;
  readonly nextSecretCreatedAt: number | null;
  readonly nextSecretAt: number | null;
  /** Until then, and from the rotation on, `webhook-signature` has the signatures of both. */
  readonly secretOverlapEndsAt: number | null;
  /** Is sent in place of `apiKey` from `nextApiKeyAt` on. */
  readonly nextApiKey: Secret | null;
  readonly nextApiKeyAt: number | null;
  readonly contentEncoding: 'gzip' | null;
  readonly tokenChallenge: boolean;
  readonly verified: boolean;
  readonly enabled: boolean;
  /** Nobody asked for it to be off: it is switched on when its challenge succeeds. */
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

/** The secret that signs at `now`: the rotated one once its time has come. */
export function signingSecret({ secret, nextSecret, nextSecretAt }: Endpoint, now: number): Secret {
  return effective(secret, nextSecret, nextSecretAt, now);
}

/** When the secret was made that signs at `now`. */
export function signingSecretCreatedAt(endpoint: Endpoint, now: number): number {
  const { secretCreatedAt, nextSecretCreatedAt, nextSecretAt } = endpoint;
  return nextSecretCreatedAt !== null && nextSecretAt !== null && nextSecretAt <= now
    ? nextSecretCreatedAt
    : secretCreatedAt;
}

/** The secrets whose signatures Standard Webhooks' receivers get at `now`: the active one first, then the other one of a rotation. */
export function standardWebhookSecrets(endpoint: Endpoint, now: number): readonly [Secret, ...Secret[]] {
  const { secret, nextSecret, secretOverlapEndsAt } = endpoint;
  const active = signingSecret(endpoint, now);
  if (nextSecret === null || secretOverlapEndsAt === null || secretOverlapEndsAt <= now) return [active];
  return [active, active === nextSecret ? secret : nextSecret];
}

/** The API key that is sent at `now`. */
export function currentApiKey({ apiKey, nextApiKey, nextApiKeyAt }: Endpoint, now: number): Secret {
  return effective(apiKey, nextApiKey, nextApiKeyAt, now);
}

function effective(current: Secret, next: Secret | null, nextAt: number | null, now: number): Secret {
  return next !== null && nextAt !== null && nextAt <= now ? next : current;
}
