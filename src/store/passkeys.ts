/** Passkeys of portal accounts (`passkey`). */
import type { Passkey } from '../access/passkey.ts';
import type { AuditEntry } from '../resources/audit.ts';

export type PasskeyStore = {
  add(passkey: Passkey, audit: AuditEntry): Promise<void>;
  find(credentialId: Uint8Array): Promise<Passkey | null>;
  ofUser(userId: string): Promise<Passkey[]>;
  /** Notes a signature. Throws `StaleWrite` where another one was noted since `before` was read. */
  use(before: Passkey, counter: number, usedAt: number): Promise<void>;
  /** Throws `StaleWrite` where it is gone. */
  remove(passkey: Pick<Passkey, 'id' | 'userId'>, audit: AuditEntry): Promise<void>;
};
