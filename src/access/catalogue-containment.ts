/**
 * Nobody opens an API that they cannot call (contract §4). Whoever may change the catalogue decides which scope and permission open a
 * path, and could so hand a path to scopes that they hold. A change of rules therefore may not give a request that the caller could not
 * make to a scope that some application holds. Scopes that nobody holds yet may be given anything: only who holds everything can grant
 * them.
 */

import type { FieldProblem } from '../kernel/refusal.ts';
import type { Acting, Held } from '../resources/acting.ts';
import type { Product, Rule } from './catalogue.ts';
import { overlaps, type PatternSegment, parsePattern, patternShape } from './catalogue-pattern.ts';
import { holdsEverything, refuseLacking } from './containment.ts';

type Change = {
  /** Null for a new product. */
  readonly before: Product | null;
  /** Null for one to be deleted. */
  readonly after: Product | null;
  readonly others: readonly Product[];
  /** Whether any application holds the scope. */
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

/** Throws 401 `insufficient_permission`, naming the rules of `after` that would open more than the caller may call. */
export async function requireRightsOfRules({ authority }: Acting, change: Change): Promise<void> {
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
    // A rule that is gone leaves its requests to wider ones: of this product, and of others.
    const remaining = [...after, ...change.others.flatMap((product) => openingsOf(product))];
    for (const opening of unheld) {
      for (const heir of remaining) {
        if (isSameNeed(heir, opening) || heir.method !== opening.method) continue;
        if (!overlaps(heir.segments, opening.segments) || !(await change.isHeld(heir.scope))) continue;
        lacking.push({ ...lackingFor(heir, opening), field: 'rules' });
        break;
      }
    }
  }
  refuseLacking(lacking);
}

/** HEAD is answered by rules for GET, too. */
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

/** Those of `openings` that `others` does not have. */
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

/** `formerly` is the rule that has guarded the path so far; without one it was open to nobody. */
function lackingFor({ method, path, scope, field }: Opening, formerly: Opening | undefined): FieldProblem {
  const needed =
    formerly === undefined
      ? 'every right of the administration'
      : `the scope ${formerly.scope} and the permission ${formerly.permission}`;
  return { field, problem: `${needed} to open ${method} ${path} to the scope ${scope}` };
}
