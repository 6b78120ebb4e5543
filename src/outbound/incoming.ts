/**
 * What a connection reads: bounds the bytes of a response, removes interim responses, and gives the parser heads that it accepts.
 */

import type { TLSSocket } from 'node:tls';
import { isWellFormed, type ReadHead, readHead, statusOfLine } from './answer-head.ts';
import { deliveryError } from './classify.ts';
import { RESPONSE_HEADER_BYTES } from './limits.ts';

/** Interim responses (1xx) that are skipped before the attempt fails, and the bytes of their heads. */
export const INTERIM_ANSWERS_MAX = 16;
export const INTERIM_HEADS_BYTES: number = 16 * 1024;

/** All bytes of one response, including HTTP framing: `RESPONSE_READ_BYTES` in chunks of one byte take 384 KiB. */
export const ANSWER_BYTES: number = 512 * 1024;

export type Incoming = {
  /** A request is sent: bytes read from now on belong to its response. */
  begin(): void;
  /** Whether a byte of the response was read, interim responses included. */
  hasBegun(): boolean;
  /** How the head of the response violates HTTP; none for a response as it should be. */
  problems(): readonly string[];
  /**
   * The head of the final response as far as it has arrived, whether or not the client read it; null before its status line is complete.
   */
  unseenHead(): ReadHead | null;
};

/**
 * Replaces `read` of `socket`, the only method through which undici takes bytes. Exceeding a bound destroys the socket with an error that
 * names it. The bound in bytes also covers bytes that the parser drops, such as chunk extensions and the reason phrase, which a receiver
 * could otherwise send for as long as the attempt lasts.
 */
export function boundIncoming(socket: TLSSocket): Incoming {
  const filter = createHeadFilter();
  const read = socket.read.bind(socket);
  let bytes = 0;

  const fail = (errorClass: 'malformed_response' | 'response_too_large', message: string): null => {
    socket.destroy(deliveryError(errorClass, message));
    return null;
  };

  socket.read = (size?: number): unknown => {
    // Node's own streams pass a size of 0 to fetch more.
    if (size !== undefined) return read(size);
    for (;;) {
      const chunk = read() as Buffer<ArrayBuffer> | null;
      if (chunk === null) return null;
      bytes += chunk.length;
      const passed = filter.pass(chunk);
      if (passed === 'too many') return fail('malformed_response', TOO_MANY_INTERIM);
      if (passed === 'too large') return fail('response_too_large', HEAD_TOO_LARGE);
      if (bytes > ANSWER_BYTES)
        return fail('response_too_large', `the answer has more than ${ANSWER_BYTES} bytes in all`);
      if (passed !== null) return passed;
    }
  };

  return {
    begin() {
      bytes = 0;
      filter.begin();
    },
    hasBegun: () => bytes > 0,
    problems: () => filter.problems(),
    unseenHead: () => filter.lastHead(),
  };
}

const TOO_MANY_INTERIM =
  `the receiver sent more than ${INTERIM_ANSWERS_MAX} interim answers (1xx), or more than ${INTERIM_HEADS_BYTES} ` +
  'bytes of them';
const HEAD_TOO_LARGE = `the answer's headers are too large: more than ${RESPONSE_HEADER_BYTES} bytes`;

/**
 * Removes interim responses (1xx, RFC 9110 §15.2) before undici's parser sees them, and counts them. undici refuses an unsolicited `100
 * Continue`, which clients must accept, and parses any number of other interim responses without reporting them. A head that its parser
 * would refuse is replaced (`readHead`).
 *
 * Rejected alternatives: an interceptor (undici destroys the socket before any handler hears of a 100), `node:http` (it does not bound
 * interim responses either, and is slower), a Duplex between socket and undici (two more buffers for every request and response), the
 * lenient flags of the parser (undici does not offer them, and they accept neither folded headers nor lines without a colon).
 */
export type HeadFilter = {
  /** A request is sent: the next bytes begin its response. */
  begin(): void;
  /**
   * The part of the next bytes that the parser may see, or null. `too many`: interim responses exceed a bound; `too large`: the head does.
   */
  pass(chunk: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | null | 'too many' | 'too large';
  problems(): readonly string[];
  /** The head of the final response as far as it has arrived, or null before its status line is complete. */
  lastHead(): ReadHead | null;
};

/**
 * A filter for one connection, with one request at a time. Bytes before the first `begin`, or after the head, pass unchanged; so do bytes
 * that are no HTTP, and the client refuses them.
 */
export function createHeadFilter(): HeadFilter {
  let isInHead = false;
  let answers = 0;
  /** Bytes of interim responses and of empty lines. */
  let interimBytes = 0;
  /** The beginning of a head that is not complete. */
  let held: Uint8Array<ArrayBuffer> = NOTHING;
  /** The head of the final response once it is complete. */
  let text: string | null = null;
  let problems: readonly string[] = NONE;
  let isLast = false;

  const through = (bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> => {
    isInHead = false;
    held = NOTHING;
    return bytes;
  };

  return {
    begin() {
      isInHead = true;
      answers = 0;
      interimBytes = 0;
      held = NOTHING;
      text = null;
      problems = NONE;
      isLast = false;
    },
    pass(chunk) {
      if (!isInHead) return chunk;
      let rest = held.length === 0 ? chunk : concatenated([held, chunk], held.length + chunk.length);
      for (;;) {
        const from = skipEmptyLines(rest);
        interimBytes += from;
        if (from > 0) rest = rest.subarray(from);
        if (!beginsAsStatusLine(rest)) return through(rest);
        const lineEnd = rest.indexOf(LF);
        const status = lineEnd < 0 ? null : statusOfLine(latin1(rest, lineEnd));
        const isInterim = status !== null && status >= 100 && status < 200 && status !== SWITCHING;
        // 101: no request asks for it, and the bytes after it are not HTTP.
        if (lineEnd >= 0 && !isInterim && (status === null || status < 200)) return through(rest);
        isLast = lineEnd >= 0 && !isInterim;
        const end = endOfHead(rest, lineEnd);
        if (isInterim && end !== null) {
          answers += 1;
          interimBytes += end;
          if (answers > INTERIM_ANSWERS_MAX || interimBytes > INTERIM_HEADS_BYTES) return 'too many';
          rest = rest.subarray(end);
          continue;
        }
        if ((end ?? rest.length) > RESPONSE_HEADER_BYTES && !isInterim) {
          held = rest.slice(0, RESPONSE_HEADER_BYTES);
          return 'too large';
        }
        if (end === null) {
          held = rest.slice();
          const isOver = interimBytes + (isInterim ? rest.length : 0) > INTERIM_HEADS_BYTES;
          return isOver ? 'too many' : null;
        }
        text = latin1(rest, end);
        if (isWellFormed(text)) return through(rest);
        const head = readHead(text);
        ({ problems } = head);
        if (problems.length === 0) return through(rest);
        const body = rest.subarray(end);
        const written = Buffer.from(head.text, 'latin1');
        return through(concatenated([written, body], written.length + body.length));
      }
    },
    problems: () => problems,
    lastHead: () => (text !== null ? readHead(text) : isInHead && isLast ? readHead(latin1(held, held.length)) : null),
  };
}

const NOTHING: Uint8Array<ArrayBuffer> = new Uint8Array(0);
const NONE: readonly string[] = [];
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

/** Whether the bytes are the beginning of a status line, as far as they go. */
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

function latin1(bytes: Uint8Array<ArrayBuffer>, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', 0, end);
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
