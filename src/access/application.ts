/** A registered application, and what the token endpoint reads of it. */
export type Application = {
  readonly id: string;
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
   * Tokens whose row key is not above this one are refused: one write revokes them all. A larger one than before revokes what there is
   * when it is written, also tokens whose keys were drawn later than it.
   */
  readonly tokensRevokedThrough: number;
  /** When it last got a token or called with one; null: never. No write of the application changes it. */
  readonly lastUsedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** An application as the token endpoint needs it. */
export type Client = Omit<Application, 'lastUsedAt'> & { readonly userActive: boolean };

/** An application that holds a scope, and whether anything keeps it from using it. */
export type ScopeHolder = {
  readonly id: string;
  readonly name: string;
  readonly clientId: string;
  readonly active: boolean;
  readonly userName: string;
  readonly userActive: boolean;
  /** The user has the permission that was asked about. */
  readonly permitted: boolean;
};
