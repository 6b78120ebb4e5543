/** Finds the route for a path and method, with the patterns and the precedence of the API catalogue, and reads the query. */
import {
  canonicalPath,
  findPattern,
  indexPatterns,
  type PatternIndex,
  type PatternParameter,
  type PatternSegment,
  parsePattern,
  patternParameters,
} from '../domain/path.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import { printableName, textProblem } from '../kernel/validation.ts';
import { decodeFormText } from './body.ts';
import type { Route } from './route.ts';

type Routed = {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  readonly segments: readonly string[];
};

type Router = {
  /** Throws 400 for an ambiguous path, 404 for an unknown path, and 405 with `Allow` for another method. */
  route(method: string, target: string): Routed;
  /** Whether a route has this path, with any method. False for an ambiguous path. */
  knows(target: string): boolean;
};

type Entry = {
  readonly segments: readonly PatternSegment[];
  readonly parameters: readonly PatternParameter[];
  readonly methods: Map<string, Route>;
};

export function createRouter(routes: readonly Route[]): Router {
  const entries = new Map<string, Entry>();
  for (const route of routes) {
    const pattern = route.path === '/' ? ROOT : parsePattern(route.path);
    if (!pattern.ok) throw new TypeError(`${route.path} ${pattern.description}`);
    const { segments } = pattern;
    const entry = entries.get(route.path) ?? { segments, parameters: patternParameters(segments), methods: new Map() };
    entry.methods.set(route.anyMethod === true ? ANY : route.method, route);
    entries.set(route.path, entry);
  }
  const index: PatternIndex<Entry> = indexPatterns([...entries.values()]);
  const find = (segments: readonly string[]): Entry | undefined => {
    // No route ends with a slash, except `/` itself.
    if (segments.includes('')) return segments.length === 1 ? entries.get('/') : undefined;
    return findPattern(index, segments);
  };
  return {
    knows: (target) => {
      const path = canonicalPath(target);
      return path.ok && find(path.segments) !== undefined;
    },
    route: (method, target) => {
      const path = canonicalPath(target);
      if (!path.ok) throw new Refusal(path.code, path.description);
      const entry = find(path.segments);
      if (entry === undefined) throw new Refusal('not_found', 'this path does not exist');
      const route = entry.methods.get(method === 'HEAD' ? 'GET' : method) ?? entry.methods.get(ANY);
      if (route === undefined) {
        const allowed = allowedOf(entry).join(', ');
        throw new Refusal('method_not_allowed', `this path supports only ${allowed}`, { headers: { Allow: allowed } });
      }
      return { route, params: paramsOf(entry.parameters, path.segments), segments: path.segments };
    },
  };
}

/** RFC 9110 §10.2.1. Every route for GET also answers HEAD. */
function allowedOf({ methods }: Entry): string[] {
  return [...methods.keys(), ...(methods.has('GET') ? ['HEAD'] : [])].sort();
}

const ANY = '*';
/** Patterns have no empty segments, so the index cannot contain `/`. */
const ROOT = { ok: true, segments: [{ kind: 'literal', text: '' }] } as const;

export const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** `canonicalPath` accepts only valid UTF-8 escapes, so decoding cannot fail. */
function paramsOf(
  parameters: readonly PatternParameter[],
  segments: readonly string[],
): Readonly<Record<string, string>> {
  if (parameters.length === 0) return NO_PARAMS;
  const params: Record<string, string> = {};
  for (const { name, at, rest } of parameters) {
    params[name] = rest ? segments.slice(at).map(decodeURIComponent).join('/') : decode(segments[at] as string);
  }
  return params;
}

function decode(segment: string): string {
  return segment.includes('%') ? decodeURIComponent(segment) : segment;
}

/** Shared by all requests without a query. Never modified. */
export const NO_QUERY: URLSearchParams = new URLSearchParams();

/** The query of a request's target. */
export function queryOf(target: string): URLSearchParams {
  const at = target.indexOf('?');
  return at === -1 ? NO_QUERY : new URLSearchParams(target.slice(at + 1));
}

/** U+FFFD as `URLSearchParams` writes it. */
const REPLACED = '%EF%BF%BD';

/**
 * Throws 400 with the first parameter that the route does not take, that was given twice, or whose text no field takes. Pages and forms
 * take any parameter, but no such text either.
 */
export function refuseUnknownQuery(route: Route, query: URLSearchParams, target: string): void {
  const { anyMethod, freeQuery, body } = route;
  if (query === NO_QUERY || query.size === 0 || anyMethod === true) return;
  for (const [name, value] of query) {
    const problem = textProblem(name) ?? textProblem(value);
    if (problem !== null) throw refuseField(printableName(name), problem);
  }
  if (freeQuery === true || body?.types.includes('application/x-www-form-urlencoded') === true) return;
  // Other bytes than UTF-8 were read as U+FFFD.
  if (target.includes('%') && decodeFormText(target) === null && query.toString().includes(REPLACED))
    throw new Refusal('invalid_request', 'the query has an escape that is not UTF-8');
  for (const name of query.keys()) {
    if (route.query === undefined || !Object.hasOwn(route.query, name))
      throw refuseField(printableName(name), 'is not a known query parameter');
    if (query.getAll(name).length > 1) throw refuseField(printableName(name), 'was given more than once');
  }
}
