/** Registered applications and the access tokens that they hold. */
import type { Constraints, Role } from './user.ts';

/** How long access tokens of an application are valid (contract §4.2). */
export const TOKEN_VALIDITY_MIN_SECONDS = 300;

export const TOKEN_VALIDITY_MAX_SECONDS = 86_400;

export const TOKEN_VALIDITY_DEFAULT_SECONDS = 3600;

/** How long a replaced secret is still accepted, at most. */
export const SECRET_OVERLAP_MAX_SECONDS = 604_800;

export type Application = {
  readonly id: string;
  /** The customer that it belongs to; null: the operator's own. */
  readonly customerId: string | null;
  readonly name: string;
  readonly userId: string;
  readonly clientId: string;
  readonly secretHash: Uint8Array;
  readonly secretCreatedAt: number;
  readonly previousSecretHash: Uint8Array | null;
  readonly previousSecretExpiresAt: number | null;
  readonly accessTokenValiditySeconds: number;
  readonly scopes: readonly string[];
  readonly active: boolean;
  /**
   * Tokens whose row key is at most this one are refused, so one write revokes all tokens. A larger key revokes every token that exists
   * when it is written, even one whose own key was drawn later.
   */
  readonly tokensRevokedThrough: number;
  /** When it last got or used a token; null if never. Writing the application does not change it. */
  readonly lastUsedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** The application as the token endpoint reads it. */
export type Client = Omit<Application, 'lastUsedAt'> & {
  /** False also if the customer is suspended. */
  readonly userActive: boolean;
};

/** An application that holds a scope, and whether it can use it. */
export type ScopeHolder = {
  readonly id: string;
  readonly name: string;
  readonly clientId: string;
  readonly active: boolean;
  readonly userName: string;
  readonly userActive: boolean;
  /** The user has the permission that the rule requires. */
  readonly permitted: boolean;
};

/** An access token as it is stored. */
export type AccessToken = {
  /** Row key, ordered by time. The first 8 bytes of the token hold it; it proves nothing without the rest. */
  readonly key: number;
  readonly hash: Uint8Array;
  readonly applicationId: string;
  /** Granted scopes, sorted, space-delimited. */
  readonly scope: string;
  readonly expiresAt: number;
};

/** A token with the current state of its application and user. */
export type TokenGrant = AccessToken & {
  readonly clientId: string;
  readonly applicationActive: boolean;
  readonly tokensRevokedThrough: number;
  readonly customerId: string | null;
  readonly userId: string;
  readonly userName: string;
  /** False also if the customer is suspended. */
  readonly userActive: boolean;
  readonly role: Role;
  readonly permissions: readonly string[];
  readonly constraints: Constraints;
};
