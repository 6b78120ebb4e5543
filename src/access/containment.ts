/**
 * A caller grants no more than it holds (contract §4.4).
 *
 * Users and applications: anyone who creates, changes, takes over or deletes one must hold everything that it holds before and after the
 * change.
 *
 * Products: a change of rules must not add a request that the caller could not make to a scope that an application holds. Otherwise a
 * caller with `catalogue:manage` could open any path to its own scopes. A scope that nobody holds yet may be given any rule, because only a
 * caller with every right can grant it.
 *
 * Customers (contract §8.4): the administrators of every customer hold the scopes that are offered. A caller that offers a scope, or makes
 * an administrator of a customer, must hold the scope or role that it offers.
 */

import type { Acting, Held } from '../domain/acting.ts';
import { offeredScopes, type Product, type Rule } from '../domain/catalogue.ts';
import { overlaps, type PatternSegment, parsePattern, patternShape } from '../domain/path.ts';
import type { Role, User } from '../domain/user.ts';
import type { FieldProblem } from '../kernel/refusal.ts';
import { ADMINISTRATION_SCOPES } from './built-in.ts';
import { insufficientPermission } from './gate.ts';

/** The rights of a user, its own and those of its applications. */
type UserRights = Pick<User, 'customerId' | 'role' | 'permissions' | 'constraints'>;

/** From fewest to most rights in the portal. Each role includes the ones before it; `service` accounts cannot sign in. */
const ROLES: readonly Role[] = ['service', 'viewer', 'operator', 'administrator'];

/**
 * True for an administrator in the operator's portal, and for a token with every scope and permission of the administration. Such a caller
 * could give itself all other rights, so it may grant rights that nobody holds yet, such as the scopes of a new product.
 */
function holdsEverything({ through, customerId, role, scopes, permissions }: Held): boolean {
  if (customerId !== null) return false;
  if (through === 'session') return role === 'administrator';
  return ADMINISTRATION_SCOPES.every((name) => scopes.includes(name) && permissions.includes(name));
}

/**
 * Throws 401 `insufficient_permission` unless the caller has every right of the user, its portal role included. `offered`: the scopes that
 * administrators of customers hold besides those of their own resources.
 */
export function requireRightsOfUser({ authority }: Acting, user: UserRights, offered: readonly string[]): void {
  if (authority === 'unlimited') return;
  // A token with fewer scopes must not make its user an administrator: administrators may do everything in the portal.
  const isWhole = holdsEverything(authority) || isCustomersAdministrator(authority);
  const role = authority.role === 'administrator' && !isWhole ? 'operator' : authority.role;
  const isOffered = user.customerId !== null && user.role === 'administrator';
  refuseLacking([
    ...lackingOf({ ...authority, role }, user),
    ...(isOffered ? offered.flatMap((scope) => lackingToOffer(authority, scope, 'role')) : []),
  ]);
}

/** The same for a portal link: its session has the rights of an administrator of the customer, in all divisions. */
export function requireRightsOfLink({ authority }: Acting, role: Role, offered: readonly string[]): void {
  if (authority === 'unlimited' || role !== 'administrator') return;
  const divisions = lackingDivisions(authority.constraints.divisions, undefined);
  refuseLacking([
    ...offered.flatMap((scope) => lackingToOffer(authority, scope, 'role')),
    ...divisions.map(({ problem }) => ({ field: 'role', problem })),
  ]);
}

/** Throws 401 `insufficient_permission` and names the scopes that become offered and that the caller does not hold. */
export function requireRightsOfOffer({ authority }: Acting, before: Product | null, after: Product | null): void {
  if (authority === 'unlimited' || after === null) return;
  const already = before === null ? [] : offeredScopes([before]);
  refuseLacking(
    [...after.scopes.entries()].flatMap(([at, { name, offered }]) =>
      offered === true && !already.includes(name) ? lackingToOffer(authority, name, `scopes[${at}].offered`) : [],
    ),
  );
}

/** Administrators of customers hold an offered scope together with its permission. */
function lackingToOffer(held: Held, scope: string, field: string): FieldProblem[] {
  if (holdsEverything(held) || isCustomersAdministrator(held)) return [];
  return [
    ...(held.scopes.includes(scope) ? [] : [{ field, problem: `the scope ${scope}` }]),
    ...(held.permissions.includes(scope) ? [] : [{ field, problem: `the permission ${scope}` }]),
  ];
}

function isCustomersAdministrator({ through, customerId, role }: Held): boolean {
  return customerId !== null && through === 'session' && role === 'administrator';
}

/** The same for an application: its scopes, and the rights of the user that it acts as. */
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

/** Whether the check passes. Pages use it to leave out actions that would be refused. */
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

/** Access to all divisions is more than access to a list of them. This also applies to callers that hold everything else. */
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

/** How many missing rights the message names. */
const NAMED_MAX = 5;

/** Throws unless the list is empty. Each `problem` is a missing right, such as `the scope orders:view`. */
function refuseLacking(lacking: readonly FieldProblem[]): void {
  if (lacking.length === 0) return;
  const named = lacking.slice(0, NAMED_MAX).map(({ problem }) => problem);
  const more = lacking.length > NAMED_MAX ? [`${lacking.length - NAMED_MAX} more`] : [];
  throw insufficientPermission(
    `this takes rights that the caller does not hold: ${[...named, ...more].join(', ')}`,
    lacking.map(({ field, problem }) => ({ field, problem: `needs ${problem}, which the caller does not hold` })),
  );
}

type RuleChange = {
  /** Null for a new product. */
  readonly before: Product | null;
  /** Null for one to be deleted. */
  readonly after: Product | null;
  readonly others: readonly Product[];
  /** Whether any application holds the scope, or customers can have it. */
  readonly isHeld: (scope: string) => Promise<boolean>;
};

/** One method of one rule. */
type Opening = {
  readonly method: string;
  readonly segments: readonly PatternSegment[];
  readonly shape: string;
  readonly scope: string;
  readonly permission: string;
  readonly field: string;
  readonly path: string;
};

/** Throws 401 `insufficient_permission` and names the rules of `after` that open more than the caller may call. */
export async function requireRightsOfRules({ authority }: Acting, change: RuleChange): Promise<void> {
  if (authority === 'unlimited' || holdsEverything(authority)) return;
  const before = openingsOf(change.before);
  const after = openingsOf(change.after);
  const opened = notIn(before, after);
  const closed = notIn(after, before);
  const lacking: FieldProblem[] = [];
  for (const opening of opened) {
    if (!(await change.isHeld(opening.scope))) continue;
    const replaced = before.filter((other) => other.shape === opening.shape && other.method === opening.method);
    const beyond = replaced.find((other) => !mayCall(authority, other));
    if (replaced.length === 0 || beyond !== undefined) lacking.push(lackingFor(opening, beyond));
  }
  const unheld = closed.filter((opening) => !mayCall(authority, opening));
  if (unheld.length > 0) {
    // Requests of a removed rule fall to wider rules of this and other products.
    const remaining = [...after, ...change.others.flatMap((product) => openingsOf(product))];
    for (const opening of unheld) {
      const wider = await heldInstead(opening, remaining, change.isHeld);
      if (wider !== null) lacking.push({ ...lackingFor(wider, opening), field: 'rules' });
    }
  }
  refuseLacking(lacking);
}

/** The first of the remaining rules that would take requests of a removed one, and whose scope someone holds. */
async function heldInstead(
  removed: Opening,
  remaining: readonly Opening[],
  isHeld: RuleChange['isHeld'],
): Promise<Opening | null> {
  for (const wider of remaining) {
    if (isSameNeed(wider, removed) || wider.method !== removed.method) continue;
    if (overlaps(wider.segments, removed.segments) && (await isHeld(wider.scope))) return wider;
  }
  return null;
}

/** Rules for GET also match HEAD. */
function openingsOf(product: Product | null): Opening[] {
  return (product?.rules ?? []).flatMap((rule, at) => {
    const pattern = parsePattern(rule.path);
    if (!pattern.ok) return [];
    const { segments } = pattern;
    const { scope, permission = scope, path } = rule;
    const shared = { segments, shape: patternShape(segments), scope, permission, field: `rules[${at}]`, path };
    return methodsOf(rule).map((method) => ({ ...shared, method }));
  });
}

function methodsOf({ methods }: Rule): string[] {
  return [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)];
}

/** The openings that are not in `others`. */
function notIn(others: readonly Opening[], openings: readonly Opening[]): Opening[] {
  const known = new Set(others.map(keyOf));
  return openings.filter((opening) => !known.has(keyOf(opening)));
}

function keyOf({ method, shape, scope, permission }: Opening): string {
  return [method, shape, scope, permission].join(' ');
}

function isSameNeed(one: Opening, other: Opening): boolean {
  return one.scope === other.scope && one.permission === other.permission;
}

function mayCall({ scopes, permissions }: Held, { scope, permission }: Opening): boolean {
  return scopes.includes(scope) && permissions.includes(permission);
}

/** `formerly` is the rule that guarded the path before; undefined if no rule did. */
function lackingFor({ method, path, scope, field }: Opening, formerly: Opening | undefined): FieldProblem {
  const needed =
    formerly === undefined
      ? 'every right of the administration'
      : `the scope ${formerly.scope} and the permission ${formerly.permission}`;
  return { field, problem: `${needed} to open ${method} ${path} to the scope ${scope}` };
}
