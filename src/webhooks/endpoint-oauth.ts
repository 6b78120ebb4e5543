/** The OAuth settings of an endpoint: how they are kept, and where its client secret may go. */
import type { Patch } from '../administration.ts';
import { refuseField } from '../refusal.ts';
import { secret } from '../secret.ts';
import type { Endpoint } from '../store/endpoints.ts';
import { isObject } from '../validation.ts';
import type { EndpointInput } from './endpoint-schema.ts';

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
