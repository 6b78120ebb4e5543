/** Endpoints after a rotation of their secret, keys, API key or authentication (contract §5.7, §12.4, §12.7). Pure. */

import {
  currentApiKey,
  currentAuthentication,
  type Endpoint,
  publicKeys,
  signingKeys,
  signingSecret,
  signingSecretCreatedAt,
} from '../domain/endpoint.ts';
import type { Random } from '../kernel/ids.ts';
import { Refusal } from '../kernel/refusal.ts';
import type { Secret } from '../kernel/secret.ts';
import { setAuthentication } from './endings.ts';
import { authenticationOf } from './endpoint-authentication.ts';
import { madeSigningKey } from './endpoint-credentials.ts';
import type { RotateApiKeyInput, RotateAuthenticationInput, RotateSecretInput } from './endpoint-schema.ts';

const NO_NEXT_SECRET = {
  nextSecret: null,
  nextSecretCreatedAt: null,
  nextSecretAt: null,
  secretOverlapEndsAt: null,
} as const;

/** The endpoint after a rotation of its secret at `at`. The new secret signs after `activateAfterSeconds`. */
export function withNewSecret(
  before: Endpoint,
  newSecret: Secret,
  { activateAfterSeconds, overlapSeconds }: RotateSecretInput,
  at: number,
): Endpoint {
  // Without an overlap the old secret is deleted immediately, because it may have leaked.
  if (activateAfterSeconds === 0 && overlapSeconds === 0)
    return { ...before, updatedAt: at, ...NO_NEXT_SECRET, secret: newSecret, secretCreatedAt: at };
  const nextSecretAt = at + activateAfterSeconds * 1000;
  return {
    ...before,
    updatedAt: at,
    secret: signingSecret(before, at),
    secretCreatedAt: signingSecretCreatedAt(before, at),
    nextSecret: newSecret,
    nextSecretCreatedAt: at,
    nextSecretAt,
    secretOverlapEndsAt: nextSecretAt + overlapSeconds * 1000,
  };
}

/** The endpoint whose scheduled secret and key sign from `at` on. The old secret goes on for as long as it would have then. */
export function withNextSecretNow(before: Endpoint, at: number): Endpoint {
  const { nextSecretAt, secretOverlapEndsAt } = before;
  if (nextSecretAt === null || nextSecretAt <= at) throw new Refusal('invalid_state', 'no new secret is scheduled');
  const overlapMs = (secretOverlapEndsAt ?? nextSecretAt) - nextSecretAt;
  return { ...before, updatedAt: at, nextSecretAt: at, secretOverlapEndsAt: at + overlapMs };
}

/** A rotation of the secret replaces the key of `ed25519` too, at the same time. `rotated`: with the new secret. */
export function withNewKey(rotated: Endpoint, before: Endpoint, random: Random): Endpoint {
  if (before.signingKey === null) return rotated;
  const { signingKey, publicKey } = madeSigningKey(random);
  if (rotated.nextSecret === null)
    return { ...rotated, signingKey, publicKey, nextSigningKey: null, nextPublicKey: null };
  const [active = signingKey] = signingKeys(before, rotated.updatedAt);
  const [activePublic = publicKey] = publicKeys(before, rotated.updatedAt);
  return {
    ...rotated,
    signingKey: active,
    publicKey: activePublic,
    nextSigningKey: signingKey,
    nextPublicKey: publicKey,
  };
}

/** The endpoint after a rotation of its API key at `at`. The new key is sent after `activateAfterSeconds`. */
export function withNewApiKey(
  before: Endpoint,
  newApiKey: Secret,
  { activateAfterSeconds }: RotateApiKeyInput,
  at: number,
): Endpoint {
  const later = activateAfterSeconds > 0;
  return {
    ...before,
    updatedAt: at,
    apiKey: later ? currentApiKey(before, at) : newApiKey,
    nextApiKey: later ? newApiKey : null,
    nextApiKeyAt: later ? at + activateAfterSeconds * 1000 : null,
  };
}

/** The endpoint after a rotation of its authentication at `at`. The new one is sent after `activateAfterSeconds`. */
export function withNewAuthentication(
  before: Endpoint,
  { authentication: input, activateAfterSeconds }: RotateAuthenticationInput,
  at: number,
): Endpoint {
  const current = currentAuthentication(before, at);
  if (current === null) {
    throw new Refusal('invalid_state', 'the endpoint has no authentication', { ending: setAuthentication(before.id) });
  }
  const authentication = authenticationOf(input, current, input);
  const later = activateAfterSeconds > 0;
  return {
    ...before,
    updatedAt: at,
    authentication: later ? current : authentication,
    nextAuthentication: later ? authentication : null,
    nextAuthenticationAt: later ? at + activateAfterSeconds * 1000 : null,
  };
}
