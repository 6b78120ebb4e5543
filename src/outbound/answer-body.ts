/** Finds the end of the body of a response (RFC 9112 §6.3, §7.1). */
import type { ReadHead } from './answer-head.ts';

/** `more`: the body continues. `end`: it ended with the bytes. `beyond`: it ended before the last of them. Otherwise what breaks HTTP. */
export type BodyProgress = 'more' | 'end' | 'beyond' | { readonly problem: string };

/** Reads the next bytes of a body, and passes the content among them. */
export type BodyReader = (bytes: Uint8Array, content: (part: Uint8Array) => void) => BodyProgress;

/** How many bytes a body has; `null`: it ends with the connection. */
type Length = number | 'chunked' | null;

/** Status codes whose responses have no body, whatever their headers say. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 304]);

/** A reader of the body after this head. `endsWithConnection`: nothing else marks its end. */
export function bodyAfter(head: ReadHead): { readonly read: BodyReader; readonly endsWithConnection: boolean } {
  const length = WITHOUT_BODY.has(head.status) ? 0 : announced(head);
  const read = length === 'chunked' ? chunkedReader() : length === null ? untilClose : sizedReader(length);
  return { read, endsWithConnection: length === null };
}

/** Whether the head announces a body that the status does not have: a receiver that does so may send it. */
export function announcesForbiddenBody(head: ReadHead): boolean {
  const length = WITHOUT_BODY.has(head.status) ? announced(head) : null;
  return length !== null && length !== 0;
}

function announced({ headers }: ReadHead): Length {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined) return /(?:^|,)[ \t]*chunked[ \t]*$/i.test(coding) ? 'chunked' : null;
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

const untilClose: BodyReader = (bytes, content) => {
  content(bytes);
  return 'more';
};

function sizedReader(length: number): BodyReader {
  let left = length;
  return (bytes, content) => {
    const here = Math.min(left, bytes.length);
    if (here > 0) content(here === bytes.length ? bytes : bytes.subarray(0, here));
    left -= here;
    if (left > 0) return 'more';
    return here === bytes.length ? 'end' : 'beyond';
  };
}

const CR = 13;
const LF = 10;
const SEMICOLON = 59;

/** Far more than any body may have, and exact as a number. */
const SIZE_DIGITS_MAX = 12;

/** The part of a chunked body that the next byte belongs to. */
type Place = 'size' | 'extension' | 'size end' | 'data' | 'data CR' | 'data LF' | 'line' | 'trailer' | 'last LF';

function chunkedReader(): BodyReader {
  let place: Place = 'size';
  let size = 0;
  let digits = 0;

  /** Whether the byte may stand here. */
  const step = (byte: number): boolean => {
    switch (place) {
      case 'size': {
        const digit = hexDigit(byte);
        if (digit === null) return endSize(byte);
        size = size * 16 + digit;
        digits += 1;
        return digits <= SIZE_DIGITS_MAX;
      }
      case 'extension':
        if (byte === CR) place = 'size end';
        return byte !== LF;
      case 'size end':
        place = size === 0 ? 'line' : 'data';
        return byte === LF;
      case 'data CR':
        place = 'data LF';
        return byte === CR;
      case 'data LF':
        [place, size, digits] = ['size', 0, 0];
        return byte === LF;
      case 'line':
        place = byte === CR ? 'last LF' : 'trailer';
        return true;
      case 'trailer':
        if (byte === LF) place = 'line';
        return true;
      default:
        return byte === LF;
    }
  };

  const endSize = (byte: number): boolean => {
    place = byte === CR ? 'size end' : 'extension';
    return digits > 0 && (byte === CR || byte === SEMICOLON || isBlank(byte));
  };

  return (bytes, content) => {
    for (let at = 0; at < bytes.length; ) {
      if (place === 'data') {
        const part = bytes.subarray(at, at + size);
        content(part);
        at += part.length;
        size -= part.length;
        if (size === 0) place = 'data CR';
        continue;
      }
      const isLast = place === 'last LF';
      if (!step(bytes[at] as number)) return INVALID_CHUNK;
      at += 1;
      if (isLast) return at === bytes.length ? 'end' : 'beyond';
    }
    return 'more';
  };
}

const INVALID_CHUNK = { problem: 'the body of the answer has an invalid chunk' };

function isBlank(byte: number): boolean {
  return byte === 32 || byte === 9;
}

function hexDigit(byte: number): number | null {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : null;
}
