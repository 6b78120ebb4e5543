/** A session of the portal, and who is signed in by it. */
import type { Role, User } from './user.ts';

/** What an account may do in the portal; `service` accounts do not sign in. */
export type PortalRole = Exclude<Role, 'service'>;

export type SignInMethod = 'password' | 'passkey';

export type Session = {
  readonly id: string;
  readonly userId: string;
  readonly tokenHash: Uint8Array;
  readonly role: PortalRole;
  readonly method: SignInMethod;
  /** Where it began, and with which browser. */
  readonly address: string;
  readonly userAgent: string;
  readonly createdAt: number;
  readonly seenAt: number;
  readonly expiresAt: number;
};

/** The session with its user as it is now. */
export type SignedIn = Session & Pick<User, 'userName' | 'displayName' | 'permissions' | 'constraints'>;
