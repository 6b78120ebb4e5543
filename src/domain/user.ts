/** Portal accounts (contract §3.3), and how people sign in to them: sessions, passkeys, invitations. */

/** A session ends after this time without a request, and after `SESSION_MS` at the latest. */
export const SESSION_IDLE_MS: number = 30 * 60_000;

export const SESSION_MS: number = 12 * 3_600_000;

export type Role = 'administrator' | 'operator' | 'viewer' | 'service';

/** The limits of a user. An absent member is no limit. */
export type Constraints = { readonly divisions?: readonly string[] };

export type User = {
  readonly id: string;
  /** The customer that it belongs to; null: the operator's own. */
  readonly customerId: string | null;
  readonly userName: string;
  readonly displayName: string | null;
  readonly email: string | null;
  readonly active: boolean;
  readonly role: Role;
  readonly permissions: readonly string[];
  readonly constraints: Constraints;
  readonly passwordHash: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};

export type LostAdministration = 'all' | 'permissions';

/**
 * An active account of the operator with the role `administrator`, with or without a password. The last one keeps the role, and the
 * permissions that let it give rights.
 */
function isActiveAdministrator({ active, role, customerId }: User): boolean {
  return active && role === 'administrator' && customerId === null;
}

/** Returns the rights that an active administrator loses through a change, or through a deletion if `after` is null. */
export function lostAdministration(before: User, after: User | null): LostAdministration | null {
  if (!isActiveAdministrator(before)) return null;
  if (after === null || !isActiveAdministrator(after)) return 'all';
  return givesRights(before) && !givesRights(after) ? 'permissions' : null;
}

export const GIVING_RIGHTS: readonly string[] = ['users:manage', 'applications:manage', 'catalogue:manage'];

function givesRights({ permissions }: User): boolean {
  return GIVING_RIGHTS.every((name) => permissions.includes(name));
}

/** The role of a signed-in account. `service` accounts cannot sign in. */
export type PortalRole = Exclude<Role, 'service'>;

/**
 * `link`: a link that the operator made for a customer. `token`: a token for programs of the operator that act for a customer, which no
 * cookie has. Both belong to no user.
 */
export type SignInMethod = 'password' | 'passkey' | 'link' | 'token';

/** A session of the portal. */
export type Session = {
  readonly id: string;
  /** Null for a session that began with a link. */
  readonly userId: string | null;
  /** The customer whose portal it opens; null: the operator's. */
  readonly customerId: string | null;
  readonly tokenHash: Uint8Array;
  readonly role: PortalRole;
  readonly method: SignInMethod;
  /** The address and browser that it began from. */
  readonly address: string;
  readonly userAgent: string;
  /** The page of the operator's product to return to, if the link named one. */
  readonly returnUrl: string | null;
  readonly createdAt: number;
  readonly seenAt: number;
  readonly expiresAt: number;
};

/** The session with the current state of its user. */
export type SignedIn = Session &
  Pick<User, 'userName' | 'displayName' | 'permissions' | 'constraints'> & {
    /** Empty in the operator's portal. */
    readonly customerName: string;
  };

/** Passkeys of one user. */
export const PASSKEYS_PER_USER_MAX = 20;

/** A passkey that a user signs in with. */
export type Passkey = {
  readonly id: string;
  readonly userId: string;
  readonly credentialId: Uint8Array;
  /** COSE (RFC 9052). */
  readonly publicKey: Uint8Array;
  /** The host name that it is registered for. */
  readonly host: string;
  readonly name: string;
  readonly counter: number;
  readonly createdAt: number;
  readonly usedAt: number | null;
};

/** A one-time link that lets a user set a password. */
export type Invitation = {
  readonly userId: string;
  readonly tokenHash: Uint8Array;
  readonly createdAt: number;
  readonly expiresAt: number;
};
