/**
 * Reads JSON (RFC 8259) over its bytes, and can stop after any number of them: `JSON.parse` cannot pause, and a few hundred kilobytes of
 * small objects keep it busy for 20 ms. It accepts exactly what `JSON.parse` accepts. The bytes are UTF-8.
 */
import { hashBegin, hashedWith } from './json-names.ts';
import { Refusal } from './refusal.ts';

/** Called for each part of the text, in order. Places are those of bytes. */
export type JsonParts = {
  /** A list or an object begins with this bracket. */
  open(at: number, bracket: number): void;
  /** The innermost one ends with the bracket there. */
  close(at: number): void;
  /** The name of a member, between the quotes there. `hash`: of its bytes. `isEscaped`: it has escapes. */
  name(first: number, last: number, hash: number, isEscaped: boolean): void;
  /** A string, between the quotes there. */
  string(first: number, last: number, isEscaped: boolean): void;
  /** A number, `true`, `false` or `null`, until before `end`. */
  scalar(begin: number, end: number): void;
  /** White space between the parts, until before `end`. A run of it may come in pieces. */
  space(begin: number, end: number): void;
};

type JsonReader = {
  /** Reads the next `bytes` bytes. Returns whether more follow. Throws 400 `malformed_json`, also at the end of a text that is cut off. */
  next(bytes: number): boolean;
  /** How many bytes were read. */
  at(): number;
  /** After an error: the place of the byte that is not allowed there, or where a misspelt word begins. */
  errorAt(): number;
};

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const OPEN_LIST = 0x5b;
export const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
export const COMMA = 0x2c;
export const COLON = 0x3a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_E = 0x65;
const LOWER_U = 0x75;

/** The token that is expected next. */
const VALUE = 0;
const VALUE_OR_END = 1;
const NAME_OR_END = 2;
const NAME = 3;
const NAMES_COLON = 4;
const AFTER_VALUE = 5;
const IN_STRING = 6;
const IN_ESCAPE = 7;
const IN_HEX = 8;
const IN_NUMBER = 9;
const IN_LITERAL = 10;

/** The part of a number that was read last. A number may end after those of `ENDS`. */
const SIGN = 0;
const ONLY_ZERO = 1;
const DIGITS = 2;
const DECIMAL_POINT = 3;
const DECIMALS = 4;
const EXPONENT = 5;
const EXPONENT_SIGN = 6;
const EXPONENT_DIGITS = 7;
const ENDS: readonly boolean[] = [false, true, true, false, true, false, false, true];

const LITERALS = ['true', 'false', 'null'].map((word) => Buffer.from(word));
const ESCAPES = new Set(Buffer.from('"\\/bfnrt'));
const DEPTH_FIRST = 64;

/** The place of the reader, and the lists and objects that are open there. The functions below change it. */
type Scan = {
  readonly bytes: Uint8Array;
  readonly parts: JsonParts;
  at: number;
  state: number;
  /** The bracket of each list and object that is open. */
  brackets: Uint8Array;
  depth: number;
  // Of the string, number or literal that is being read.
  first: number;
  isName: boolean;
  isEscaped: boolean;
  hash: number;
  hexLeft: number;
  number: number;
  literal: Uint8Array;
};

export function createJsonReader(bytes: Uint8Array, parts: JsonParts): JsonReader {
  const scan: Scan = {
    bytes,
    parts,
    at: 0,
    state: VALUE,
    brackets: new Uint8Array(DEPTH_FIRST),
    depth: 0,
    first: 0,
    isName: false,
    isEscaped: false,
    hash: hashBegin,
    hexLeft: 0,
    number: SIGN,
    literal: Buffer.alloc(0),
  };
  return {
    next: (count) => {
      const end = Math.min(bytes.length, scan.at + count);
      while (scan.at < end) readSome(scan, end);
      if (scan.at < bytes.length) return true;
      if (scan.state === IN_NUMBER) endNumber(scan);
      if (scan.state !== AFTER_VALUE || scan.depth > 0) throw malformed(scan.at);
      return false;
    },
    at: () => scan.at,
    errorAt: () => (scan.state === IN_LITERAL ? scan.first : scan.at),
  };
}

/** Reads at least one byte, and none after `end`. */
function readSome(scan: Scan, end: number): void {
  const { state } = scan;
  if (state === IN_STRING) readString(scan, end);
  else if (state === IN_NUMBER) readNumber(scan, end);
  else if (state === IN_LITERAL) readLiteral(scan, end);
  else {
    const sign = scan.bytes[scan.at] as number;
    if (state === IN_ESCAPE || state === IN_HEX) readEscape(scan, sign);
    else if (isSpace(sign)) readSpaces(scan, end);
    else readSign(scan, sign);
  }
}

/** Reads one sign outside strings, numbers and literals, or the first sign of one. */
function readSign(scan: Scan, sign: number): void {
  const { state } = scan;
  if (state === AFTER_VALUE) readAfterValue(scan, sign);
  else if (state === NAMES_COLON) {
    if (sign !== COLON) throw malformed(scan.at);
    scan.state = VALUE;
    scan.at += 1;
  } else if (state === NAME || state === NAME_OR_END) {
    if (sign === QUOTE) beginString(scan, true);
    else if (state === NAME_OR_END && sign === CLOSE_OBJECT) close(scan, sign);
    else throw malformed(scan.at);
  } else if (state === VALUE_OR_END && sign === CLOSE_LIST) close(scan, sign);
  else if (sign === QUOTE) beginString(scan, false);
  else if (sign === OPEN_OBJECT || sign === OPEN_LIST) open(scan, sign);
  else beginScalar(scan, sign);
}

function readAfterValue(scan: Scan, sign: number): void {
  if (sign !== COMMA) {
    close(scan, sign);
    return;
  }
  if (scan.depth === 0) throw malformed(scan.at);
  scan.state = scan.brackets[scan.depth - 1] === OPEN_LIST ? VALUE : NAME;
  scan.at += 1;
}

function open(scan: Scan, bracket: number): void {
  if (scan.depth === scan.brackets.length) {
    const larger = new Uint8Array(scan.depth * 2);
    larger.set(scan.brackets);
    scan.brackets = larger;
  }
  scan.brackets[scan.depth] = bracket;
  scan.depth += 1;
  scan.parts.open(scan.at, bracket);
  scan.state = bracket === OPEN_LIST ? VALUE_OR_END : NAME_OR_END;
  scan.at += 1;
}

function close(scan: Scan, sign: number): void {
  // An opening bracket and its closing one differ by two.
  if (scan.depth === 0 || scan.brackets[scan.depth - 1] !== sign - 2) throw malformed(scan.at);
  scan.parts.close(scan.at);
  scan.depth -= 1;
  scan.state = AFTER_VALUE;
  scan.at += 1;
}

function beginString(scan: Scan, isName: boolean): void {
  scan.first = scan.at;
  scan.isName = isName;
  scan.isEscaped = false;
  scan.hash = hashBegin;
  scan.state = IN_STRING;
  scan.at += 1;
}

function readString(scan: Scan, end: number): void {
  const { bytes } = scan;
  let { at, hash } = scan;
  for (; at < end; at += 1) {
    const sign = bytes[at] as number;
    if (sign === QUOTE || sign === BACKSLASH || sign < 0x20) break;
    hash = hashedWith(hash, sign);
  }
  scan.at = at;
  scan.hash = hash;
  if (at === end) return;
  if (bytes[at] === BACKSLASH) {
    scan.isEscaped = true;
    scan.state = IN_ESCAPE;
  } else if (bytes[at] === QUOTE) endString(scan);
  else throw malformed(at);
  scan.at += 1;
}

function endString(scan: Scan): void {
  const { parts, first, at, hash, isEscaped } = scan;
  if (scan.isName) parts.name(first, at, hash, isEscaped);
  else parts.string(first, at, isEscaped);
  scan.state = scan.isName ? NAMES_COLON : AFTER_VALUE;
}

function readEscape(scan: Scan, sign: number): void {
  if (scan.state === IN_HEX) {
    const letter = sign | 0x20;
    if (!((sign >= ZERO && sign <= NINE) || (letter >= 0x61 && letter <= 0x66))) throw malformed(scan.at);
    scan.hexLeft -= 1;
    if (scan.hexLeft === 0) scan.state = IN_STRING;
  } else if (sign === LOWER_U) {
    scan.hexLeft = 4;
    scan.state = IN_HEX;
  } else if (ESCAPES.has(sign)) scan.state = IN_STRING;
  else throw malformed(scan.at);
  scan.at += 1;
}

/** A number, or `true`, `false` or `null`. */
function beginScalar(scan: Scan, sign: number): void {
  scan.first = scan.at;
  if (sign === MINUS || (sign >= ZERO && sign <= NINE)) {
    scan.number = sign === MINUS ? SIGN : sign === ZERO ? ONLY_ZERO : DIGITS;
    scan.state = IN_NUMBER;
  } else {
    const literal = LITERALS.find(([letter]) => letter === sign);
    if (literal === undefined) throw malformed(scan.at);
    scan.literal = literal;
    scan.state = IN_LITERAL;
  }
  scan.at += 1;
}

function readNumber(scan: Scan, end: number): void {
  for (; scan.at < end; scan.at += 1) {
    const next = afterSign(scan.number, scan.bytes[scan.at] as number);
    if (next === null) {
      endNumber(scan);
      return;
    }
    scan.number = next;
  }
}

function endNumber(scan: Scan): void {
  if (ENDS[scan.number] !== true) throw malformed(scan.at);
  endScalar(scan);
}

function readLiteral(scan: Scan, end: number): void {
  const { bytes, literal, first } = scan;
  for (; scan.at < end; scan.at += 1) {
    if (bytes[scan.at] !== literal[scan.at - first]) throw malformed(scan.at);
    if (scan.at - first < literal.length - 1) continue;
    scan.at += 1;
    endScalar(scan);
    return;
  }
}

function endScalar(scan: Scan): void {
  scan.parts.scalar(scan.first, scan.at);
  scan.state = AFTER_VALUE;
}

function readSpaces(scan: Scan, end: number): void {
  const begin = scan.at;
  while (scan.at < end && isSpace(scan.bytes[scan.at] as number)) scan.at += 1;
  scan.parts.space(begin, scan.at);
}

function isSpace(sign: number): boolean {
  return sign === 0x20 || sign === 0x0a || sign === 0x0d || sign === 0x09;
}

/** The state of a number after one more sign; null if the sign belongs to no number. */
function afterSign(number: number, sign: number): number | null {
  if (sign >= ZERO && sign <= NINE) {
    if (number === ONLY_ZERO) return null;
    if (number === SIGN) return sign === ZERO ? ONLY_ZERO : DIGITS;
    if (number === DECIMAL_POINT) return DECIMALS;
    return number === EXPONENT || number === EXPONENT_SIGN ? EXPONENT_DIGITS : number;
  }
  if (sign === POINT) return number === ONLY_ZERO || number === DIGITS ? DECIMAL_POINT : null;
  if ((sign | 0x20) === LOWER_E)
    return number === ONLY_ZERO || number === DIGITS || number === DECIMALS ? EXPONENT : null;
  return (sign === PLUS || sign === MINUS) && number === EXPONENT ? EXPONENT_SIGN : null;
}

function malformed(at: number): Refusal {
  return new Refusal('malformed_json', `the body is not JSON (at byte ${at})`);
}
