/** A one-time link by which a user sets a password. */
export type Invitation = {
  readonly userId: string;
  readonly tokenHash: Uint8Array;
  readonly createdAt: number;
  readonly expiresAt: number;
};
