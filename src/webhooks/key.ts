/** A PGP key that encrypts payloads. */
export type PgpKey = {
  readonly id: string;
  readonly name: string;
  readonly publicKey: string;
  readonly fingerprint: string;
  readonly algorithm: string;
  readonly expiresAt: number | null;
  /** The last warning given before expiry: 30, 7 or 1 days. */
  readonly warnedDays: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};
