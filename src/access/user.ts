/** A portal account (contract §3 "Users"). */
export type Role = 'administrator' | 'operator' | 'viewer' | 'service';

/** What a user is limited to; a name that is absent limits nothing. */
export type Constraints = { readonly divisions?: readonly string[] };

export type User = {
  readonly id: string;
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
 * An active administrator is active and has the role, with which the portal lets it do everything. Whether it has a password yet does
 * not matter. The last one may neither lose that, nor the permissions by which rights are given.
 */
function isActiveAdministrator({ active, role }: User): boolean {
  return active && role === 'administrator';
}

/** What the change, or the deletion where `after` is null, takes from an active administrator. */
export function lostAdministration(before: User, after: User | null): LostAdministration | null {
  if (!isActiveAdministrator(before)) return null;
  if (after === null || !isActiveAdministrator(after)) return 'all';
  return givesRights(before) && !givesRights(after) ? 'permissions' : null;
}

export const GIVING_RIGHTS: readonly string[] = ['users:manage', 'applications:manage', 'catalogue:manage'];

function givesRights({ permissions }: User): boolean {
  return GIVING_RIGHTS.every((name) => permissions.includes(name));
}
