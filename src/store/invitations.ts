/** One-time links by which users set their passwords (`invitation`). */
import type { Invitation } from '../access/invitation.ts';
import type { User } from '../access/user.ts';
import type { AuditEntry } from '../resources/audit.ts';
import type { Statement } from './sqlite/driver/database.ts';

export type InvitationStore = {
  /** Takes the place of the user's earlier one. Throws `StaleWrite` where the user has changed since it was read, or is not active. */
  put(invitation: Invitation, user: User, audit: AuditEntry, first?: readonly Statement[]): Promise<void>;
  /** The user whose invitation can be used now. */
  find(tokenHash: Uint8Array, now: number): Promise<User | null>;
  /** Uses the invitation up, writes the password and ends the user's sessions. Throws `StaleWrite` when it was used, or the user changed, since `before` was read. */
  use(
    invitation: { readonly tokenHash: Uint8Array; readonly now: number },
    change: { readonly before: User; readonly passwordHash: string; readonly updatedAt: number },
    audit: AuditEntry,
  ): Promise<void>;
};
