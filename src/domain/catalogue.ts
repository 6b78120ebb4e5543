/**
 * The API catalogue: the scope and the permission that each request needs (contract §3.2). A request that no rule matches is refused. Of
 * several rules that match a path "the longest literal match wins" (`indexPatterns`). Rules that match exactly the same paths conflict:
 * `conflictsOf` finds them before a product is stored.
 */

import type { FieldProblem } from '../kernel/refusal.ts';
import { SCOPE_NAME } from './credential.ts';
import { RULES_PER_PRODUCT_MAX } from './limits.ts';
import {
  findPattern,
  indexPatterns,
  type PatternIndex,
  type PatternParameter,
  type PatternSegment,
  parsePattern,
  patternParameters,
  patternShape,
  rawReserved,
} from './path.ts';

/** `permission` is the one that the user needs; without it, the permission with the name of the scope. */
export type Rule = {
  readonly methods: readonly string[];
  readonly path: string;
  readonly scope: string;
  readonly permission?: string;
};
export type Product = {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly ProductScope[];
  readonly rules: readonly Rule[];
};

/** Made by `compileCatalogue`, read by `matchRule`: an index per method. */
export type Catalogue = ReadonlyMap<string, PatternIndex<CompiledRule>>;

/** `params` are percent-encoded as in the path. The segments of a `{rest*}` are joined by slashes. */
export type RuleMatch = {
  readonly scope: string;
  readonly permission: string;
  readonly pattern: string;
  readonly productName: string;
  readonly params: Readonly<Record<string, string>>;
};

/** A rule that matches the same paths as an earlier one. Fields are relative to their product: `rules[3].path`. */
type RuleConflict = FieldProblem & {
  readonly productId: string;
  readonly otherProductId: string;
  readonly otherField: string;
};

/**
 * Compiles products in which `problemsOf` finds nothing. Where rules conflict nonetheless, the earlier product's wins.
 * A `HEAD` request is matched as `GET` by every `GET` rule that has no `HEAD` rule of the same shape beside it.
 *
 * @throws TypeError for an invalid pattern: without its rule, a wider one could match its paths.
 */
export function compileCatalogue(products: readonly Product[]): Catalogue {
  const byMethod = new Map<string, CompiledRule[]>();
  for (const product of products) {
    for (const rule of product.rules) {
      const compiled = compileRule(product, rule);
      for (const method of rule.methods) {
        const rules = byMethod.get(method) ?? [];
        rules.push(compiled);
        byMethod.set(method, rules);
      }
    }
  }
  const heads = byMethod.get('HEAD');
  // Of two with one shape the earlier wins, so HEAD rules go first.
  if (heads !== undefined) byMethod.set('HEAD', [...heads, ...(byMethod.get('GET') ?? [])]);
  const catalogue = new Map([...byMethod].map(([method, rules]) => [method, indexPatterns(rules)]));
  const gets = catalogue.get('GET');
  if (heads === undefined && gets !== undefined) catalogue.set('HEAD', gets);
  return catalogue;
}

/**
 * The rule for a request, or null if none matches. `path` is the result of `canonicalPath`, as text or as segments. An empty segment, and
 * therefore a trailing slash, matches nothing. Neither does a path that would match another rule with its reserved characters decoded
 * (`/users/%40me` with a rule for `/users/@me`), because the server behind may read either. Cost: see `PatternIndex`.
 */
export function matchRule(catalogue: Catalogue, method: string, path: string | readonly string[]): RuleMatch | null {
  const index = catalogue.get(method);
  if (index === undefined) return null;
  const segments = typeof path === 'string' ? path.slice(1).split('/') : path;
  if (segments.includes('')) return null;
  const rule = findPattern(index, segments);
  if (rule === undefined) return null;
  if (segments.some(isEncoded) && findPattern(index, segments.map(rawReserved)) !== rule) return null;
  const { scope, permission, pattern, productName } = rule;
  return { scope, permission, pattern, productName, params: paramsOf(rule, segments) };
}

/** The problems of one product, without regard to the others. Fields are relative to it: `rules[0].scope`. */
export function problemsOf(product: Product): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const check = (fine: boolean, field: string, problem: string): void => {
    if (!fine) problems.push({ field, problem });
  };
  const declared = new Set<string>();
  for (const [at, { name }] of product.scopes.entries()) {
    check(SCOPE_NAME.test(name), `scopes[${at}].name`, 'is not of the form <resource>:<action>');
    check(!declared.has(name), `scopes[${at}].name`, 'repeats an earlier scope');
    declared.add(name);
  }
  check(product.rules.length <= RULES_PER_PRODUCT_MAX, 'rules', `has more than ${RULES_PER_PRODUCT_MAX} items`);
  for (const [at, rule] of product.rules.slice(0, RULES_PER_PRODUCT_MAX).entries()) {
    check(rule.methods.length > 0, `rules[${at}].methods`, 'is empty');
    const methods = new Set<string>();
    for (const [i, method] of rule.methods.entries()) {
      check(METHOD.test(method), `rules[${at}].methods[${i}]`, 'is not a method in upper case');
      check(!methods.has(method), `rules[${at}].methods[${i}]`, 'repeats an earlier method');
      methods.add(method);
    }
    const pattern = parsePattern(rule.path);
    if (!pattern.ok) check(false, `rules[${at}].path`, pattern.description);
    check(declared.has(rule.scope), `rules[${at}].scope`, 'is not a scope of this product');
    const { permission } = rule;
    check(
      permission === undefined || PERMISSION_NAME.test(permission),
      `rules[${at}].permission`,
      'is not a permission name',
    );
  }
  return problems;
}

/**
 * Every rule that matches exactly the same paths and method as an earlier one. Pass the changing product as the last one: conflicts are
 * reported for the later rule. Invalid patterns are skipped.
 */
export function conflictsOf(products: readonly Product[]): RuleConflict[] {
  const conflicts: RuleConflict[] = [];
  const owners = new Map<string, OwnedRule>();
  for (const product of products) {
    for (const [at, rule] of product.rules.entries()) {
      const pattern = parsePattern(rule.path);
      if (!pattern.ok) continue;
      const owned = { product, rule, field: `rules[${at}].path` };
      for (const method of new Set(rule.methods)) {
        const key = `${method} ${patternShape(pattern.segments)}`;
        const earlier = owners.get(key);
        if (earlier === undefined) owners.set(key, owned);
        else conflicts.push(conflictBetween(owned, earlier, method));
      }
    }
  }
  return conflicts;
}

type OwnedRule = { readonly product: Product; readonly rule: Rule; readonly field: string };

function conflictBetween({ product, rule, field }: OwnedRule, earlier: OwnedRule, method: string): RuleConflict {
  const problem =
    `takes ${method} ${rule.path} for ${needs(rule)}, but ${earlier.field} of product ${earlier.product.name} ` +
    `takes ${method} ${earlier.rule.path} for ${needs(earlier.rule)}`;
  return {
    field,
    problem,
    productId: product.id,
    otherProductId: earlier.product.id,
    otherField: earlier.field,
  };
}

type CompiledRule = Omit<RuleMatch, 'params'> & {
  readonly segments: readonly PatternSegment[];
  readonly params: readonly PatternParameter[];
};

/** A token of RFC 9110 §9.1; methods are case-sensitive and registered in upper case. */
export const METHOD: RegExp = /^[A-Z][A-Z-]{0,19}$/;
export const PERMISSION_NAME: RegExp = /^[A-Za-z0-9._:/-]{1,128}$/;
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

function compileRule(product: Product, rule: Rule): CompiledRule {
  const pattern = parsePattern(rule.path);
  if (!pattern.ok) throw new TypeError(`product ${product.name}: ${rule.path} ${pattern.description}`);
  const { segments } = pattern;
  const params = patternParameters(segments);
  const { scope, permission = scope, path } = rule;
  return { scope, permission, pattern: path, productName: product.name, segments, params };
}

function paramsOf(rule: CompiledRule, segments: readonly string[]): Readonly<Record<string, string>> {
  if (rule.params.length === 0) return NO_PARAMS;
  const params: Record<string, string> = {};
  for (const { name, at, rest } of rule.params) {
    params[name] = rest ? segments.slice(at).join('/') : (segments[at] as string);
  }
  return params;
}

function isEncoded(segment: string): boolean {
  return segment.includes('%');
}

function needs({ scope, permission = scope }: Rule): string {
  return permission === scope ? scope : `${scope} with permission ${permission}`;
}

export type ProductScope = {
  readonly name: string;
  readonly description: string;
  /** Administrators of customers may give it to the applications of their customer. */
  readonly offered?: boolean;
};

/** The names of the scopes that the operator offers to customers. */
export function offeredScopes(products: readonly Product[]): string[] {
  return products.flatMap(({ scopes }) => scopes.filter(({ offered }) => offered === true).map(({ name }) => name));
}

/** An API product as it is stored. */
export type ApiProduct = {
  readonly id: string;
  readonly name: string;
  readonly builtIn: boolean;
  readonly scopes: readonly ProductScope[];
  readonly rules: readonly Rule[];
  readonly createdAt: number;
  readonly updatedAt: number;
};
