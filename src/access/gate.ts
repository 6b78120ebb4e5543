/**
 * The gate (contract §3.1): authenticates callers and authorizes their requests. Revoking a token, deactivating an application or user, or
 * removing a permission takes effect with the next call: cached callers are dropped by any write that grants depend on, and each call
 * is authorized again.
 */

import { hash, timingSafeEqual } from 'node:crypto';
import type { TokenGrant } from '../domain/application.ts';
import { type Catalogue, matchRule, type RuleMatch } from '../domain/catalogue.ts';
import { hashCredential, tokenRowKey } from '../domain/credential.ts';
import { AUTHORIZATION_BYTES } from '../domain/limits.ts';
import type { Clock } from '../kernel/ids.ts';
import { type FieldProblem, PROBLEMS_MAX, Refusal } from '../kernel/refusal.ts';
import type { AccessVerbs } from '../store/port/access.ts';
import type { Answer } from '../store/port/database.ts';
import { type Caller, createCallers } from './callers.ts';
import { findPortalCaller, isPortalToken } from './portal-tokens.ts';

export type { Caller } from './callers.ts';

export type Gate = {
  /**
   * The caller of an `Authorization` header. `values` are all the values that were sent. Throws 401 (RFC 6750 §3). A caller that is in
   * memory comes without a promise, which would cost as much as finding it.
   */
  authenticate(values: readonly string[]): Answer<Caller>;
  /** The rule that allows the request. Throws 401: `insufficient_scope` or `insufficient_permission`. */
  authorize(caller: Caller, method: string, segments: readonly string[]): RuleMatch;
};

type Dependencies = {
  readonly store: AccessVerbs;
  readonly clock: Clock;
  readonly catalogue: () => Catalogue;
  /** Reads the catalogue again if another instance has changed it. Absent if only this process uses the database. */
  readonly refreshCatalogue?: (() => Promise<void>) | undefined;
};

export function createGate({ store, clock, catalogue, refreshCatalogue }: Dependencies): Gate {
  const refreshAt = refreshCatalogue === undefined ? null : oncePerVersion(refreshCatalogue);
  // By the SHA-256 of the token, so that tokens are not stored and look-up times reveal no part of one.
  const callers = createCallers();
  const findKnown = (digest: string, version: number): Caller | null => {
    const now = clock();
    const caller = callers.find(digest, version);
    if (caller === null || caller.expiresAt <= now) return null;
    store.applicationUses.note(caller.applicationId, now);
    return caller;
  };
  const read = async (token: string, digest: string, version: number): Promise<Caller> => {
    const now = clock();
    const grant = await findGrant(store, token, now);
    if (grant === null) throw notValid();
    store.applicationUses.note(grant.applicationId, now);
    return callers.keep(digest, version, grant);
  };
  const readPortalCaller = async (token: string): Promise<Caller> => {
    const caller = await findPortalCaller(store, token, clock());
    if (caller === null) throw invalidToken('the portal token is unknown or expired');
    return caller;
  };
  /** On PostgreSQL the version comes from the database. */
  const find = async (token: string, digest: string, answer: Answer<number>): Promise<Caller> => {
    const version = await answer;
    await refreshAt?.(version);
    return findKnown(digest, version) ?? read(token, digest, version);
  };
  return {
    authenticate: (values) => {
      const token = bearerToken(values);
      if (isPortalToken(token)) return readPortalCaller(token);
      const digest = hash('sha256', token, 'base64');
      // Before the version, which comes from the database.
      if (!callers.wasValid(digest) && tokenRowKey(token) === null) throw notValid();
      const version = store.tokens.version();
      if (typeof version !== 'number' || refreshAt !== null) return find(token, digest, version);
      return findKnown(digest, version) ?? read(token, digest, version);
    },
    authorize: (caller, method, segments) => {
      const rule = matchRule(catalogue(), method, segments);
      if (rule === null) {
        throw insufficientScope('no rule of the API catalogue names this path and method');
      }
      requireScope(caller, rule);
      return rule;
    },
  };
}

/**
 * Runs `work` before the first call with a version, which all calls with this version wait for. After a failure the next call tries again.
 */
function oncePerVersion(work: () => Promise<void>): (version: number) => Promise<void> | undefined {
  let done = Number.NEGATIVE_INFINITY;
  let inProgress: { readonly version: number; readonly work: Promise<void> } | null = null;
  const begin = (version: number): Promise<void> => {
    const mine = {
      version,
      work: work()
        .then(() => {
          done = Math.max(done, version);
        })
        .finally(() => {
          if (inProgress === mine) inProgress = null;
        }),
    };
    inProgress = mine;
    return mine.work;
  };
  return (version) => {
    if (version <= done) return undefined;
    return inProgress !== null && inProgress.version >= version ? inProgress.work : begin(version);
  };
}

/**
 * The token `text` with its application and user, or null if it is not valid at `now`. A wrong checksum costs no look-up. The row key in
 * the token proves nothing; the hash of the whole token must match.
 */
export async function findGrant(store: AccessVerbs, text: string, now: number): Promise<TokenGrant | null> {
  const key = tokenRowKey(text);
  if (key === null) return null;
  const grant = await store.tokens.find(key);
  if (grant === null || !timingSafeEqual(grant.hash, hashCredential(text))) return null;
  const alive = grant.expiresAt > now && grant.key > grant.tokensRevokedThrough;
  return alive && grant.applicationActive && grant.userActive ? grant : null;
}

/** Throws 401 unless the token or application holds the scope, and its user the permission. */
export function requireScope(
  holder: Pick<Caller, 'scope' | 'userName' | 'permissions'>,
  { scope, permission }: { readonly scope: string; readonly permission: string },
): void {
  if (!holder.scope.includes(scope)) {
    throw unauthorized('insufficient_scope', `the scope ${scope} is required for this`, { scope });
  }
  if (!holder.permissions.includes(permission)) {
    throw insufficientPermission(`the user ${holder.userName} lacks the permission ${permission}`);
  }
}

/** Throws 401 for a caller of a customer, whatever scopes it holds: the route serves only the operator. */
export function requireOperator({ customerId }: Pick<Caller, 'customerId'>): void {
  if (customerId !== null) throw operatorOnly();
}

/** Refuses a caller of a customer. */
export function operatorOnly(): Refusal {
  return insufficientPermission('this is only for applications of the operator');
}

/** Refuses a request that no rule of the catalogue matches. */
export function insufficientScope(description: string): Refusal {
  return unauthorized('insufficient_scope', description, {});
}

/** Refuses access to an object that the user's constraints exclude (contract §3.1), and grants beyond the caller's rights. */
export function insufficientPermission(description: string, details?: readonly FieldProblem[]): Refusal {
  return unauthorized('insufficient_permission', description, {}, details);
}

// RFC 6750 §2.1; the scheme's case is irrelevant (RFC 9110 §11.1).
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

function bearerToken(values: readonly string[]): string {
  const [value] = values;
  if (value === undefined) {
    throw new Refusal('unauthorized', 'an access token is required', { headers: { 'WWW-Authenticate': 'Bearer' } });
  }
  if (values.length > 1) throw invalidToken('the Authorization header was sent more than once');
  const token = value.length > AUTHORIZATION_BYTES ? undefined : BEARER.exec(value)?.[1];
  if (token === undefined) throw invalidToken('the Authorization header is not of the form Bearer <token>');
  return token;
}

function notValid(): Refusal {
  return invalidToken('the access token is unknown, expired or revoked');
}

function invalidToken(description: string): Refusal {
  return unauthorized('invalid_token', description, {});
}

/** RFC 6750 §3. Quoted values contain no quotes or backslashes. */
function unauthorized(
  code: 'invalid_token' | 'insufficient_scope' | 'insufficient_permission',
  description: string,
  attributes: Readonly<Record<string, string>>,
  details?: readonly FieldProblem[],
): Refusal {
  const pairs = Object.entries({ error: code, ...attributes, error_description: quotable(description) });
  const challenge = pairs.map(([name, value]) => `${name}="${value}"`).join(', ');
  return new Refusal(code, description, {
    headers: { 'WWW-Authenticate': `Bearer ${challenge}` },
    ...(details !== undefined && { details: details.slice(0, PROBLEMS_MAX) }),
  });
}

function quotable(text: string): string {
  return text.replace(/[^\x20-\x7e]|["\\]/g, '?');
}
