/**
 * Removes interim answers (1xx, RFC 9110 §15.2) from what a receiver sends, before undici's parser sees it, and counts them. undici
 * refuses an unsolicited `100 Continue`, which clients must accept, and parses any number of other interim answers without asking anybody.
 *
 * Turned down: an interceptor (undici destroys the socket before any handler hears of a 100), `node:http` (it does not bound interim
 * answers either, and sends fewer requests a second), a Duplex between socket and undici (every request and answer would pass through
 * two more buffers). An answer that begins with its final head, as nearly all do, costs one comparison of twelve bytes here.
 */
import { INTERIM_ANSWERS_MAX, INTERIM_HEADS_BYTES } from '../kernel/limits/limits.ts';

export type InterimFilter = {
  /** A request goes out: the next bytes begin the answer to it. */
  begin(): void;
  /** What the parser may see of the next bytes; null for nothing; `too many` once a bound is passed. */
  pass(chunk: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | null | 'too many';
};

/** `start`: before a head; `interim`: within the head of an interim answer; `through`: in the final answer, which is not looked at. */
type State = 'start' | 'interim' | 'through';

/**
 * One for each connection, for one request at a time. Bytes that come before the first `begin`, or between answers, pass as they are, so
 * that the client refuses them.
 */
export function createInterimFilter(): InterimFilter {
  let state: State = 'through';
  let answers = 0;
  let bytes = 0;
  /** Bytes of the current line of an interim head; its end is an empty line. */
  let lineBytes = 0;
  /** What may still prove to be an interim answer: fewer bytes than its status takes. */
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

/** 101 is other: nothing that was asked for, and what follows it is no HTTP. */
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
