/** Finds the head of the final response among what a connection reads. */

import { type ReadHead, readHead, statusOfLine } from './answer-head.ts';
import { RESPONSE_HEADER_BYTES } from './limits.ts';

/** Interim responses (1xx) that are skipped before the attempt fails, and the bytes of their heads. */
export const INTERIM_ANSWERS_MAX = 16;
export const INTERIM_HEADS_BYTES: number = 16 * 1024;

/** The head, and the bytes that followed it. */
type FoundHead = { readonly head: ReadHead; readonly rest: Buffer<ArrayBuffer> };

/** Why a response has no head that can be used. `other protocol`: a status of 101. `no status`: one below 100. */
export type HeadProblem = 'too many interim' | 'too large' | 'not HTTP' | 'other protocol' | 'no status';

type HeadReader = {
  /** Reads the next bytes. Returns the head once it is complete, and null until then. */
  read(bytes: Buffer<ArrayBuffer>): FoundHead | HeadProblem | null;
  /** The part of the head of the final response that has arrived; null before its status line is complete, and once the head was found. */
  unseen(): ReadHead | null;
};

/**
 * A reader for one response. Skips empty lines, and interim responses (1xx, RFC 9110 §15.2), which a client must accept although it did not
 * ask for them.
 */
export function createHeadReader(): HeadReader {
  let answers = 0;
  /** Bytes of interim responses and of empty lines. */
  let interimBytes = 0;
  /** The beginning of a head that is not complete. */
  let held: Buffer<ArrayBuffer> = NOTHING;
  let isLast = false;

  return {
    read(bytes) {
      let rest = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
      for (;;) {
        const from = skipEmptyLines(rest);
        interimBytes += from;
        if (from > 0) rest = rest.subarray(from);
        if (!beginsAsStatusLine(rest)) return 'not HTTP';
        const lineEnd = rest.indexOf(LF);
        const status = lineEnd < 0 ? null : statusOfLine(rest.toString('latin1', 0, lineEnd));
        if (lineEnd >= 0 && status === null) return 'not HTTP';
        if (status !== null && status < 100) return 'no status';
        // No request asks for it, and the bytes after it are not HTTP.
        if (status === SWITCHING) return 'other protocol';
        const isInterim = status !== null && status < 200;
        isLast = lineEnd >= 0 && !isInterim;
        const end = endOfHead(rest, lineEnd);
        if (isInterim && end !== null) {
          answers += 1;
          interimBytes += end;
          if (answers > INTERIM_ANSWERS_MAX || interimBytes > INTERIM_HEADS_BYTES) return 'too many interim';
          rest = rest.subarray(end);
          continue;
        }
        if ((end ?? rest.length) > RESPONSE_HEADER_BYTES && !isInterim) {
          held = Buffer.from(rest.subarray(0, RESPONSE_HEADER_BYTES));
          return 'too large';
        }
        if (end === null) {
          held = Buffer.from(rest);
          const isOver = interimBytes + (isInterim ? rest.length : 0) > INTERIM_HEADS_BYTES;
          return isOver ? 'too many interim' : null;
        }
        held = NOTHING;
        isLast = false;
        return { head: readHead(rest.toString('latin1', 0, end)), rest: rest.subarray(end) };
      }
    },
    unseen: () => (isLast ? readHead(held.toString('latin1')) : null),
  };
}

const NOTHING: Buffer<ArrayBuffer> = Buffer.alloc(0);
const CR = 13;
const LF = 10;
const SWITCHING = 101;

/** Parsers accept empty lines before a status line (RFC 9112 §2.2). Returns where they end. */
function skipEmptyLines(bytes: Uint8Array): number {
  let at = 0;
  while (bytes[at] === CR || bytes[at] === LF) at += 1;
  return at;
}

/** `d` means any digit. */
const BEGINNING = 'HTTP/d.d';

/** Whether the bytes may be the beginning of a status line. */
function beginsAsStatusLine(bytes: Uint8Array): boolean {
  for (let i = 0; i < BEGINNING.length && i < bytes.length; i += 1) {
    const byte = bytes[i] ?? 0;
    const isDigit = byte >= 0x30 && byte <= 0x39;
    if (BEGINNING[i] === 'd' ? !isDigit : byte !== BEGINNING.charCodeAt(i)) return false;
  }
  return true;
}

/** Where the empty line after the head ends, or null. `lineEnd` is the first line feed, or -1. */
function endOfHead(bytes: Uint8Array, lineEnd: number): number | null {
  for (let at = lineEnd; at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return null;
}

export function concatenated(chunks: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
