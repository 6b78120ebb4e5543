/**
 * Reads JSON (RFC 8259) over its bytes, and can stop after any number of them: `JSON.parse` cannot pause, and a few hundred kilobytes of
 * small objects keep it busy for 20 ms. It accepts exactly what `JSON.parse` accepts. The bytes are UTF-8.
 */
import { hashBegin, hashedWith } from './json-names.ts';
import { Refusal } from './refusal.ts';

/** Told of what the text holds, in its order. Places are those of bytes. */
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
  /** White space between the parts, until before `end`. A run of it may be told of in pieces. */
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

export function createJsonReader(bytes: Uint8Array, parts: JsonParts): JsonReader {
  const { length } = bytes;
  let at = 0;
  let state = VALUE;
  /** The bracket of each list and object that is open. */
  let brackets = new Uint8Array(DEPTH_FIRST);
  let depth = 0;
  // Of the string, number or literal that is being read.
  let first = 0;
  let isName = false;
  let isEscaped = false;
  let hash = hashBegin;
  let hexLeft = 0;
  let number = SIGN;
  let literal: Uint8Array = Buffer.alloc(0);

  const open = (bracket: number): void => {
    if (depth === brackets.length) {
      const larger = new Uint8Array(depth * 2);
      larger.set(brackets);
      brackets = larger;
    }
    brackets[depth] = bracket;
    depth += 1;
    parts.open(at, bracket);
    state = bracket === OPEN_LIST ? VALUE_OR_END : NAME_OR_END;
    at += 1;
  };
  const close = (sign: number): void => {
    // An opening bracket and its closing one differ by two.
    if (depth === 0 || brackets[depth - 1] !== sign - 2) throw malformed(at);
    parts.close(at);
    depth -= 1;
    state = AFTER_VALUE;
    at += 1;
  };
  const beginString = (name: boolean): void => {
    first = at;
    isName = name;
    isEscaped = false;
    hash = hashBegin;
    state = IN_STRING;
    at += 1;
  };
  const beginOther = (sign: number): void => {
    first = at;
    if (sign === MINUS || (sign >= ZERO && sign <= NINE)) {
      number = sign === MINUS ? SIGN : sign === ZERO ? ONLY_ZERO : DIGITS;
      state = IN_NUMBER;
    } else {
      const found = LITERALS.find(([letter]) => letter === sign);
      if (found === undefined) throw malformed(at);
      literal = found;
      state = IN_LITERAL;
    }
    at += 1;
  };
  const beginValue = (sign: number): void => {
    if (sign === QUOTE) beginString(false);
    else if (sign === OPEN_OBJECT || sign === OPEN_LIST) open(sign);
    else beginOther(sign);
  };
  const readString = (end: number): void => {
    let sum = hash;
    for (; at < end; at += 1) {
      const sign = bytes[at] as number;
      if (sign === QUOTE || sign === BACKSLASH || sign < 0x20) break;
      sum = hashedWith(sum, sign);
    }
    hash = sum;
    if (at === end) return;
    const sign = bytes[at] as number;
    if (sign === BACKSLASH) {
      isEscaped = true;
      state = IN_ESCAPE;
    } else if (sign !== QUOTE) throw malformed(at);
    else if (isName) {
      parts.name(first, at, hash, isEscaped);
      state = NAMES_COLON;
    } else {
      parts.string(first, at, isEscaped);
      state = AFTER_VALUE;
    }
    at += 1;
  };
  const readEscape = (sign: number): void => {
    if (state === IN_HEX) {
      const letter = sign | 0x20;
      if (!((sign >= ZERO && sign <= NINE) || (letter >= 0x61 && letter <= 0x66))) throw malformed(at);
      hexLeft -= 1;
      if (hexLeft === 0) state = IN_STRING;
    } else if (sign === LOWER_U) {
      hexLeft = 4;
      state = IN_HEX;
    } else if (ESCAPES.has(sign)) state = IN_STRING;
    else throw malformed(at);
    at += 1;
  };
  const endNumber = (): void => {
    if (ENDS[number] !== true) throw malformed(at);
    parts.scalar(first, at);
    state = AFTER_VALUE;
  };
  const readNumber = (end: number): void => {
    for (; at < end; at += 1) {
      const next = afterSign(number, bytes[at] as number);
      if (next === null) {
        endNumber();
        return;
      }
      number = next;
    }
  };
  const readLiteral = (end: number): void => {
    for (; at < end; at += 1) {
      if (bytes[at] !== literal[at - first]) throw malformed(at);
      if (at - first < literal.length - 1) continue;
      at += 1;
      parts.scalar(first, at);
      state = AFTER_VALUE;
      return;
    }
  };
  const readAfterValue = (sign: number): void => {
    if (sign !== COMMA) close(sign);
    else {
      if (depth === 0) throw malformed(at);
      state = brackets[depth - 1] === OPEN_LIST ? VALUE : NAME;
      at += 1;
    }
  };
  const readSpaces = (end: number): void => {
    const begin = at;
    while (at < end && isSpace(bytes[at] as number)) at += 1;
    parts.space(begin, at);
  };
  /** Reads one part that begins there, or the first sign of it. */
  const readPart = (sign: number): void => {
    if (state === AFTER_VALUE) readAfterValue(sign);
    else if (state === NAMES_COLON) {
      if (sign !== COLON) throw malformed(at);
      state = VALUE;
      at += 1;
    } else if (state === NAME || state === NAME_OR_END) {
      if (sign === QUOTE) beginString(true);
      else if (state === NAME_OR_END && sign === CLOSE_OBJECT) close(sign);
      else throw malformed(at);
    } else if (state === VALUE_OR_END && sign === CLOSE_LIST) close(sign);
    else beginValue(sign);
  };

  return {
    next: (count) => {
      const end = Math.min(length, at + count);
      while (at < end) {
        if (state === IN_STRING) readString(end);
        else if (state === IN_NUMBER) readNumber(end);
        else if (state === IN_LITERAL) readLiteral(end);
        else {
          const sign = bytes[at] as number;
          if (state === IN_ESCAPE || state === IN_HEX) readEscape(sign);
          else if (isSpace(sign)) readSpaces(end);
          else readPart(sign);
        }
      }
      if (at < length) return true;
      if (state === IN_NUMBER) endNumber();
      if (state !== AFTER_VALUE || depth > 0) throw malformed(at);
      return false;
    },
    at: () => at,
    errorAt: () => (state === IN_LITERAL ? first : at),
  };
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
