/** Parses JSON: small texts with `JSON.parse`, and large ones in parts, because `JSON.parse` cannot pause (`json-reader.ts`). */

import { createJsonReader, type JsonParts, OPEN_LIST } from './json-reader.ts';
import { exactNumber, parseExactly } from './json-text.ts';
import { Refusal } from './refusal.ts';
import type { Work } from './slices.ts';

/** Larger JSON texts are read in slices. */
export const LARGE_JSON_BYTES: number = 16 * 1024;

/** Bytes that are read between two pauses: less than a millisecond, whatever they hold. */
export const READ_AT_ONCE: number = 16 * 1024;

/** Throws 400 with the place of the first error. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const [, position] =
      /(position \d+(?: \(line \d+ column \d+\))?)/.exec(error instanceof Error ? error.message : '') ?? [];
    throw new Refusal('malformed_json', `the body is not JSON${position === undefined ? '' : ` (at ${position})`}`);
  }
}

/** The value of a text that is JSON, as `JSON.parse` returns it. Pauses within a large text. */
export function* parsing(json: string): Work<unknown> {
  // A character has at least a byte.
  if (json.length <= LARGE_JSON_BYTES) return JSON.parse(json) as unknown;
  return yield* parsingBytes(Buffer.from(json));
}

/** The same as `parseExactly` returns it: each number has its digits. */
export function* parsingExactly(json: string): Work<unknown> {
  if (json.length > LARGE_JSON_BYTES) return yield* building(Buffer.from(json), Number.POSITIVE_INFINITY, exactNumber);
  const value = JSON.parse(json) as unknown;
  // As most programs write it, with no digits that parsing would lose.
  return JSON.stringify(value) === json ? value : parseExactly(json);
}

/** The value of a large text, with pauses. Throws 413 if it has more than `valuesMax` values, and 400 if it is not JSON. */
export function* parsingBytes(bytes: Buffer, valuesMax: number = Number.POSITIVE_INFINITY): Work<unknown> {
  return yield* building(bytes, valuesMax, Number);
}

function* building(bytes: Buffer, valuesMax: number, numberOf: (text: string) => unknown): Work<unknown> {
  const builder = createBuilder(bytes, numberOf);
  const reader = createJsonReader(bytes, builder);
  for (let isMore = true; isMore; ) {
    isMore = reader.next(READ_AT_ONCE);
    if (builder.values() > valuesMax)
      throw new Refusal('content_too_large', `the body has more than ${valuesMax} values`);
    yield;
  }
  return builder.value();
}

type Builder = JsonParts & {
  /** How many values there are so far. */
  values(): number;
  /** The value of the whole text. */
  value(): unknown;
};

type Container = unknown[] | Record<string, unknown>;

function createBuilder(bytes: Buffer, numberOf: (text: string) => unknown): Builder {
  const open: Container[] = [];
  let inside: Container | null = null;
  let name = '';
  let values = 0;
  let whole: unknown;

  const add = (value: unknown): void => {
    values += 1;
    if (inside === null) whole = value;
    else if (Array.isArray(inside)) inside.push(value);
    // An assignment would set the prototype.
    else if (name === '__proto__') Object.defineProperty(inside, name, { value, ...PLAIN });
    else inside[name] = value;
  };
  const textOf = (first: number, last: number, isEscaped: boolean): string =>
    isEscaped
      ? (JSON.parse(bytes.toString('utf8', first, last + 1)) as string)
      : bytes.toString('utf8', first + 1, last);

  return {
    open: (_at, bracket) => {
      const made: Container = bracket === OPEN_LIST ? [] : {};
      add(made);
      if (inside !== null) open.push(inside);
      inside = made;
    },
    close: () => {
      inside = open.pop() ?? null;
    },
    name: (first, last, _hash, isEscaped) => {
      name = textOf(first, last, isEscaped);
    },
    string: (first, last, isEscaped) => add(textOf(first, last, isEscaped)),
    scalar: (begin, end) => {
      const text = bytes.toString('latin1', begin, end);
      add(LITERALS.has(text) ? LITERALS.get(text) : numberOf(text));
    },
    space: () => {},
    values: () => values,
    value: () => whole,
  };
}

const LITERALS = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
]);
const PLAIN = { enumerable: true, configurable: true, writable: true } as const;
