/** Bounds what undici reads from one connection: interim responses (1xx), and the bytes of one response in all. */
import type { TLSSocket } from 'node:tls';
import { ANSWER_BYTES, INTERIM_ANSWERS_MAX, INTERIM_HEADS_BYTES } from '../kernel/limits/limits.ts';
import { deliveryError } from './classify.ts';

export type Incoming = {
  /** A request is sent: bytes read from now on belong to its response. */
  begin(): void;
};

/**
 * Replaces `read` of `socket`, the only method through which undici takes bytes. Exceeding a bound destroys the socket with an error that
 * names it. The bound in bytes also covers bytes that the parser drops, such as chunk extensions and the reason phrase, which a receiver
 * could otherwise send for as long as the attempt lasts.
 */
export function boundIncoming(socket: TLSSocket): Incoming {
  const interim = createInterimFilter();
  const read = socket.read.bind(socket);
  let bytes = 0;

  socket.read = (size?: number): unknown => {
    // Node's own streams pass a size of 0 to fetch more.
    if (size !== undefined) return read(size);
    for (;;) {
      const chunk = read() as Buffer<ArrayBuffer> | null;
      if (chunk === null) return null;
      bytes += chunk.length;
      const passed = interim.pass(chunk);
      if (passed === 'too many') return fail('malformed_response', TOO_MANY_INTERIM);
      if (bytes > ANSWER_BYTES)
        return fail('response_too_large', `the answer has more than ${ANSWER_BYTES} bytes in all`);
      if (passed !== null) return passed;
    }
  };

  const fail = (errorClass: 'malformed_response' | 'response_too_large', message: string): null => {
    socket.destroy(deliveryError(errorClass, message));
    return null;
  };

  return {
    begin() {
      bytes = 0;
      interim.begin();
    },
  };
}

const TOO_MANY_INTERIM = `the receiver sent more than ${INTERIM_ANSWERS_MAX} interim answers (1xx), or more than ${INTERIM_HEADS_BYTES} bytes of them`;

/**
 * Removes interim responses (1xx, RFC 9110 §15.2) before undici's parser sees them, and counts them. undici refuses an unsolicited `100
 * Continue`, which clients must accept, and parses any number of other interim responses without reporting them.
 *
 * Rejected alternatives: an interceptor (undici destroys the socket before any handler hears of a 100), `node:http` (it does not bound
 * interim responses either, and is slower), a Duplex between socket and undici (two more buffers for every request and response). A
 * response that begins with its final head, as nearly all do, costs one comparison of twelve bytes here.
 */
export type InterimFilter = {
  /** A request is sent: the next bytes begin its response. */
  begin(): void;
  /** The part of the next bytes that the parser may see, or null; `too many` once a bound is exceeded. */
  pass(chunk: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | null | 'too many';
};

/** `start`: before a head; `interim`: within the head of an interim response; `through`: in the final response, which passes unread. */
type State = 'start' | 'interim' | 'through';

/**
 * A filter for one connection, with one request at a time. Bytes before the first `begin`, or between responses, pass unchanged, so that
 * the client refuses them.
 */
export function createInterimFilter(): InterimFilter {
  let state: State = 'through';
  let answers = 0;
  let bytes = 0;
  /** Bytes of the current line of an interim head; an empty line ends the head. */
  let lineBytes = 0;
  /** The beginning of a response that may be interim: fewer bytes than a status line needs to tell. */
  let held: Uint8Array<ArrayBuffer> = NOTHING;

  /** Returns where the head ends in `chunk`, or its length. */
  const skipHead = (chunk: Uint8Array, from: number): number => {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === LF && lineBytes === 0) {
        state = 'start';
        return at + 1;
      }
      if (byte === LF) lineBytes = 0;
      else if (byte !== CR) lineBytes += 1;
    }
    return chunk.length;
  };

  return {
    begin() {
      state = 'start';
      answers = 0;
      bytes = 0;
      lineBytes = 0;
      held = NOTHING;
    },
    pass(chunk) {
      if (state === 'through') return chunk;
      let at = 0;
      let rest = chunk;
      while (at < rest.length) {
        const from = at;
        if (state === 'interim') at = skipHead(rest, at);
        else {
          if (held.length > 0) {
            bytes -= held.length;
            rest = joined(held, rest);
            held = NOTHING;
          }
          at = skipEmptyLines(rest, at);
          const likeness = likenessAt(rest, at);
          if (likeness === 'other') {
            state = 'through';
            return at === 0 ? rest : rest.subarray(at);
          }
          if (likeness === 'unclear') {
            held = rest.slice(at);
            at = rest.length;
          } else {
            state = 'interim';
            lineBytes = 1;
            at += STATUS_LINE.length;
            answers += 1;
          }
        }
        bytes += at - from;
        if (answers > INTERIM_ANSWERS_MAX || bytes > INTERIM_HEADS_BYTES) return 'too many';
      }
      return null;
    },
  };
}

const NOTHING: Uint8Array<ArrayBuffer> = new Uint8Array(0);
const CR = 13;
const LF = 10;
/** `d` stands for any digit. */
const STATUS_LINE = 'HTTP/d.d 1dd';

/** Parsers accept empty lines before a status line (RFC 9112 §2.2). */
function skipEmptyLines(chunk: Uint8Array, from: number): number {
  let at = from;
  while (chunk[at] === CR || chunk[at] === LF) at += 1;
  return at;
}

/** 101 is `other`: no request asks for it, and the bytes after it are not HTTP. */
function likenessAt(chunk: Uint8Array, from: number): 'interim' | 'unclear' | 'other' {
  for (let i = 0; i < STATUS_LINE.length; i += 1) {
    const byte = chunk[from + i];
    if (byte === undefined) return 'unclear';
    const isDigit = byte >= 0x30 && byte <= 0x39;
    if (STATUS_LINE[i] === 'd' ? !isDigit : byte !== STATUS_LINE.charCodeAt(i)) return 'other';
  }
  const isSwitch = chunk[from + 10] === 0x30 && chunk[from + 11] === 0x31;
  return isSwitch ? 'other' : 'interim';
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = Buffer.alloc(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
