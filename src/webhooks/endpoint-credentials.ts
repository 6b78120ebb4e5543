/** What an endpoint is called with, but for its certificate: its API key, its secret and its OAuth settings, as they are given, made and kept. */

import type { Random } from '../kernel/ids.ts';
import { refuseField } from '../kernel/refusal.ts';
import { type Secret, secret } from '../kernel/secret.ts';
import { isObject } from '../kernel/validation.ts';
import type { MergePatch } from '../resources/input.ts';
import { givenSecret } from '../wire/given-secret.ts';
import { currentApiKey, type Endpoint } from './endpoint.ts';
import type { EndpointBody, EndpointInput } from './endpoint-schema.ts';

type Patch = MergePatch<EndpointBody>;

export function madeApiKey(random: Random): string {
  return Buffer.from(random(16)).toString('hex');
}

function madeSecret(random: Random): string {
  return Buffer.from(random(32)).toString('base64');
}

/** A secret of a request that the schema let through, without the prefix of Standard Webhooks, or one that is made. */
export function secretOf(text: string | undefined, random: Random): Secret {
  return secret(text === undefined ? madeSecret(random) : (givenSecret(text) ?? text));
}

type ApiKeyColumns = Pick<Endpoint, 'apiKey' | 'nextApiKey' | 'nextApiKeyAt'>;

/**
 * A scheduled API key stays scheduled unless another one is given than is sent at `now`: what a reader was shown may come back in a
 * patch. A rotated key whose time has come is still the next one here, so what is kept as the first may be given anew.
 */
export function apiKeyColumns(given: string, before: Endpoint | null, patch: Patch | null, now: number): ApiKeyColumns {
  const isGiven = patch === null || Object.hasOwn(patch, 'apiKey');
  if (before === null || (isGiven && currentApiKey(before, now).reveal() !== given))
    return { apiKey: secret(given), nextApiKey: null, nextApiKeyAt: null };
  const { apiKey, nextApiKey, nextApiKeyAt } = before;
  return { apiKey, nextApiKey, nextApiKeyAt };
}

/**
 * A client secret goes to the server that it was given for. Who may change the address but was never told the secret would otherwise
 * have it sent to a server of their own.
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
