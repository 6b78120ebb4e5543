/** An access token as it is kept, and what it grants. */
import type { Constraints, Role } from './user.ts';

export type AccessToken = {
  /** Row key, ordered by time: the first 8 bytes of the token carry it. It proves nothing. */
  readonly key: number;
  readonly hash: Uint8Array;
  readonly applicationId: string;
  /** Granted scopes, sorted, space-delimited. */
  readonly scope: string;
  readonly expiresAt: number;
};

/** A token with its application and bound user as they are now. */
export type TokenGrant = AccessToken & {
  readonly clientId: string;
  readonly applicationActive: boolean;
  readonly tokensRevokedThrough: number;
  readonly userId: string;
  readonly userName: string;
  readonly userActive: boolean;
  readonly role: Role;
  readonly permissions: readonly string[];
  readonly constraints: Constraints;
};
