/** The client credentials grant (RFC 6749 §4.4, contract §2): who asks, for which scopes, and the token that is issued. */
import { timingSafeEqual } from 'node:crypto';
import { type Clock, type Ids, type Random, rowKeyTime } from '../kernel/ids.ts';
import { CLIENTS_CACHED, CLIENTS_CACHED_BYTES } from '../kernel/limits/limits.ts';
import { Refusal } from '../kernel/refusal.ts';
import { retryStale, StaleWrite } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import type { Client } from './application.ts';
import { credentialBytes, hashCredential, mintToken } from './credential.ts';
import { findGrant } from './gate.ts';
import { bytesOfTexts, createKnown } from './known.ts';
import { grantScope, parseScope } from './scope.ts';
import type { Constraints } from './user.ts';

export type ClientCredentials = { readonly clientId: string; readonly clientSecret: string };
export type IssuedToken = { readonly accessToken: string; readonly expiresInSeconds: number; readonly scope: string };

/** RFC 7662 §2.2, the members that a token of ours has, and contract §2. */
export type Introspection =
  | { readonly active: false }
  | {
      readonly active: true;
      readonly scope: string;
      readonly client_id: string;
      readonly username: string;
      readonly token_type: 'Bearer';
      readonly exp: number;
      readonly iat: number;
      readonly sub: string;
      readonly jti: string;
      /** What the user may do, and is limited to, now: the gate decides with these. */
      readonly permissions: readonly string[];
      readonly constraints: Constraints;
    };

export type Tokens = {
  /** The application behind the credentials. Throws `invalid_client`, the same for every reason. */
  authenticate(credentials: ClientCredentials): Promise<Client>;
  /**
   * A token of a client that has just been authenticated, for `scope` as it was asked for. Throws `invalid_scope`. `again` authenticates
   * it once more, where its tokens were revoked or it was switched off meanwhile: a revocation ends tokens, not credentials. Without
   * it such a client is refused.
   */
  issue(client: Client, scope: string | undefined, again?: () => Promise<Client>): Promise<IssuedToken>;
  introspect(token: string): Promise<Introspection>;
  /** RFC 7009: forgets a token of this client; one that is unknown or another's is left alone, and that is no error. */
  revoke(token: string, client: Client): Promise<void>;
};

type Dependencies = { readonly store: Store; readonly clock: Clock; readonly ids: Ids; readonly random: Random };

/** Compared where there is no application, so that an unknown client takes the time of a wrong secret. */
const NO_HASH: Uint8Array = new Uint8Array(32);

export function createTokens({ store, clock, ids, random }: Dependencies): Tokens {
  const knownClients = createKnown<Client>({
    entries: CLIENTS_CACHED,
    bytes: CLIENTS_CACHED_BYTES,
    bytesOf: clientBytes,
  });
  // Looked for every time, a client that there is none of would be refused later than one with a wrong secret.
  const missingClients = createKnown<true>({ entries: CLIENTS_CACHED, bytes: Infinity, bytesOf: () => 0 });
  // The checksums are looked at where it would be looked up, so that they cost the clients that are known nothing.
  const findClient = async ({ clientId, clientSecret }: ClientCredentials): Promise<Client | null> => {
    const version = store.tokens.version();
    const kept = knownClients.find(clientId, version);
    if (kept !== null || missingClients.find(clientId, version) !== null) return kept;
    if (credentialBytes('spc', clientId) === null || credentialBytes('sps', clientSecret) === null) return null;
    const client = await store.applications.getClient(clientId);
    if (client !== null) return knownClients.keep(clientId, version, client);
    missingClients.keep(clientId, version, true);
    return null;
  };
  const authenticate = async (credentials: ClientCredentials): Promise<Client> => {
    const client = await findClient(credentials);
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
  const issueTo = async (client: Client, text: string | undefined): Promise<IssuedToken> => {
    const requested = parseScope(text);
    const verdict = requested.ok ? grantScope(requested, client.scopes) : requested;
    if (!verdict.ok) throw new Refusal(verdict.code, verdict.description);
    const scope = verdict.granted.join(' ');
    const { id: applicationId, tokensRevokedThrough, accessTokenValiditySeconds: expiresInSeconds } = client;
    // Above the key of a revocation too that another process has drawn, whose clock was ahead.
    const key = ids.rowKey(tokensRevokedThrough);
    const accessToken = mintToken(key, random);
    const hash = hashCredential(accessToken);
    const expiresAt = clock() + expiresInSeconds * 1000;
    await store.tokens.issue({ key, hash, applicationId, scope, expiresAt, tokensRevokedThrough });
    store.applicationUses.note(applicationId, clock());
    return { accessToken, expiresInSeconds, scope };
  };
  return {
    authenticate,
    issue: async (client, text, again = refuseChanged) => {
      try {
        return await issueTo(client, text);
      } catch (error) {
        if (!(error instanceof StaleWrite)) throw error;
      }
      return retryStale(async () => issueTo(await again(), text));
    },
    introspect: async (token) => {
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
        // The key in the token, which proves nothing.
        jti: String(grant.key),
        permissions: grant.permissions,
        constraints: grant.constraints,
      };
    },
    revoke: async (token, client) => {
      const grant = await findGrant(store, token, clock());
      if (grant !== null) await store.tokens.revoke(grant.key, client.id);
    },
  };
}

/** Besides its scopes: a dozen texts, numbers and hashes, and its entry. */
const CLIENT_BYTES = 1500;

function clientBytes({ scopes }: Client): number {
  return CLIENT_BYTES + bytesOfTexts(scopes);
}

function refuseChanged(): Promise<Client> {
  return Promise.reject(invalidClient());
}

function invalidClient(): Refusal {
  return new Refusal('invalid_client', 'the client credentials are not valid');
}
