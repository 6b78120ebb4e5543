/** Callers with a portal token (contract §8.10): a token of a customer that belongs to no application and no user. */
import { credentialBytes, hashCredential } from '../domain/credential.ts';
import type { AccessVerbs } from '../store/port/access.ts';
import { CUSTOMER_SCOPES } from './built-in.ts';
import type { Caller } from './callers.ts';

/** Everything that administrators of customers may do by the API, and what viewers may see. */
const SCOPES = {
  administrator: CUSTOMER_SCOPES,
  viewer: CUSTOMER_SCOPES.filter((scope) => scope.endsWith(':view')),
} as const;

/** The caller of a token that is valid at `now`, or null. A wrong checksum costs no look-up. */
export async function findPortalCaller(store: AccessVerbs, token: string, now: number): Promise<Caller | null> {
  if (credentialBytes('spp', token) === null) return null;
  const session = await store.sessions.find(hashCredential(token), now);
  if (session === null || session.method !== 'token' || session.customerId === null) return null;
  const { id, customerId, userName, expiresAt } = session;
  const role = session.role === 'administrator' ? 'administrator' : 'viewer';
  const scope = SCOPES[role];
  return {
    actor: `portal-token:${id}`,
    applicationId: id,
    clientId: null,
    customerId,
    scope,
    userId: null,
    userName,
    role,
    permissions: scope,
    constraints: {},
    expiresAt,
  };
}

export function isPortalToken(token: string): boolean {
  return token.startsWith('spp_');
}
