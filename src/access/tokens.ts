/**
 * Tokens of the client credentials grant (RFC 6749 §4.4, contract §2.1, §2.4): authenticating clients, issuing, introspecting and revoking.
 */

import { timingSafeEqual } from 'node:crypto';
import type { Client } from '../domain/application.ts';
import { credentialBytes, grantScope, hashCredential, mintToken, parseScope } from '../domain/credential.ts';
import type { Constraints } from '../domain/user.ts';
import { type Clock, type Ids, type Random, rowKeyTime } from '../kernel/ids.ts';
import { bytesOfTexts, createVersionedCache } from '../kernel/lru.ts';
import { Refusal } from '../kernel/refusal.ts';
import type { AccessVerbs } from '../store/port/access.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import type { Answer } from '../store/port/database.ts';
import type { Caller } from './callers.ts';
import { findGrant } from './gate.ts';
import { findPortalCaller, isPortalToken } from './portal-tokens.ts';

/** Applications that request tokens. The least recently used are dropped first. */
const CLIENTS_CACHED = 5000;
const CLIENTS_CACHED_BYTES: number = 16 * 1024 * 1024;

export type ClientCredentials = { readonly clientId: string; readonly clientSecret: string };
type IssuedToken = { readonly accessToken: string; readonly expiresInSeconds: number; readonly scope: string };

/** The members of RFC 7662 §2.2 that apply, and those of contract §2.4. */
type Introspection =
  | { readonly active: false }
  | {
      readonly active: true;
      readonly scope: string;
      /** Absent, like `iat` and `sub`, for a portal token: it belongs to no application and no user. */
      readonly client_id?: string;
      readonly username: string;
      readonly token_type: 'Bearer';
      readonly exp: number;
      readonly iat?: number;
      readonly sub?: string;
      readonly jti: string;
      /** The current rights and limits of the user, which the gate decides by. */
      readonly permissions: readonly string[];
      readonly constraints: Constraints;
      /** The customer to whom the application belongs; absent: the operator. */
      readonly customerId?: string;
    };

export type Tokens = {
  /** Changes with every change of an application or user. */
  version(): Answer<number>;
  /**
   * The application with these credentials. Throws `invalid_client`, the same for every reason. `version`: if the caller has just asked for
   * it.
   */
  authenticate(credentials: ClientCredentials, version?: number): Promise<Client>;
  /**
   * Issues a token to a client that was just authenticated, for the requested `scope`. Throws `invalid_scope`, and `StaleWrite` if its
   * tokens were revoked or it was deactivated in between.
   */
  issue(client: Client, scope: string | undefined): Promise<IssuedToken>;
  introspect(token: string): Promise<Introspection>;
  /** Revokes a token of this client (RFC 7009). A token that is unknown or of another client is not an error. */
  revoke(token: string, client: Client): Promise<void>;
};

type Dependencies = {
  readonly store: AccessVerbs & CustomerVerbs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
};

const ONE_TOKEN = { tokens: 1 };

/** Compared for an unknown client, so that refusing an unknown client takes as long as refusing a wrong secret. */
const NO_HASH: Uint8Array = new Uint8Array(32);

export function createTokens({ store, clock, ids, random }: Dependencies): Tokens {
  const clients = createVersionedCache<Client>({
    max: CLIENTS_CACHED,
    maxWeight: CLIENTS_CACHED_BYTES,
    weightOf: clientBytes,
  });
  // Unknown clients are cached too: looking them up each time would make them slower to refuse than a wrong secret.
  const unknownClients = createVersionedCache<true>({ max: CLIENTS_CACHED });
  // Checksums are tested only before a look-up, so that they cost cached clients nothing.
  const findClient = async ({ clientId, clientSecret }: ClientCredentials, version: number): Promise<Client | null> => {
    const cached = clients.find(clientId, version);
    if (cached !== null || unknownClients.find(clientId, version) !== null) return cached;
    if (credentialBytes('spc', clientId) === null || credentialBytes('sps', clientSecret) === null) return null;
    const client = await store.applications.getClient(clientId);
    if (client !== null) return clients.keep(clientId, version, client);
    unknownClients.keep(clientId, version, true);
    return null;
  };
  const authenticate = async (credentials: ClientCredentials, version?: number): Promise<Client> => {
    const client = await findClient(credentials, version ?? (await store.tokens.version()));
    const hash = hashCredential(credentials.clientSecret);
    const now = clock();
    const current = timingSafeEqual(client?.secretHash ?? NO_HASH, hash);
    const previous = timingSafeEqual(client?.previousSecretHash ?? NO_HASH, hash);
    const matches = current || (previous && now < (client?.previousSecretExpiresAt ?? 0));
    if (client === null || !matches || !client.active || !client.userActive) {
      throw invalidClient();
    }
    return client;
  };
  const issue = async (client: Client, text: string | undefined): Promise<IssuedToken> => {
    const requested = parseScope(text);
    const verdict = requested.ok ? grantScope(requested, client.scopes) : requested;
    if (!verdict.ok) throw new Refusal(verdict.code, verdict.description);
    const scope = verdict.granted.join(' ');
    const { id: applicationId, tokensRevokedThrough, accessTokenValiditySeconds: expiresInSeconds } = client;
    // Must also exceed the revocation key written by another process whose clock is ahead.
    const key = ids.rowKey(tokensRevokedThrough);
    const accessToken = mintToken(key, random);
    const hash = hashCredential(accessToken);
    const expiresAt = clock() + expiresInSeconds * 1000;
    await store.tokens.issue({ key, hash, applicationId, scope, expiresAt, tokensRevokedThrough });
    const now = clock();
    store.applicationUses.note(applicationId, now);
    store.usage.count(client.customerId, ONE_TOKEN, now);
    return { accessToken, expiresInSeconds, scope };
  };
  return {
    version: store.tokens.version,
    authenticate,
    issue,
    introspect: async (token) => {
      if (isPortalToken(token)) return introspectPortalToken(await findPortalCaller(store, token, clock()));
      const grant = await findGrant(store, token, clock());
      if (grant === null) return { active: false };
      return {
        active: true,
        scope: grant.scope,
        client_id: grant.clientId,
        username: grant.userName,
        token_type: 'Bearer',
        exp: Math.floor(grant.expiresAt / 1000),
        iat: Math.floor(rowKeyTime(grant.key) / 1000),
        sub: grant.userId,
        // The key that the token contains. It proves nothing.
        jti: String(grant.key),
        permissions: grant.permissions,
        constraints: grant.constraints,
        ...(grant.customerId !== null && { customerId: grant.customerId }),
      };
    },
    revoke: async (token, client) => {
      const grant = await findGrant(store, token, clock());
      if (grant !== null) await store.tokens.revoke(grant.key, client.id);
    },
  };
}

function introspectPortalToken(caller: Caller | null): Introspection {
  if (caller === null) return { active: false };
  const { applicationId: jti, customerId, expiresAt, scope, userName, permissions, constraints } = caller;
  return {
    active: true,
    scope: scope.join(' '),
    username: userName,
    token_type: 'Bearer',
    exp: Math.floor(expiresAt / 1000),
    jti,
    permissions,
    constraints,
    ...(customerId !== null && { customerId }),
  };
}

/** Bytes of a client without its scopes: a dozen texts, numbers and hashes, and its cache entry. */
const CLIENT_BYTES = 1500;

function clientBytes({ scopes }: Client): number {
  return CLIENT_BYTES + bytesOfTexts(scopes);
}

function invalidClient(): Refusal {
  return new Refusal('invalid_client', 'the client credentials are not valid');
}
