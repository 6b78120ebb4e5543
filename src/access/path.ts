/**
 * Canonical paths. The gate authorizes the path that it reads, and the server behind it serves the path that *it* reads. A target that
 * the two could read differently is refused here, before any rule is looked up (contract §3 "Forward auth": proxies forward `..` and
 * `%2e%2e` unchanged).
 *
 * In a canonical path every character has one spelling: raw if RFC 3986 allows that in a segment, else percent-encoded in upper case.
 * Only `! $ & ' ( ) * + , : = @` keep two, because `%40` and `@` are different paths (§2.2) and clients send both. `rawReserved` is for
 * the one place where that matters.
 */
import { REQUEST_TARGET_BYTES } from '../kernel/limits/limits.ts';

/** `segments` are the parts between slashes of `path`, still percent-encoded; the last one is empty after a trailing slash. */
export type CanonicalPath = { readonly ok: true; readonly path: string; readonly segments: readonly string[] };
export type AmbiguousPath = { readonly ok: false; readonly code: 'ambiguous_path'; readonly description: string };

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
