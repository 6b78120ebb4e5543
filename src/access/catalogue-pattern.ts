/** The path of a rule, `/services/api/x/{name}/{rest*}`: read into segments, and compared by shape (contract §3). */
import { PATTERN_SEGMENTS_MAX, REQUEST_TARGET_BYTES } from '../kernel/limits/limits.ts';
import { canonicalPath, rawReserved } from './path.ts';

/** A literal matches itself, a parameter any one segment, the rest (only last) one or more segments; none an empty one. */
export type PatternSegment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'parameter' | 'rest'; readonly name: string };

/** A refusal's `description` is a predicate about the path, to be put after a field's name: `ends with a slash`. */
export type PatternVerdict =
  | { readonly ok: true; readonly segments: readonly PatternSegment[] }
  | { readonly ok: false; readonly code: 'invalid_pattern'; readonly description: string };

/**
 * Reads a pattern: 1 to 32 segments, each a literal, `{name}` or, as the last one, `{name*}`; names are distinct. Literals
 * are canonical (`canonicalPath`) with reserved characters raw, so that one path has one pattern of literals.
 */
export function parsePattern(path: string): PatternVerdict {
  if (path.length > REQUEST_TARGET_BYTES) return refuse(`is longer than ${REQUEST_TARGET_BYTES} bytes`);
  const withoutNames = path.replace(/\{[^/{}]*\}/g, '-');
  const canonical = canonicalPath(withoutNames);
  if (!canonical.ok) return refuse(`is no canonical path: ${canonical.description}`);
  if (canonical.path !== withoutNames) return refuse('has a query or an escape in lower case');
  if (rawReserved(withoutNames) !== withoutNames) return refuse('encodes a reserved character that must stand raw');

  const parts = path.slice(1).split('/');
  if (parts.length > PATTERN_SEGMENTS_MAX) return refuse(`has more than ${PATTERN_SEGMENTS_MAX} segments`);
  if (parts.at(-1) === '') return refuse('ends with a slash');
  const segments: PatternSegment[] = [];
  const names = new Set<string>();
  for (const part of parts) {
    const segment = parseSegment(part);
    if (segment === undefined) return refuse('has braces that are not a whole segment {name} or {name*}');
    if (segment.kind !== 'literal') {
      if (names.has(segment.name)) return refuse(`names {${segment.name}} twice`);
      names.add(segment.name);
      if (segment.kind === 'rest' && segments.length < parts.length - 1) {
        return refuse(`has {${segment.name}*} before its last segment`);
      }
    }
    segments.push(segment);
  }
  return { ok: true, segments };
}

/** Equal for patterns that match exactly the same paths: the pattern without its names. */
export function patternShape(segments: readonly PatternSegment[]): string {
  return segments.map((segment) => (segment.kind === 'literal' ? `/${segment.text}` : SHAPE[segment.kind])).join('');
}

/** Whether some path matches both. */
export function overlaps(one: readonly PatternSegment[], other: readonly PatternSegment[]): boolean {
  const length = Math.max(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const [a, b] = [one[at], other[at]];
    // The rest takes at least one segment, of whatever text.
    if (a?.kind === 'rest' || b?.kind === 'rest') return a !== undefined && b !== undefined;
    if (a === undefined || b === undefined) return false;
    if (a.kind === 'literal' && b.kind === 'literal' && a.text !== b.text) return false;
  }
  return true;
}

const SHAPE = { parameter: '/{}', rest: '/{*}' } as const;
const NAMED_SEGMENT = /^\{([A-Za-z][A-Za-z0-9_]*)(\*?)\}$/;

function refuse(description: string): PatternVerdict {
  return { ok: false, code: 'invalid_pattern', description };
}

function parseSegment(part: string): PatternSegment | undefined {
  const [, name, star] = NAMED_SEGMENT.exec(part) ?? [];
  if (name !== undefined) return { kind: star === '*' ? 'rest' : 'parameter', name };
  return /[{}]/.test(part) ? undefined : { kind: 'literal', text: part };
}
