/**
 * Nobody grants more than they hold (contract §4). Whoever creates, changes, takes over or deletes a user or an application must hold
 * all that it holds, before the change and after it. Products: `catalogue-containment.ts`.
 */

import type { FieldProblem } from '../kernel/refusal.ts';
import type { Acting, Held } from '../resources/acting.ts';
import { ADMINISTRATION_SCOPES } from './built-in.ts';
import { insufficientPermission } from './gate.ts';
import type { Role, User } from './user.ts';

/** What a user may do, by itself and through its applications. */
export type UserRights = Pick<User, 'role' | 'permissions' | 'constraints'>;

/**
 * From least to most. A `service` account does not sign in, so its role opens nothing: everyone holds it. Each other role may do in
 * the portal what those before it may.
 */
const ROLES: readonly Role[] = ['service', 'viewer', 'operator', 'administrator'];

/**
 * True for a caller that could give itself the rest: an administrator in the portal, and a token with every scope and permission of the
 * administration. It may grant what nobody holds yet, such as the scopes of a new product.
 */
export function holdsEverything({ through, role, scopes, permissions }: Held): boolean {
  if (through === 'session') return role === 'administrator';
  return ADMINISTRATION_SCOPES.every((name) => scopes.includes(name) && permissions.includes(name));
}

/** Throws 401 `insufficient_permission` unless whoever acts holds all that the user holds, and may use the portal as it may. */
export function requireRightsOfUser({ authority }: Acting, user: UserRights): void {
  if (authority === 'unlimited') return;
  // The portal lets an administrator do everything: a token whose scopes say less must not become one.
  const role = authority.role === 'administrator' && !holdsEverything(authority) ? 'operator' : authority.role;
  refuseLacking(lackingOf({ ...authority, role }, user));
}

/** The same for an application: its scopes, and what the user that it acts as holds. */
export function requireRightsOfApplication(
  { authority }: Acting,
  scopes: readonly string[],
  user: UserRights | null,
): void {
  if (authority === 'unlimited') return;
  const lacking = holdsEverything(authority)
    ? []
    : missing('scopes', 'scope', scopes, (scope) => authority.scopes.includes(scope));
  const ofUser = user === null ? [] : lackingOf(authority, user);
  refuseLacking([...lacking, ...ofUser.map(({ problem }) => ({ field: 'userId', problem }))]);
}

/** Whether the caller would pass. For pages, which offer nothing that would be refused. */
export function isAllowed(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}

function lackingOf(held: Held, { role, permissions, constraints }: UserRights): FieldProblem[] {
  const everything = holdsEverything(held);
  return [
    ...(everything || ROLES.indexOf(role) <= ROLES.indexOf(held.role)
      ? []
      : [{ field: 'role', problem: `the role ${role}` }]),
    ...(everything ? [] : missing('permissions', 'permission', permissions, (name) => held.permissions.includes(name))),
    ...lackingDivisions(held.constraints.divisions, constraints.divisions),
  ];
}

/** A user without a limit has more than one with: whoever holds everything else is held to its divisions too. */
function lackingDivisions(held: readonly string[] | undefined, asked: readonly string[] | undefined): FieldProblem[] {
  if (held === undefined) return [];
  if (asked === undefined) return [{ field: 'constraints.divisions', problem: 'access without a limit to divisions' }];
  return missing('constraints.divisions', 'division', asked, (division) => held.includes(division));
}

function missing(field: string, noun: string, asked: readonly string[], holds: (name: string) => boolean) {
  return asked.flatMap((name, at): FieldProblem[] =>
    holds(name) ? [] : [{ field: `${field}[${at}]`, problem: `the ${noun} ${name}` }],
  );
}

/** What is lacking is named in the sentence, at most so many of it. */
const NAMED_MAX = 5;

/** Throws unless the list is empty. Each `problem` is what is lacking: `the scope orders:view`. */
export function refuseLacking(lacking: readonly FieldProblem[]): void {
  if (lacking.length === 0) return;
  const named = lacking.slice(0, NAMED_MAX).map(({ problem }) => problem);
  const more = lacking.length > NAMED_MAX ? [`${lacking.length - NAMED_MAX} more`] : [];
  throw insufficientPermission(
    `this takes rights that the caller does not hold: ${[...named, ...more].join(', ')}`,
    lacking.map(({ field, problem }) => ({ field, problem: `needs ${problem}, which the caller does not hold` })),
  );
}
