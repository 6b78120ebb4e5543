/** Parses JSON: small texts with `JSON.parse`, and large ones in parts, because `JSON.parse` cannot pause (`json-reader.ts`). */
import { createJsonReader, type JsonParts, OPEN_LIST } from './json-reader.ts';
import { LARGE_JSON_BYTES } from './limits/limits.ts';
import { Refusal } from './refusal.ts';
import type { Work } from './slices.ts';

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

/** The value of a large text, with pauses. Throws 413 if it has more than `valuesMax` values, and 400 if it is not JSON. */
export function* parsingBytes(bytes: Buffer, valuesMax: number = Number.POSITIVE_INFINITY): Work<unknown> {
  const building = createBuilder(bytes);
  const reader = createJsonReader(bytes, building);
  for (let isMore = true; isMore; ) {
    isMore = reader.next(READ_AT_ONCE);
    if (building.values() > valuesMax)
      throw new Refusal('content_too_large', `the body has more than ${valuesMax} values`);
    yield;
  }
  return building.value();
}

type Builder = JsonParts & {
  /** How many values there are so far. */
  values(): number;
  /** The value of the whole text. */
  value(): unknown;
};

type Container = unknown[] | Record<string, unknown>;

function createBuilder(bytes: Buffer): Builder {
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
    scalar: (begin, end) => add(JSON.parse(bytes.toString('latin1', begin, end))),
    space: () => {},
    values: () => values,
    value: () => whole,
  };
}

const PLAIN = { enumerable: true, configurable: true, writable: true } as const;
