/** Who calls with a token, and the callers that are known: those of one application share what is the same for all of its tokens. */

import { CALLERS_CACHED, CALLERS_SHARED_BYTES } from '../kernel/limits/limits.ts';
import { createLru } from '../kernel/lru.ts';
import type { Acting } from '../resources/acting.ts';
import type { Actor } from '../resources/audit.ts';
import type { TokenGrant } from './application.ts';
import { bytesOfTexts } from './known.ts';
import type { Constraints, Role } from './user.ts';

/** An application that called with a valid token, and the user it acts as. */
export type Caller = {
  readonly actor: Actor;
  readonly applicationId: string;
  readonly clientId: string;
  readonly scope: readonly string[];
  readonly userId: string;
  readonly userName: string;
  readonly role: Role;
  readonly permissions: readonly string[];
  readonly constraints: Constraints;
  readonly expiresAt: number;
};

/** The caller acts: with the scopes of its token, and with the rights of its user. */
export function actingOf({ actor, scope, userName, role, permissions, constraints }: Caller): Acting {
  return { actor, authority: { through: 'token', userName, role, permissions, constraints, scopes: scope } };
}

/** Callers by the digests of their tokens, each while the store's version is the one it was read under. */
export type KnownCallers = {
  find(digest: string, version: number): Caller | null;
  /** Keeps the caller behind a grant, and answers it. `version` is that from before the grant was read. */
  keep(digest: string, version: number, grant: TokenGrant): Caller;
};

/** What all tokens of an application have in common. */
type Holder = Omit<Caller, 'scope' | 'expiresAt'>;

/**
 * Of more callers than are kept the oldest gives way. All of them do once the version is another one, or once what they share would
 * take too much: as parts that an old caller still holds could be neither shared nor let go.
 */
export function createCallers(): KnownCallers {
  const callers = createLru<string, Caller>({ max: CALLERS_CACHED });
  const holders = new Map<string, Holder>();
  const scopes = new Map<string, readonly string[]>();
  let at = Number.NEGATIVE_INFINITY;
  let sharedBytes = 0;

  const holderOf = (grant: TokenGrant): Holder => {
    const known = holders.get(grant.applicationId);
    if (known !== undefined) return known;
    const holder = readHolder(grant);
    holders.set(holder.applicationId, holder);
    sharedBytes += HOLDER_BYTES + bytesOfTexts(holder.permissions) + bytesOfTexts(holder.constraints.divisions ?? []);
    return holder;
  };
  const scopeOf = ({ scope: text }: TokenGrant): readonly string[] => {
    const known = scopes.get(text);
    if (known !== undefined) return known;
    const scope = readScope(text);
    scopes.set(text, scope);
    sharedBytes += text.length + bytesOfTexts(scope);
    return scope;
  };

  return {
    find: (digest, version) => (version === at ? (callers.get(digest) ?? null) : null),
    keep: (digest, version, grant) => {
      if (version > at || sharedBytes > CALLERS_SHARED_BYTES) {
        for (const kept of [callers, holders, scopes]) kept.clear();
        sharedBytes = 0;
        at = Math.max(at, version);
      }
      if (version < at) return callerOf(readHolder(grant), readScope(grant.scope), grant.expiresAt);
      const caller = callerOf(holderOf(grant), scopeOf(grant), grant.expiresAt);
      callers.set(digest, caller);
      return caller;
    },
  };
}

/** A holder's own texts, and its entry. */
const HOLDER_BYTES = 600;

function callerOf(holder: Holder, scope: readonly string[], expiresAt: number): Caller {
  const { actor, applicationId, clientId, userId, userName, role, permissions, constraints } = holder;
  return { actor, applicationId, clientId, scope, userId, userName, role, permissions, constraints, expiresAt };
}

function readHolder(grant: TokenGrant): Holder {
  const { applicationId, clientId, userId, userName, role, permissions, constraints } = grant;
  const actor = `application:${applicationId}`;
  return { actor, applicationId, clientId, userId, userName, role, permissions, constraints };
}

function readScope(text: string): readonly string[] {
  return text === '' ? [] : text.split(' ');
}
