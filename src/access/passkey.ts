/** A passkey by which a user signs in. */
export type Passkey = {
  readonly id: string;
  readonly userId: string;
  readonly credentialId: Uint8Array;
  /** COSE (RFC 9052). */
  readonly publicKey: Uint8Array;
  /** The host name that it signs for. */
  readonly host: string;
  readonly name: string;
  readonly counter: number;
  readonly createdAt: number;
  readonly usedAt: number | null;
};
