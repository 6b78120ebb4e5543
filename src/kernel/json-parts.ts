/**
 * Reads large JSON texts in parts, with bounds before anything is parsed: `JSON.parse` cannot pause, and half a million members take it a
 * second. A scan of the text finds the parts and their sizes. It knows strings and brackets only; `JSON.parse` then checks each part, and
 * the rest of the text with a number in the place of each part. So the text is JSON if and only if all of them are.
 */
import { JSON_VALUES_MAX } from './limits/limits.ts';
import { Refusal } from './refusal.ts';
import type { Work } from './slices.ts';
import { isObject } from './validation.ts';

/** The member of the text's object that is a list, whose items are parsed one by one. */
export type JsonParts = {
  readonly list: string;
  readonly itemsMax: number;
  /** Of an item, and of everything beside the items, without white space. */
  readonly bytesMax: number;
  /** Ends the sentence that refuses a larger value. */
  readonly hint: string;
};

/** Characters that are scanned between two pauses. */
const SCANNED_AT_ONCE = 64 * 1024;

/** Parses a large text with a bound on its values. `stillWanted` throws if nobody waits for it any more. */
export function* parseLarge(read: () => string, stillWanted: () => void): Work<unknown> {
  const text = read();
  const work = parseBounded(text, JSON_VALUES_MAX);
  for (;;) {
    yield;
    stillWanted();
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Parses a text with at most `valuesMax` values. Throws 413 for more, before it is parsed, and 400 for a text that is not JSON. */
export function* parseBounded(text: string, valuesMax: number): Work<unknown> {
  const scan = createScan(text);
  for (let isMore = true; isMore; ) {
    isMore = scan.next(SCANNED_AT_ONCE);
    if (scan.values() > valuesMax) throw new Refusal('content_too_large', `the body has more than ${valuesMax} values`);
    yield;
  }
  return parseJson(text);
}

/**
 * Parses a text whose object has a list, or is an item itself. Throws 400 for an item that is larger than it may be, for too many items,
 * and for a text that is not JSON.
 */
export function* parseInParts(text: string, { list, itemsMax, bytesMax, hint }: JsonParts): Work<unknown> {
  const scan = createScan(text, list);
  const { items } = scan;
  const tooLarge = (field: string): Refusal => refused(field, `has more than ${bytesMax} bytes of JSON: ${hint}`);
  for (let isMore = true; isMore; ) {
    isMore = scan.next(SCANNED_AT_ONCE);
    if (items.length > itemsMax) throw refused(list, `must have at most ${itemsMax} items`);
    const large = [...items, { bytes: scan.itemBytes() }].findIndex(({ bytes }) => bytes > bytesMax);
    if (large !== -1) throw tooLarge(`${list}[${large}]`);
    if (scan.otherBytes() > bytesMax) throw tooLarge('body');
    yield;
  }
  const rest = parseJson(scan.withoutItems());
  if (items.length === 0 || !isObject(rest)) return rest;
  const parsed: unknown[] = [];
  for (const { from, to } of items) {
    parsed.push(parseJson(text.slice(from, to), from));
    yield;
  }
  // The member may stand twice. As with `JSON.parse`, the last one counts.
  const listed = rest[list];
  return Array.isArray(listed) ? { ...rest, [list]: listed.map((place) => parsed[Number(place)]) } : rest;
}

function refused(field: string, problem: string): Refusal {
  return new Refusal('validation_failed', `${field} ${problem}`, { details: [{ field, problem }] });
}

/** Throws 400 with the place of the first error. `offset`: where the text begins in the body. */
export function parseJson(text: string, offset = 0): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const [, position, inLine = ''] =
      /position (\d+)( \(line \d+ column \d+\))?/.exec(error instanceof Error ? error.message : '') ?? [];
    throw new Refusal('malformed_json', `the body is not JSON${placeText(position, inLine, offset)}`);
  }
}

/** Node tells the position only in a long text. */
function placeText(position: string | undefined, inLine: string, offset: number): string {
  if (position === undefined) return offset === 0 ? '' : ` (in the item at position ${offset})`;
  return ` (at position ${Number(position) + offset}${offset === 0 ? inLine : ''})`;
}

type Item = { readonly from: number; readonly to: number; readonly bytes: number };

type Scan = {
  /** Scans so many characters more. Whether there are further ones. */
  next(characters: number): boolean;
  /** At most so many values were scanned. */
  values(): number;
  readonly items: Item[];
  /** Of the item that has not ended. */
  itemBytes(): number;
  /** Of everything but the items. */
  otherBytes(): number;
  /** The text with the number of each item in its place. */
  withoutItems(): string;
};

const [QUOTE, BACKSLASH, COMMA, COLON, LOWER_U] = [34, 92, 44, 58, 117];
const [LIST, LIST_END, OBJECT, OBJECT_END] = [91, 93, 123, 125];
const SPACE = 32;

/**
 * Sizes are those of the shortest text for the same value, or less: without white space, an escape as one byte, and a character as one. So
 * nothing that is small enough is refused.
 */
function createScan(text: string, list: string | null = null): Scan {
  const items: Item[] = [];
  const rest: string[] = [];
  let at = 0;
  let depth = 0;
  let isInString = false;
  let values = 1;
  let bytes = 0;
  let itemsBytes = 0;
  // The last string in the text's object, which is a name if a colon follows.
  let stringFrom = 0;
  let name: string | null = null;
  let restFrom = 0;
  let itemFrom = -1;
  let itemBytesFrom = 0;
  let isFirst = true;

  const endItem = (): void => {
    const size = bytes - itemBytesFrom;
    items.push({ from: itemFrom, to: at, bytes: size });
    rest.push(text.slice(restFrom, itemFrom), String(items.length - 1));
    restFrom = at;
    itemsBytes += size;
    isFirst = false;
  };
  const beginItem = (): void => {
    itemFrom = at + 1;
    itemBytesFrom = bytes + 1;
  };
  const open = (character: number): void => {
    depth += 1;
    values += 1;
    if (depth === 2 && character === LIST && list !== null && name === list) {
      isFirst = true;
      beginItem();
    }
  };
  const close = (): void => {
    if (depth === 2 && itemFrom !== -1) {
      if (!isFirst || bytes > itemBytesFrom) endItem();
      itemFrom = -1;
    }
    depth -= 1;
  };
  const separate = (character: number): void => {
    if (character === COLON) {
      if (depth === 1) name = nameOf(text, stringFrom, at);
      return;
    }
    values += 1;
    if (depth === 2 && itemFrom !== -1) {
      endItem();
      beginItem();
    }
  };

  return {
    items,
    next: (characters) => {
      const end = Math.min(text.length, at + characters);
      for (; at < end; at += 1) {
        const character = text.charCodeAt(at);
        if (isInString) {
          if (character === BACKSLASH) at += text.charCodeAt(at + 1) === LOWER_U ? 5 : 1;
          else if (character === QUOTE) isInString = false;
        } else if (character <= SPACE) continue;
        else if (character === QUOTE) {
          isInString = true;
          if (depth === 1) stringFrom = at;
        } else if (character === COMMA || character === COLON) separate(character);
        else if (character === LIST || character === OBJECT) open(character);
        else if (character === LIST_END || character === OBJECT_END) close();
        bytes += 1;
      }
      return at < text.length;
    },
    values: () => values,
    itemBytes: () => (itemFrom === -1 ? 0 : bytes - itemBytesFrom),
    otherBytes: () => (itemFrom === -1 ? bytes : itemBytesFrom) - itemsBytes,
    withoutItems: () => (items.length === 0 ? text : rest.join('') + text.slice(restFrom)),
  };
}

/** Names are short: a longer text is none that anybody asks for. */
const NAME_LENGTH = 200;

function nameOf(text: string, from: number, to: number): string | null {
  if (to - from > NAME_LENGTH) return null;
  try {
    return String(JSON.parse(text.slice(from, to)));
  } catch {
    return null;
  }
}
