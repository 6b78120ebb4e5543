/**
 * Canonical paths, and the patterns of the API catalogue that match them (contract §3.2).
 *
 * The gate authorizes the path that it reads, and the server behind it serves the path that *it* reads. A target that the two could read
 * differently is refused here, before any rule is looked up (contract §3.5: proxies forward `..` and `%2e%2e` unchanged).
 *
 * In a canonical path every character has one spelling: raw if RFC 3986 allows that in a segment, else percent-encoded in upper case.
 * Only `! $ & ' ( ) * + , : = @` keep two, because `%40` and `@` are different paths (§2.2) and clients send both. `rawReserved` is for
 * the one place where that matters.
 */
import { PATTERN_SEGMENTS_MAX, REQUEST_TARGET_BYTES } from './limits.ts';

/** `segments` are the parts between slashes of `path`, still percent-encoded; the last one is empty after a trailing slash. */
type CanonicalPath = { readonly ok: true; readonly path: string; readonly segments: readonly string[] };
type AmbiguousPath = { readonly ok: false; readonly code: 'ambiguous_path'; readonly description: string };

/**
 * The canonical path of a request target in origin form (RFC 9112 §3.2.1), without its query. Only the case of hex digits
 * is ever changed; letter case and a trailing slash are significant. Takes time linear in the target, which is at most 8 KiB.
 */
export function canonicalPath(target: string): CanonicalPath | AmbiguousPath {
  if (target.length <= REQUEST_TARGET_BYTES && PLAIN.test(target)) {
    return { ok: true, path: target, segments: target.slice(1).split('/') };
  }
  if (target.length > REQUEST_TARGET_BYTES) return refuse(`is longer than ${REQUEST_TARGET_BYTES} bytes`);
  if (!target.startsWith('/')) return refuse('does not start with a slash');
  if (NOT_IN_TARGET.test(target))
    return refuse('contains a fragment, white space, a control character or one outside ASCII');
  const query = target.indexOf('?');
  const written = query === -1 ? target : target.slice(0, query);
  if (NOT_RAW.test(written))
    return refuse('contains a backslash, a semicolon or another character that must be encoded');

  const path = written.includes('%') ? upperCaseEscapes(written) : written;
  const problem = path.includes('%') ? escapeProblem(path) : undefined;
  if (problem !== undefined) return refuse(problem);

  const segments = path.slice(1).split('/');
  const empty = segments.indexOf('');
  if (empty !== -1 && empty !== segments.length - 1) return refuse('contains an empty segment');
  if (segments.includes('.') || segments.includes('..')) return refuse('contains a dot segment');
  return { ok: true, path, segments };
}

/**
 * A canonical segment with its encoded reserved characters (`%40`, `%3A`, …) raw: the spelling that a lenient server treats as
 * equal.
 */
export function rawReserved(segment: string): string {
  return segment.replace(ENCODED_RESERVED, decodeURIComponent);
}

/** No query, escape, dot or empty segment. Nearly every target is like this, and canonical already. */
const PLAIN = /^(?:\/[A-Za-z0-9_~!$&'()*+,:=@-]+)+$/;
/** Anything but printable ASCII, and fragments, which a target cannot have. */
const NOT_IN_TARGET = /[^\x21-\x7e]|#/;
/** Anything but `pchar` of RFC 3986 §3.3, the slash, and (left out of pchar) the semicolon that starts path parameters. */
const NOT_RAW = /[^A-Za-z0-9._~!$&'()*+,:=@/%-]/;
const ENCODED_RESERVED = /%(?:2[146-9ABC]|3[AD]|40)/g;
/**
 * An escape that has a plain spelling (letters, digits, `-._~`), or that decodes to something which splits, ends or
 * changes a path on the next server: slash, backslash, `?`, `#`, `;`, control characters, and `%`, which decodes twice.
 */
const AMBIGUOUS_ESCAPE = /%(?:[01][0-9A-F]|2[35DEF]|3[0-9BF]|4[1-9A-F]|5[0-9ACF]|6[1-9A-F]|7[0-9AEF])/;
const BROKEN_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
const NON_ASCII_RUN = /(?:%[89A-F][0-9A-F])+/g;

function refuse(problem: string): AmbiguousPath {
  return { ok: false, code: 'ambiguous_path', description: `the request target ${problem}` };
}

function upperCaseEscapes(path: string): string {
  return path.replace(/%[0-9A-Fa-f]{2}/g, (octet) => octet.toUpperCase());
}

function escapeProblem(path: string): string | undefined {
  if (BROKEN_ESCAPE.test(path)) return 'contains a percent sign without two hex digits';
  const ambiguous = AMBIGUOUS_ESCAPE.exec(path);
  if (ambiguous !== null) return `contains the ambiguous escape ${ambiguous[0]}`;
  return (path.match(NON_ASCII_RUN) ?? []).map(nonAsciiProblem).find((problem) => problem !== undefined);
}

function nonAsciiProblem(run: string): string | undefined {
  const text = decodeUtf8(run);
  if (text === undefined) return 'contains an escape that is not UTF-8';
  if (/[\u0080-\u009f]/.test(text)) return 'contains an encoded control character';
  // Servers that fold compatibility forms read U+FF0F as a slash and U+FF0E twice as a dot segment.
  if (/[^\u0080-\u{10ffff}]/u.test(text.normalize('NFKC'))) return 'contains a look-alike of an ASCII character';
  return undefined;
}

/** Strict: overlong forms, surrogates and code points beyond Unicode are not UTF-8. */
function decodeUtf8(escapes: string): string | undefined {
  try {
    return decodeURIComponent(escapes);
  } catch {
    return undefined;
  }
}

/** A literal matches itself, a parameter one segment, the rest (only at the end) one or more segments. None matches an empty segment. */
export type PatternSegment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'parameter' | 'rest'; readonly name: string };

/** A parameter of a pattern, and the index of its (first) segment. */
export type PatternParameter = { readonly name: string; readonly at: number; readonly rest: boolean };

export function patternParameters(pattern: readonly PatternSegment[]): PatternParameter[] {
  return pattern.flatMap((segment, at) =>
    segment.kind === 'literal' ? [] : [{ name: segment.name, at, rest: segment.kind === 'rest' }],
  );
}

/** `description` is a predicate that follows a field's name: `ends with a slash`. */
type PatternVerdict =
  | { readonly ok: true; readonly segments: readonly PatternSegment[] }
  | { readonly ok: false; readonly code: 'invalid_pattern'; readonly description: string };

/**
 * Reads a pattern: 1 to 32 segments, each a literal, `{name}` or, as the last one, `{name*}`; names are distinct. Literals
 * are canonical (`canonicalPath`) with reserved characters raw, so that one path has one pattern of literals.
 */
export function parsePattern(path: string): PatternVerdict {
  if (path.length > REQUEST_TARGET_BYTES) return refusePattern(`is longer than ${REQUEST_TARGET_BYTES} bytes`);
  const withoutNames = path.replace(/\{[^/{}]*\}/g, '-');
  const canonical = canonicalPath(withoutNames);
  if (!canonical.ok) return refusePattern(`is no canonical path: ${canonical.description}`);
  if (canonical.path !== withoutNames) return refusePattern('has a query or an escape in lower case');
  if (rawReserved(withoutNames) !== withoutNames)
    return refusePattern('encodes a reserved character that must stand raw');

  const parts = path.slice(1).split('/');
  if (parts.length > PATTERN_SEGMENTS_MAX) return refusePattern(`has more than ${PATTERN_SEGMENTS_MAX} segments`);
  if (parts.at(-1) === '') return refusePattern('ends with a slash');
  const segments: PatternSegment[] = [];
  const names = new Set<string>();
  for (const part of parts) {
    const segment = parseSegment(part);
    if (segment === undefined) return refusePattern('has braces that are not a whole segment {name} or {name*}');
    if (segment.kind !== 'literal') {
      if (names.has(segment.name)) return refusePattern(`names {${segment.name}} twice`);
      names.add(segment.name);
      if (segment.kind === 'rest' && segments.length < parts.length - 1) {
        return refusePattern(`has {${segment.name}*} before its last segment`);
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

function refusePattern(description: string): PatternVerdict {
  return { ok: false, code: 'invalid_pattern', description };
}

function parseSegment(part: string): PatternSegment | undefined {
  const [, name, star] = NAMED_SEGMENT.exec(part) ?? [];
  if (name !== undefined) return { kind: star === '*' ? 'rest' : 'parameter', name };
  return /[{}]/.test(part) ? undefined : { kind: 'literal', text: part };
}

/**
 * An index that finds the most specific of many patterns that match a path.
 *
 * Patterns are sorted by precedence and numbered. For every position there is a bit row per literal that occurs
 * there (the patterns that accept it) and one for all other segments; one more row says which patterns fit the number
 * of segments. The rows of a path, ANDed, leave the patterns that match it, and the lowest bit is the answer.
 *
 * There is no backtracking: a look-up takes a map access and patterns / 32 word operations per position, whatever the
 * patterns and the path. Measured with 2,000 patterns of one method: 0.3–0.5 µs, at worst (31 positions that hardly
 * distinguish them) 2 µs. A trie that backtracks visits 2,047 nodes, 27 µs, for one miss among the patterns with a literal or a
 * parameter in each of ten places; here that miss takes 0.5 µs.
 * Memory is patterns / 8 bytes for each distinct literal of a position: about 1 MB for 2,000 patterns of one method.
 */
export type PatternIndex<Entry> = {
  /** By precedence; the bits of the rows count in this order. */
  readonly entries: readonly Entry[];
  /** Row n: the patterns that n segments can match. The last row serves every larger n. */
  readonly lengths: readonly Int32Array[];
  /** The positions that have literals, the one with most literals first because it excludes most patterns. */
  readonly positions: readonly Position[];
};

/**
 * `at` comes last. Objects whose literals begin with the same properties share hidden classes in V8. If positions began with a number
 * `at`, the first record of a log, which begins with a text `at`, would deprecate the class of all positions. V8 then recompiled
 * `findPattern` again and again, without an end, and a guarded call took a quarter more CPU time.
 */
type Position = {
  readonly literals: ReadonlyMap<string, Int32Array>;
  readonly others: Int32Array;
  readonly at: number;
};

/**
 * Indexes entries. Precedence ("the longest literal match wins"): where two patterns match one path, they are compared from
 * the left, and at the first difference a literal beats a parameter and a parameter beats the rest. Of two with the same
 * shape the earlier entry wins.
 */
export function indexPatterns<Entry extends { readonly segments: readonly PatternSegment[] }>(
  unordered: readonly Entry[],
): PatternIndex<Entry> {
  const ranked = unordered.map((entry) => ({ entry, rank: entry.segments.map(({ kind }) => RANK[kind]).join('') }));
  const entries = ranked.sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0)).map(({ entry }) => entry);
  const depth = entries.reduce((deepest, { segments }) => Math.max(deepest, segments.length), 0);
  return {
    entries,
    lengths: Array.from({ length: depth + 2 }, (_, length) => row(entries, ({ segments }) => fits(segments, length))),
    positions: Array.from({ length: depth }, (_, at) => position(entries, at))
      .filter(({ literals }) => literals.size > 0)
      .sort((a, b) => b.literals.size - a.literals.size),
  };
}

/** The entry of the most specific pattern that matches these segments. */
export function findPattern<Entry>(index: PatternIndex<Entry>, segments: readonly string[]): Entry | undefined {
  const { lengths, positions } = index;
  const fitting = lengths[Math.min(segments.length, lengths.length - 1)];
  if (fitting === undefined) return undefined;
  let count = 0;
  for (const { at, literals, others } of positions) {
    if (at >= segments.length) continue;
    rows[count] = literals.get(segments[at] as string) ?? others;
    count += 1;
  }
  for (let word = 0; word < fitting.length; word += 1) {
    let bits = fitting[word] as number;
    for (let i = 0; bits !== 0 && i < count; i += 1) bits &= (rows[i] as Int32Array)[word] as number;
    if (bits !== 0) return index.entries[word * 32 + 31 - Math.clz32(bits & -bits)];
  }
  return undefined;
}

/** The rows of the current look-up. Shared, since a look-up is synchronous. */
const rows: Int32Array[] = [];

const RANK: Readonly<Record<PatternSegment['kind'], string>> = { literal: '0', parameter: '1', rest: '2' };

type Patterned = { readonly segments: readonly PatternSegment[] };

function fits(segments: readonly PatternSegment[], length: number): boolean {
  return segments.at(-1)?.kind === 'rest' ? length >= segments.length : length === segments.length;
}

function position(entries: readonly Patterned[], at: number): Position {
  const others = row(entries, ({ segments }) => segments[at]?.kind !== 'literal');
  const literals = new Map<string, Int32Array>();
  for (const [number, { segments }] of entries.entries()) {
    const segment = segments[at];
    if (segment?.kind !== 'literal') continue;
    const accepting = literals.get(segment.text) ?? others.slice();
    setBit(accepting, number);
    literals.set(segment.text, accepting);
  }
  return { literals, others, at };
}

function row(entries: readonly Patterned[], accepts: (entry: Patterned) => boolean): Int32Array {
  const bits = new Int32Array(Math.ceil(entries.length / 32));
  for (const [number, entry] of entries.entries()) if (accepts(entry)) setBit(bits, number);
  return bits;
}

function setBit(bits: Int32Array, number: number): void {
  const word = number >>> 5;
  bits[word] = (bits[word] ?? 0) | (1 << (number & 31));
}
