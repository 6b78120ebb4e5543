/** Callers with a token, and a cache of them. Callers of one application share the data that all its tokens have in common. */

import type { Acting } from '../domain/acting.ts';
import type { TokenGrant } from '../domain/application.ts';
import type { Actor } from '../domain/audit.ts';
import type { Constraints, Role } from '../domain/user.ts';
import { bytesOfTexts, createLru } from '../kernel/lru.ts';

/**
 * Callers with valid tokens in memory, 2.5 MB (measured). The least recently used are dropped first. Callers of one application share data.
 * If the shared data exceeds this many bytes, the whole cache is cleared.
 */
export const CALLERS_CACHED = 10_000;
export const CALLERS_SHARED_BYTES: number = 16 * 1024 * 1024;

/** An application that called with a valid token, and the user it acts as. */
export type Caller = {
  readonly actor: Actor;
  /** For a portal token its own id. */
  readonly applicationId: string;
  /** Null for a portal token, which belongs to no application. */
  readonly clientId: string | null;
  /** The customer whose resources it reaches; null: all. */
  readonly customerId: string | null;
  readonly scope: readonly string[];
  /** Null for a portal token. */
  readonly userId: string | null;
  readonly userName: string;
  readonly role: Role;
  readonly permissions: readonly string[];
  readonly constraints: Constraints;
  readonly expiresAt: number;
};

/** The caller's authority: the scopes of its token and the rights of its user. */
export function actingOf(caller: Caller): Acting {
  const { actor, userId, customerId, scope, userName, role, permissions, constraints } = caller;
  // A portal token acts by its role in the portal of its customer.
  const through = userId === null ? 'session' : 'token';
  return {
    actor,
    authority: { through, customerId, userName, role, permissions, constraints, scopes: scope },
  };
}

/** Callers by the digest of their token, valid as long as the store has the version that they were read at. */
type CallerCache = {
  /** Whether the token was valid at some version, so its checksum is right. */
  wasValid(digest: string): boolean;
  find(digest: string, version: number): Caller | null;
  /** Caches and returns the caller of a grant. `version` is the one from before the grant was read. */
  keep(digest: string, version: number, grant: TokenGrant): Caller;
};

/** The data that all tokens of an application have in common. */
type Holder = Omit<Caller, 'scope' | 'expiresAt'>;

/**
 * Drops the least recently used callers beyond the bound. Drops all of them when the version changes or when the shared data exceeds its
 * bound: shared data that an old caller refers to could not be freed one by one.
 */
export function createCallers(): CallerCache {
  const callers = createLru<string, Caller>({ max: CALLERS_CACHED });
  const holders = new Map<string, Holder>();
  const scopes = new Map<string, readonly string[]>();
  let at = Number.NEGATIVE_INFINITY;
  let sharedBytes = 0;

  const holderOf = (grant: TokenGrant): Holder => {
    const cached = holders.get(grant.applicationId);
    if (cached !== undefined) return cached;
    const holder = readHolder(grant);
    holders.set(holder.applicationId, holder);
    sharedBytes += HOLDER_BYTES + bytesOfTexts(holder.permissions) + bytesOfTexts(holder.constraints.divisions ?? []);
    return holder;
  };
  const scopeOf = ({ scope: text }: TokenGrant): readonly string[] => {
    const cached = scopes.get(text);
    if (cached !== undefined) return cached;
    const scope = readScope(text);
    scopes.set(text, scope);
    sharedBytes += text.length + bytesOfTexts(scope);
    return scope;
  };

  return {
    wasValid: (digest) => callers.get(digest) !== undefined,
    find: (digest, version) => (version === at ? (callers.get(digest) ?? null) : null),
    keep: (digest, version, grant) => {
      if (version > at || sharedBytes > CALLERS_SHARED_BYTES) {
        for (const kept of [callers, holders, scopes]) kept.clear();
        sharedBytes = 0;
        at = Math.max(at, version);
      }
      const { expiresAt } = grant;
      if (version < at) return { ...readHolder(grant), scope: readScope(grant.scope), expiresAt };
      const caller = { ...holderOf(grant), scope: scopeOf(grant), expiresAt };
      callers.set(digest, caller);
      return caller;
    },
  };
}

/** Bytes of a holder's own texts and its entry. */
const HOLDER_BYTES = 600;

function readHolder(grant: TokenGrant): Holder {
  const { applicationId, clientId, customerId, userId, userName, role, permissions, constraints } = grant;
  const actor = `application:${applicationId}`;
  return { actor, applicationId, clientId, customerId, userId, userName, role, permissions, constraints };
}

function readScope(text: string): readonly string[] {
  return text === '' ? [] : text.split(' ');
}
