/** Who could make a request: the rule that matches it, the applications that hold the rule's scope, and what others lack. */

import type { ScopeHolder } from '../domain/application.ts';
import { type Catalogue, matchRule, type RuleMatch } from '../domain/catalogue.ts';
import { canonicalPath } from '../domain/path.ts';
import { everyRow } from '../store/port/resource.ts';
import type { Store } from '../store/port/store.ts';

/** Applications read at a time to find who may call a path. */
export const REACH_PAGE = 500;

export type Reach =
  /** Nobody: no rule matches, or the path is ambiguous. */
  | { readonly rule: null; readonly reason: string }
  | { readonly rule: RuleMatch; readonly applications: readonly Reacher[] };

type Reacher = Pick<ScopeHolder, 'id' | 'name' | 'clientId' | 'userName'> & {
  /** Why the application cannot make the request although it holds the scope, or null. */
  readonly obstacle: string | null;
};

/** `target` is a request target. Its query is ignored. */
export async function reachOf(
  { catalogue, store }: { readonly catalogue: Catalogue; readonly store: Pick<Store, 'applications'> },
  method: string,
  target: string,
): Promise<Reach> {
  const path = canonicalPath(target);
  if (!path.ok) return { rule: null, reason: path.description };
  const rule = matchRule(catalogue, method, path.segments);
  if (rule === null) return { rule: null, reason: 'no rule of the API catalogue names this path and method' };
  const applications: Reacher[] = [];
  const list = (after: string) => store.applications.holders(rule, after, REACH_PAGE);
  for await (const holder of everyRow(REACH_PAGE, list)) applications.push(reacher(holder, rule.permission));
  return { rule, applications };
}

function reacher(
  { id, name, clientId, active, userName, userActive, permitted }: ScopeHolder,
  permission: string,
): Reacher {
  const obstacles = [
    active ? [] : ['the application is not active'],
    userActive ? [] : [`the user ${userName} is not active`],
    permitted ? [] : [`the user ${userName} lacks the permission ${permission}`],
  ].flat();
  return { id, name, clientId, userName, obstacle: obstacles.length === 0 ? null : obstacles.join(', ') };
}

/** An application without the scope, and all that keeps it from the request. */
type Near = Pick<ScopeHolder, 'id' | 'name' | 'clientId' | 'userName'> & { readonly missing: readonly string[] };

/** `isWhole` is false if there are more applications than were read. */
export type Nearest = { readonly near: readonly Near[]; readonly isWhole: boolean };

/** Applications without the scope that are read at most, some milliseconds for each page of `REACH_PAGE`; and how many are shown. */
export const NEAR_READ: number = 20 * REACH_PAGE;
export const NEAR_SHOWN = 10;

/** Applications without the scope. The first ones lack the least. */
export async function readNear({ applications }: Pick<Store, 'applications'>, rule: RuleMatch): Promise<Nearest> {
  let near: Near[] = [];
  let after = '';
  for (let read = 0; read < NEAR_READ; read += REACH_PAGE) {
    const page = await applications.others(rule, after, REACH_PAGE);
    const found = page.map((one) => nearOf(one, rule));
    near = [...near, ...found].toSorted((a, b) => a.missing.length - b.missing.length).slice(0, NEAR_SHOWN);
    const last = page.at(-1);
    if (last === undefined || page.length < REACH_PAGE) return { near, isWhole: true };
    after = last.id;
  }
  return { near, isWhole: (await applications.others(rule, after, 1)).length === 0 };
}

function nearOf(application: ScopeHolder, { scope, permission }: RuleMatch): Near {
  const { id, name, clientId, active, userName, userActive, permitted } = application;
  const missing = [
    `the scope ${scope}`,
    ...(permitted ? [] : [`the permission ${permission} of the user ${userName}`]),
    ...(active ? [] : ['it is not active']),
    ...(userActive ? [] : [`the user ${userName} is not active`]),
  ];
  return { id, name, clientId, userName, missing };
}
