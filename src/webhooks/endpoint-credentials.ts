/** The credentials of an endpoint except its certificate: API key, secret and OAuth settings. */

import type { Random } from '../kernel/ids.ts';
import { refuseField } from '../kernel/refusal.ts';
import { type Secret, secret } from '../kernel/secret.ts';
import { isObject } from '../kernel/validation.ts';
import type { MergePatch } from '../resources/input.ts';
import { givenSecret } from '../wire/signature.ts';
import { currentApiKey, type Endpoint } from './endpoint.ts';
import type { EndpointBody, EndpointInput } from './endpoint-schema.ts';

type Patch = MergePatch<EndpointBody>;

export function madeApiKey(random: Random): string {
  return Buffer.from(random(16)).toString('hex');
}

function madeSecret(random: Random): string {
  return Buffer.from(random(32)).toString('base64');
}

/** The secret of a checked request without the prefix of Standard Webhooks, or a new random one. */
export function secretOf(text: string | undefined, random: Random): Secret {
  return secret(text === undefined ? madeSecret(random) : (givenSecret(text) ?? text));
}

type ApiKeyColumns = Pick<Endpoint, 'apiKey' | 'nextApiKey' | 'nextApiKeyAt'>;

/**
 * A scheduled API key stays scheduled if the patch repeats the key that is sent at `now`, because a client may send back what it read.
 * A rotated key that is already in use still counts as the next one here, so a patch may set the former key again.
 */
export function apiKeyColumns(given: string, before: Endpoint | null, patch: Patch | null, now: number): ApiKeyColumns {
  const isGiven = patch === null || Object.hasOwn(patch, 'apiKey');
  if (before === null || (isGiven && currentApiKey(before, now).reveal() !== given))
    return { apiKey: secret(given), nextApiKey: null, nextApiKeyAt: null };
  const { apiKey, nextApiKey, nextApiKeyAt } = before;
  return { apiKey, nextApiKey, nextApiKeyAt };
}

/**
 * A client secret is only sent to the server that it was given for. Otherwise anyone who may change the URL could have the secret sent to
 * a server of their own.
 */
export function refuseSecretElsewhere({ oauthTokenUrl }: Endpoint, tokenUrl: string, patch: Patch | null): void {
  const isGiven = isObject(patch?.oauth) && Object.hasOwn(patch.oauth, 'clientSecret');
  if (isGiven || oauthTokenUrl === null || new URL(oauthTokenUrl).origin === new URL(tokenUrl).origin) return;
  throw refuseField('oauth.clientSecret', 'is required: the one that is kept is not sent to another server');
}

type OauthColumns = Pick<Endpoint, Extract<keyof Endpoint, `oauth${string}`>>;

export function oauthColumns(oauth: EndpointInput['oauth']): OauthColumns {
  return {
    oauthClientId: oauth?.clientId ?? null,
    oauthClientSecret: oauth === null ? null : secret(oauth.clientSecret),
    oauthTokenUrl: oauth?.tokenUrl ?? null,
    oauthTokenExpirationMinutes: oauth?.tokenExpirationMinutes ?? null,
    oauthScopes: oauth?.scopes ?? null,
  };
}
