/** The server on its socket: time-outs, malformed requests, and a stop that lets what is under way finish (contract §6). */
import { randomUUID } from 'node:crypto';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock } from '../kernel/ids.ts';
import {
  CONNECTIONS_CHECK_MS,
  DISCARDED_BODY_MS,
  DRAIN_MS,
  HEADERS_MS,
  KEEP_ALIVE_MS,
  REQUEST_HEADER_BYTES,
  REQUEST_MS,
} from '../kernel/limits/limits.ts';
import { Refusal, type RefusalCode } from '../kernel/refusal.ts';
import type { Log } from '../observe/log.ts';
import { errorReply } from './error-body.ts';
import { JSON_TYPE } from './reply.ts';
import { framingProblem, versionNotSupported } from './request-head.ts';
import type { RequestHandler } from './server.ts';

export type Listener = {
  /** Begins to accept; answers the port, which is another than asked for when that was 0. Rejects when the port is taken. */
  listen(host: string, port: number): Promise<number>;
  /** Shows another certificate to those who connect from now on. Throws where there is no TLS, or for what cannot be used. */
  serve(tls: Tls): void;
  /**
   * Accepts nothing new, neither connections nor requests on those that there are; answers what is under way, 10 s at most, and ends
   * every connection with its last answer. Those that wait for none end at once.
   */
  close(): Promise<void>;
};

type Tls = { readonly cert: string; readonly key: string };

type ListenerOptions = {
  readonly handler: RequestHandler;
  readonly tls: Tls | null;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a stop waits for what is under way; DRAIN_MS unless given. */
  readonly drainMs?: number;
};

export function createListener({ handler, tls, clock, log, drainMs = DRAIN_MS }: ListenerOptions): Listener {
  const limits = {
    maxHeaderSize: REQUEST_HEADER_BYTES,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Node's 30 s would let headers take four times as long as they may.
    connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
    requireHostHeader: false,
    // A client may end its side once it has sent its request: it still gets its answer.
    allowHalfOpen: true,
    // A request without a body has no stream to end: half a microsecond of each.
    optimizeEmptyRequests: true,
  };
  // How many connections there may be is left to the system's limit of open files: each lasts only as long as the above.
  const secure =
    tls === null ? null : createHttpsServer({ ...limits, ...tls, ...TLS_VERSIONS, handshakeTimeout: HEADERS_MS });
  const server: Server = secure ?? createHttpServer(limits);
  // Node's own name for it, which its types leave out: otherwise the answer is cut off with the client's side.
  Object.assign(server, { httpAllowHalfOpen: true });
  const connections = trackConnections(server);
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    if (!connections.admits(request, response)) return;
    handler(request, response).catch((error: unknown) => {
      log.error({ err: error }, 'a request failed');
      response.destroy();
    });
  };
  server.on('request', take);
  // An expectation other than 100-continue: Node would refuse it with an empty body. It may be ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', take);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    connections.afterAnswers(socket, () => refuseMalformed(error, socket, clock(), log));
  });
  // Node would close the connection without a word. With a listener it lets go of the socket, whose errors are nobody's then.
  server.on('connect', (_, socket: Socket) => {
    socket.on('error', () => socket.destroy());
    connections.afterAnswers(socket, () => refuseRaw(socket, new Refusal('invalid_request', NO_PROXY), clock(), log));
  });
  return {
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    serve: (next) => {
      if (secure === null) throw new Error('the server has no TLS');
      // All of it anew: what is not said again falls back to what Node takes by itself.
      secure.setSecureContext({ ...next, ...TLS_VERSIONS });
    },
    close: () =>
      new Promise((resolve) => {
        const deadline = setTimeout(connections.destroy, drainMs);
        server.close(() => {
          clearTimeout(deadline);
          resolve();
        });
        connections.drain();
      }),
  };
}

/** Of contract §5, on this side too. */
const TLS_VERSIONS = { minVersion: 'TLSv1.2' } as const;

type Connections = {
  /** Takes note of a request; false if it has come too late, and is not to be carried out. */
  admits(request: IncomingMessage, response: ServerResponse): boolean;
  /**
   * For what a connection is told of a request that cannot be read: once, after the answers to whole requests before it, in whose place
   * it would be taken for theirs (RFC 9112 §9.3.2). Not where that request has been answered already, its body unread: the connection
   * ends with that answer.
   */
  afterAnswers(socket: Socket, refuse: () => void): void;
  /** Ends each connection with the last answer that is due on it, and those on which none is due now. */
  drain(): void;
  /** Ends all of them as they are. */
  destroy(): void;
};

function trackConnections(server: Server): Connections {
  // With TLS, the connections beneath it: there they are before their handshake is done.
  const accepted = new Set<Socket>();
  // One for each connection is enough: answers leave in the order of their requests, so the others have left before it.
  const latest = new Map<Socket, ServerResponse>();
  // The one before, if it was still due when that came: requests may be sent without waiting for answers.
  const before = new WeakMap<Socket, ServerResponse>();
  const refused = new WeakSet<Socket>();
  const ending = new WeakSet<Socket>();
  let isDraining = false;
  server.on('connection', (socket: Socket) => {
    accepted.add(socket);
    socket.once('close', () => accepted.delete(socket));
  });
  return {
    admits: (request, response) => {
      const { socket } = request;
      if (isDraining || ending.has(socket)) {
        // Behind the last answer on its connection (RFC 9112 §9.6). Read all the same: bytes left unread would reset that answer.
        request.resume();
        return false;
      }
      if (framingProblem(request) !== null) ending.add(socket);
      const earlier = latest.get(socket);
      if (earlier === undefined) socket.once('close', () => latest.delete(socket));
      else if (!earlier.writableFinished) before.set(socket, earlier);
      latest.set(socket, response);
      return true;
    },
    afterAnswers: (socket, refuse) => {
      // All that comes after bytes that cannot be read cannot be read either.
      if (refused.has(socket)) return;
      refused.add(socket);
      const last = latest.get(socket);
      const isOwnBody = last !== undefined && !last.req.complete;
      afterwards(isOwnBody ? before.get(socket) : last, () => {
        if (isOwnBody && last.headersSent) afterwards(last, () => socket.destroySoon());
        else refuse();
      });
    },
    drain: () => {
      isDraining = true;
      const due = new Set<string>();
      for (const [socket, response] of latest) {
        if (response.writableFinished) continue;
        due.add(ends(socket));
        if (!response.headersSent) response.setHeader('Connection', 'close');
        else response.once('finish', () => socket.destroySoon());
      }
      for (const socket of accepted) if (!due.has(ends(socket))) socket.destroy();
    },
    destroy: () => {
      for (const socket of accepted) socket.destroy();
    },
  };
}

/** Acts once an answer has been handed to its connection; at once where there is none. */
function afterwards(response: ServerResponse | undefined, act: () => void): void {
  if (response === undefined || response.writableFinished) act();
  else response.once('finish', act);
}

/** What a TLS socket and the connection beneath it have in common: who is at its two ends. */
function ends({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

/** What Node's parser refuses: the connection cannot be trusted further, so it ends with the answer. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket, now: number, log: Log): void {
  // Where there is no TLS yet nothing can be said.
  if (!socket.writable || error.code === 'ECONNRESET' || /^ERR_(TLS|SSL)_/.test(error.code ?? '')) {
    socket.destroy();
    return;
  }
  refuseRaw(socket, malformed(error.code ?? ''), now, log, error.code);
}

/** Answers where there is no response to do it with. */
function refuseRaw(socket: Socket, refusal: Refusal, now: number, log: Log, cause?: string): void {
  const errorId = randomUUID();
  const { status, body } = errorReply(refusal, errorId, now);
  const text = JSON.stringify(body);
  log.info({ status, errorId, code: cause ?? refusal.code }, 'malformed request');
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
  // Time to read that, and no more: Node looks after this connection no longer.
  setTimeout(() => socket.destroy(), DISCARDED_BODY_MS).unref();
}

const NO_PROXY = 'CONNECT asks for a proxy, which this is none';

function malformed(cause: string): Refusal {
  // The second is the preface of HTTP/2.
  if (cause === 'HPE_INVALID_VERSION' || cause === 'HPE_PAUSED_H2_UPGRADE') return versionNotSupported();
  const [code, description] = MALFORMED[cause] ?? (['invalid_request', 'the request is not valid HTTP'] as const);
  return new Refusal(code, description);
}

const MALFORMED: Readonly<Record<string, readonly [RefusalCode, string]>> = {
  HPE_INVALID_METHOD: ['invalid_request', 'the request does not begin with a method that is known here'],
  HPE_HEADER_OVERFLOW: ['headers_too_large', `the headers have more than ${REQUEST_HEADER_BYTES} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time'],
};
