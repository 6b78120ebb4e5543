/**
 * JSON as text (RFC 8259), because `JSON.parse` loses digits of numbers and repeated names. Each function reads a text once and without
 * recursion, so that its time is linear whatever the text holds. None of them checks the syntax: parse the text as well.
 */
import { Refusal } from './refusal.ts';

/** Parses a text that a caller sent. Throws 400 `malformed_json` with the place of the first error. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const where = /position \d+(?: \(line \d+ column \d+\))?/.exec(error instanceof Error ? error.message : '')?.[0];
    throw new Refusal('malformed_json', `the body is not JSON${where === undefined ? '' : ` (at ${where})`}`);
  }
}

/** A list or an object in a text: from `begin` until before `end`. */
export type JsonSpan = {
  readonly begin: number;
  readonly end: number;
  /** Characters of white space outside of strings. */
  readonly spaces: number;
  /** The members of all its objects, repeated ones too. */
  readonly members: number;
  /** How many lists and objects are inside one another, with itself. */
  readonly depth: number;
  /** Whether parsing it and writing it again keeps the digits of every number. */
  readonly isExact: boolean;
};

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Whether a list or an object begins there. */
export function opensAt(text: string, at: number): boolean {
  const sign = text.charCodeAt(at);
  return sign === OPEN_OBJECT || sign === OPEN_LIST;
}

/** The list or object that begins there. If it does not end, it ends with the text. Reads about a gigabyte in a second. */
export function spanAt(text: string, begin: number): JsonSpan {
  const { length } = text;
  let [spaces, members, open, depth, isExact, at] = [0, 0, 0, 0, true, begin];
  for (; at < length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) at = lastOfString(text, at);
    else if (sign === COLON) members += 1;
    else if (sign <= 0x20) spaces += 1;
    else if (sign === OPEN_OBJECT || sign === OPEN_LIST) {
      open += 1;
      if (open > depth) depth = open;
    } else if (sign === CLOSE_OBJECT || sign === CLOSE_LIST) {
      open -= 1;
      if (open === 0) break;
    } else if (sign === MINUS || (sign >= ZERO && sign <= NINE)) {
      const end = endOfNumber(text, at);
      isExact &&= isExactNumber(text, at, end);
      at = end - 1;
    }
  }
  return { begin, end: Math.min(at + 1, length), spaces, members, depth, isExact };
}

/** The place of the quote that ends the string that begins there. If none does, the last place of the text. */
export function lastOfString(text: string, begin: number): number {
  const { length } = text;
  let at = begin + 1;
  for (; at < length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) return at;
    if (sign === BACKSLASH) at += 1;
  }
  return length - 1;
}

/** The value of the string between the quotes at these places, with its escapes resolved. */
export function stringValue(text: string, first: number, last: number): string {
  const raw = text.slice(first + 1, last);
  if (!raw.includes('\\')) return raw;
  try {
    return String(JSON.parse(text.slice(first, last + 1)));
  } catch {
    return raw;
  }
}

/** The place of the next character that is not white space. */
export function skipSpaces(text: string, begin: number): number {
  let at = begin;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

function endOfNumber(text: string, begin: number): number {
  let at = begin + 1;
  while (at < text.length && isPartOfNumber(text.charCodeAt(at))) at += 1;
  return at;
}

function isPartOfNumber(sign: number): boolean {
  if (sign >= ZERO && sign <= NINE) return true;
  return sign === 0x2e || sign === 0x2b || sign === MINUS || (sign | 0x20) === 0x65;
}

/** Integers with fewer digits are doubles. */
const SAFE_DIGITS = 15;
/** JavaScript writes no number with more characters, such as -1.2345678901234567e-300. */
const NUMBER_LENGTH_MAX = 25;

function isExactNumber(text: string, begin: number, end: number): boolean {
  if (end - begin <= SAFE_DIGITS) {
    let at = begin;
    while (at < end && text.charCodeAt(at) <= NINE && text.charCodeAt(at) >= ZERO) at += 1;
    if (at === end) return true;
  }
  if (end - begin > NUMBER_LENGTH_MAX) return false;
  const number = text.slice(begin, end);
  return String(Number(number)) === number;
}

/** The members of all objects in a parsed value. There are fewer than in its text if names were repeated. */
export function countMembers(value: unknown): number {
  const waiting: unknown[] = [value];
  let count = 0;
  while (waiting.length > 0) {
    const one = waiting.pop() as Readonly<Record<string, unknown>> | null;
    if (one === null || typeof one !== 'object') continue;
    const isList = Array.isArray(one);
    for (const name in one) {
      if (!isList) count += 1;
      const member = one[name];
      if (member !== null && typeof member === 'object') waiting.push(member);
    }
  }
  return count;
}

/** The path of the first name that an object of the text repeats, or null. `text` is JSON. */
export function repeatedName(text: string): readonly PropertyKey[] | null {
  type Open = { readonly names: Set<string> | null; step: PropertyKey };
  const open: Open[] = [];
  let [first, last] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    const within = open.at(-1);
    if (sign === QUOTE) {
      first = at;
      last = lastOfString(text, at);
      at = last;
    } else if (sign === OPEN_OBJECT) open.push({ names: new Set(), step: '' });
    else if (sign === OPEN_LIST) open.push({ names: null, step: 0 });
    else if (sign === CLOSE_OBJECT || sign === CLOSE_LIST) open.pop();
    else if (sign === COMMA && within?.names === null) within.step = Number(within.step) + 1;
    else if (sign === COLON && within?.names != null) {
      const name = stringValue(text, first, last);
      within.step = name;
      if (within.names.has(name)) return open.map(({ step }) => step);
      within.names.add(name);
    }
  }
  return null;
}

/** The part of a text without white space outside of strings. */
export function compactJson(text: string, { begin, end, spaces }: Pick<JsonSpan, 'begin' | 'end' | 'spaces'>): string {
  if (spaces === 0) return text.slice(begin, end);
  let compact = '';
  let kept = begin;
  for (let at = begin; at < end; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) at = lastOfString(text, at);
    else if (sign <= 0x20) {
      compact += text.slice(kept, at);
      at = skipSpaces(text, at) - 1;
      kept = at + 1;
    }
  }
  return compact + text.slice(kept, end);
}

/** JSON for people, as `JSON.stringify` indents it by two spaces, with the numbers and strings as they are. */
export function indentedJson(json: string): string {
  const pieces: string[] = [];
  let depth = 0;
  const newLine = (): string => `\n${'  '.repeat(depth)}`;
  for (let at = skipSpaces(json, 0); at < json.length; at = skipSpaces(json, at + 1)) {
    const sign = json.charCodeAt(at);
    if (sign === QUOTE) {
      const last = lastOfString(json, at);
      pieces.push(json.slice(at, last + 1));
      at = last;
    } else if (sign === OPEN_OBJECT || sign === OPEN_LIST) {
      const next = skipSpaces(json, at + 1);
      const isEmpty = json.charCodeAt(next) === sign + 2;
      depth += isEmpty ? 0 : 1;
      pieces.push(isEmpty ? `${json[at]}${json[next]}` : `${json[at]}${newLine()}`);
      if (isEmpty) at = next;
    } else if (sign === CLOSE_OBJECT || sign === CLOSE_LIST) {
      depth -= 1;
      pieces.push(newLine(), String(json[at]));
    } else if (sign === COMMA) pieces.push(`,${newLine()}`);
    else if (sign === COLON) pieces.push(': ');
    else pieces.push(String(json[at]));
  }
  return pieces.join('');
}

/** A parsed value in which a number that parsing would change is kept as its text, for `JSON.stringify`. */
export function parseExactly(json: string): unknown {
  return JSON.parse(json, (_name, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
    return RAW.rawJSON(source);
  });
}

/** JSON.rawJSON of ECMAScript's "JSON.parse source text access", which TypeScript does not declare. */
const RAW = JSON as unknown as { rawJSON(text: string): unknown; isRawJSON(value: unknown): boolean };

/** Whether it is a number that `parseExactly` kept as its text. */
export function isExactText(value: unknown): boolean {
  return RAW.isRawJSON(value);
}
