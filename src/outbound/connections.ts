/**
 * The kept-alive connections of one origin, and the exchange of a request and its response on each. Each is an undici client of its own,
 * so that the steps of opening it are measured for the request that waited for them, and a request that fails closes no other connection.
 * What a connection reads is bounded: interim responses (1xx), and the bytes of one response in all.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { Client, type Dispatcher } from 'undici';
import type { Owner } from '../kernel/fair-queue.ts';
import { LARGE_BODY_BYTES } from '../kernel/limits/delivery.ts';
import {
  ANSWER_BYTES,
  CONNECTIONS_PER_ORIGIN_MAX,
  IDLE_CONNECTION_MAX_MS,
  IDLE_CONNECTION_MS,
  INTERIM_ANSWERS_MAX,
  INTERIM_HEADS_BYTES,
  RESPONSE_HEADER_BYTES,
  RESPONSE_READ_BYTES,
} from '../kernel/limits/limits.ts';
import { deliveryError } from './classify.ts';
import { type ConnectSteps, type Destination, openConnection, type Way } from './connect.ts';
import type { Answer } from './outcome.ts';
import { lacksCertificate } from './tls.ts';

export type Connection = {
  readonly client: Client;
  /** The steps since the last `acquire`; null if the connection was already open. */
  steps: ConnectSteps | null;
  /** The receiver asked for a client certificate when the connection was opened, and there was none. */
  lacksCertificate: boolean;
  /** Called before each request is written: bytes read from then on are its response. */
  begin(): void;
  /** Bytes of requests that are not written to the socket yet. */
  unwrittenBytes(): number;
};

export type Connections = {
  /**
   * Passes a free connection, at once or when one is released; the oldest waiter comes first. The returned function ends the wait. `owner`:
   * for whom a new one is opened.
   */
  acquire(take: (connection: Connection) => void, owner: Owner): () => void;
  /**
   * Gives back a connection whose exchange ended cleanly, for the next request. If the receiver answered before it read all of a large
   * request, the connection is destroyed instead.
   */
  release(connection: Connection): void;
  /** Gives back a connection in any other state: it is destroyed, connecting or not. */
  discard(connection: Connection): void;
  /** Destroys idle connections now, and the others when they are given back. Waiters are still served. */
  close(): Promise<void>;
};

/** At most `CONNECTIONS_PER_ORIGIN_MAX` at a time, the most recently used first, so that surplus connections time out. */
export function createConnections(origin: string, destination: Destination, way: Way): Connections {
  const idle: Connection[] = [];
  const waiting = new Map<(connection: Connection) => void, Owner>();
  const ends = new Map<Connection, AbortController>();
  let closed = false;

  function open(owner: Owner): Connection {
    const end = new AbortController();
    let opened: TLSSocket | null = null;
    let incoming: Incoming | null = null;
    const client = new Client(origin, {
      allowH2: false,
      maxHeaderSize: RESPONSE_HEADER_BYTES,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MAX_MS,
      // The transport's own total time-out covers these.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_options, callback) => {
        connection.steps = { dnsMs: null, connectMs: null, tlsMs: null };
        openConnection(destination, way, connection.steps, end.signal, owner).then(
          (socket) => {
            connection.lacksCertificate = lacksCertificate(socket);
            opened = socket;
            incoming = boundIncoming(socket);
            callback(null, socket);
          },
          (error: Error) => callback(error, null),
        );
      },
    });
    const connection: Connection = {
      ...{ client, steps: null, lacksCertificate: false },
      begin: () => incoming?.begin(),
      unwrittenBytes: () => opened?.writableLength ?? 0,
    };
    client.on('disconnect', () => {
      if (idle.includes(connection)) void drop(connection);
    });
    ends.set(connection, end);
    return connection;
  }

  function drop(connection: Connection): Promise<void> {
    if (idle.includes(connection)) idle.splice(idle.indexOf(connection), 1);
    ends.get(connection)?.abort();
    ends.delete(connection);
    return connection.client.destroy();
  }

  function serveNext(connection: (owner: Owner) => Connection): boolean {
    const [first] = waiting;
    if (first === undefined) return false;
    const [next, owner] = first;
    waiting.delete(next);
    next(Object.assign(connection(owner), { steps: null }));
    return true;
  }

  function reuse(connection: Connection): void {
    if (serveNext(() => connection)) return;
    if (closed) void drop(connection);
    else idle.push(connection);
  }

  function discard(connection: Connection): void {
    void drop(connection);
    serveNext(open);
  }

  return {
    acquire(take, owner) {
      waiting.set(take, owner);
      if (idle.length > 0 || ends.size < CONNECTIONS_PER_ORIGIN_MAX) serveNext((next) => idle.pop() ?? open(next));
      return () => waiting.delete(take);
    },
    release(connection) {
      // The system has already taken a small rest.
      if (connection.unwrittenBytes() < LARGE_BODY_BYTES) return reuse(connection);
      // With a nearby receiver, the completed write may be reported only in the next turn.
      setImmediate(() => (connection.unwrittenBytes() === 0 ? reuse(connection) : discard(connection)));
    },
    discard,
    async close() {
      closed = true;
      await Promise.all([...idle].map(drop));
    },
  };
}

/** `reusable`: the response was read completely; `error`: why it was not. */
export type ExchangeEnd = { readonly reusable: boolean; readonly error?: unknown };

export type Exchange = {
  /** The response so far; null before its head. */
  answer(): Answer | null;
  /** From writing the request to the head of the response, in milliseconds. */
  firstByteMs(): number | null;
  /** Whether an open connection has the request. */
  started(): boolean;
};

type Listener = {
  /** The final head of the response has arrived. */
  readonly onHead: () => void;
  /**
   * Called once, unless the connection is discarded first: after the last byte, on a failure, or when more than `RESPONSE_READ_BYTES`
   * have arrived. The rest is then not read, and the connection must be discarded.
   */
  readonly onEnd: (end: ExchangeEnd) => void;
};

/**
 * Sends a request over `connection`, which has no other request. `path`: with the query; `headers`: name, value, name, value, …, which the
 * caller must not change.
 */
export function startExchange(
  connection: Connection,
  request: { readonly path: string; readonly headers: string[]; readonly body: Uint8Array },
  { onHead, onEnd }: Listener,
): Exchange {
  const chunks: Uint8Array[] = [];
  let head: Pick<Answer, 'status' | 'headers'> | null = null;
  let bytes = 0;
  let complete = false;
  let startedAt: number | null = null;
  let headAt: number | null = null;

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart() {
      startedAt = performance.now();
      connection.begin();
    },
    onResponseStart(_controller, status, headers) {
      // The filter below removes interim responses; one that remains is not in the usual form of HTTP.
      if (status < 200) return onEnd({ reusable: false, error: NOT_PASSED_OVER });
      headAt = performance.now();
      head = { status, headers: joined(headers) };
      onHead();
    },
    onResponseData(_controller, chunk) {
      const room = RESPONSE_READ_BYTES - bytes;
      if (room > 0) chunks.push(chunk.subarray(0, room));
      bytes += Math.min(chunk.length, room);
      if (chunk.length > room) onEnd({ reusable: false });
    },
    onResponseEnd() {
      complete = true;
      onEnd({ reusable: true });
    },
    onResponseError(_controller, error) {
      onEnd({ reusable: false, error });
    },
  };
  connection.client.dispatch({ method: 'POST', ...request }, handler);
  return {
    answer: () => (head === null ? null : { ...head, body: concatenated(chunks, bytes), truncated: !complete }),
    firstByteMs: () => (headAt === null || startedAt === null ? null : Math.round(headAt - startedAt)),
    started: () => startedAt !== null,
  };
}

const NOT_PASSED_OVER = deliveryError(
  'malformed_response',
  'the receiver sent an interim answer (1xx) in a form that is not read',
);

/** undici passes repeated headers as a list. */
function joined(headers: IncomingHttpHeaders): Record<string, string> {
  const pairs = Object.entries(headers).map(([name, value = '']) => [
    name,
    typeof value === 'string' ? value : value.join(', '),
  ]);
  return Object.fromEntries(pairs);
}

function concatenated(chunks: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

export type Incoming = {
  /** A request is sent: bytes read from now on belong to its response. */
  begin(): void;
};

/**
 * Replaces `read` of `socket`, the only method through which undici takes bytes. Exceeding a bound destroys the socket with an error that
 * names it. The bound in bytes also covers bytes that the parser drops, such as chunk extensions and the reason phrase, which a receiver
 * could otherwise send for as long as the attempt lasts.
 */
function boundIncoming(socket: TLSSocket): Incoming {
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
            rest = concatenated([held, rest], held.length + rest.length);
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
