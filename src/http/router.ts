/** Which route serves a path and method: the same patterns and the same precedence as the API catalogue. */
import { findPattern, indexPatterns, type PatternIndex } from '../access/catalogue-index.ts';
import { type PatternSegment, parsePattern } from '../access/catalogue-pattern.ts';
import { canonicalPath } from '../access/path.ts';
import { Refusal } from '../refusal.ts';
import type { Route } from './route.ts';

export type Routed = {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  readonly segments: readonly string[];
};

export type Router = {
  /** Throws 400 for an ambiguous path, 404 for an unknown one, 405 with `Allow` for a known one with another method. */
  route(method: string, target: string): Routed;
  /** Whether a path is one that this router has, with whatever method. An ambiguous one is not. */
  knows(target: string): boolean;
};

type Entry = { readonly segments: readonly PatternSegment[]; readonly methods: Map<string, Route> };

export function createRouter(routes: readonly Route[]): Router {
  const entries = new Map<string, Entry>();
  for (const route of routes) {
    const pattern = parsePattern(route.path);
    if (!pattern.ok) throw new TypeError(`${route.path} ${pattern.description}`);
    const entry = entries.get(route.path) ?? { segments: pattern.segments, methods: new Map<string, Route>() };
    entry.methods.set(route.anyMethod === true ? ANY : route.method, route);
    entries.set(route.path, entry);
  }
  const index: PatternIndex<Entry> = indexPatterns([...entries.values()]);
  const find = (segments: readonly string[]): Entry | undefined =>
    segments.includes('') ? undefined : findPattern(index, segments);
  return {
    knows: (target) => {
      const path = canonicalPath(target);
      return path.ok && find(path.segments) !== undefined;
    },
    route: (method, target) => {
      const path = canonicalPath(target);
      if (!path.ok) throw new Refusal(path.code, path.description);
      const entry = find(path.segments);
      if (entry === undefined) throw new Refusal('not_found', 'there is nothing at this path');
      const route = entry.methods.get(method === 'HEAD' ? 'GET' : method) ?? entry.methods.get(ANY);
      if (route === undefined) {
        const allowed = [...entry.methods.keys()].sort();
        throw new Refusal('method_not_allowed', `this path takes ${allowed.join(', ')}`, {
          headers: { Allow: allowed.join(', ') },
        });
      }
      return { route, params: paramsOf(entry.segments, path.segments), segments: path.segments };
    },
  };
}

const ANY = '*';

/** `canonicalPath` lets only valid UTF-8 escapes through, so decoding cannot fail. */
function paramsOf(pattern: readonly PatternSegment[], segments: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [at, segment] of pattern.entries()) {
    if (segment.kind === 'parameter') params[segment.name] = decodeURIComponent(segments[at] as string);
    if (segment.kind === 'rest') params[segment.name] = segments.slice(at).map(decodeURIComponent).join('/');
  }
  return params;
}
