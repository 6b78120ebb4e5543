/**
 * The HTTP server: its sockets and time-outs, one request from route to reply, and a graceful stop (contract §6.7). A refusal becomes the
 * error body, and any other error a 500 that shows only its `errorId`. Every request writes one log line.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type Caller, type Gate, requireOperator } from '../access/gate.ts';
import { DRAIN_MS } from '../delivery/limits.ts';
import type { FairQueue } from '../kernel/fair-queue.ts';
import type { Clock } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { http } from '../kernel/node-http.ts';
import { Refusal, type RefusalCode } from '../kernel/refusal.ts';
import type { ObserveRequest } from '../observe/requests.ts';
import type { Answer } from '../store/port/database.ts';
import { readBody } from './body.ts';
import { type BodyMemory, bodyMemory, createBodies } from './body-memory.ts';
import { confirming } from './confirm.ts';
import { asRefusal, errorReply, newErrorId } from './error-body.ts';
import { DISCARDED_BODY_MS, HEADERS_MS, REQUEST_MS } from './limits.ts';
import { createSendLater, JSON_TYPE, sendReply, sendStream } from './reply.ts';
import {
  allHeaders,
  framingProblem,
  loggedPath,
  networkOf,
  readAbsoluteForm,
  refuseFraming,
  versionNotSupported,
} from './request.ts';
import { RequestContext } from './request-context.ts';
import type { Call, RefuseElsewhere, Reply, Route } from './route.ts';
import { createRouter, queryOf, refuseUnknownQuery } from './router.ts';

/** The head of a request (contract §1.7). */
const REQUEST_HEADER_BYTES: number = 16 * 1024;

/** Idle time of a connection. Longer than that of proxies (nginx: 60 s, Caddy: 120 s), so that they never send on a closing connection. */
const KEEP_ALIVE_MS = 130_000;

/** How often the time limits of connections are checked: a connection may exceed them by as much. */
const CONNECTIONS_CHECK_MS = 1000;

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

type Dependencies = {
  readonly routes: readonly Route[];
  /** The guarded route that serves a caller: for a customer, its own. Throws `Refusal`. Default: every route serves only the operator. */
  readonly routeFor?: (route: Route, caller: Caller) => Route;
  readonly gate: Gate;
  /** Waits until the data that was read is durable, before a reply promises it. Default: it is. Throws `Refusal`. */
  readonly confirm?: (readSinceMs: number) => Answer<void>;
  readonly clock: Clock;
  readonly log: Log;
  /** The address of the client. Trusts `X-Forwarded-For` only from trusted proxies. */
  readonly remoteAddress: (request: IncomingMessage) => string;
  /** Time limit for receiving a body. Default: REQUEST_BODY_MS. */
  readonly bodyTimeoutMs?: number;
  /** Bounds the bytes of bodies in progress. */
  readonly bodies?: FairQueue;
  readonly observe?: readonly ObserveRequest[];
  /** Words the refusals of requests without a route. */
  readonly elsewhere?: RefuseElsewhere;
  /** Aborted when the server stops, to end streams: they would last until their clients disconnect. */
  readonly stopping?: AbortSignal;
};

function forOperator(route: Route, caller: Caller): Route {
  requireOperator(caller);
  return route;
}

export function createRequestHandler(dependencies: Dependencies): RequestHandler {
  const { routes, routeFor = forOperator, gate, clock, log, bodyTimeoutMs, observe = [], elsewhere } = dependencies;
  const { confirm, stopping } = dependencies;
  const respond = confirm === undefined ? (route: Route, call: Call) => route.respond(call) : confirming(confirm);
  const router = createRouter(routes);
  const { bodies = createBodies() } = dependencies;
  const sendLater = createSendLater(log);

  const readAndRespond = async (route: Route, context: RequestContext): Promise<Reply> => {
    const { request } = context;
    const early = route.admit === undefined ? null : await route.admit(request);
    if (early !== null) return early;
    if (route.body === undefined) return await respond(route, context);
    let memory = null as BodyMemory | null;
    try {
      const { caller, remoteAddress } = context;
      const customerId = caller?.customerId ?? null;
      // The memory of a body counts for the customer or client that sends it; before authentication, for its network.
      const owner = customerId ?? caller?.clientId ?? networkOf(remoteAddress);
      const memoryFor = (most: number): BodyMemory => (memory ??= bodyMemory(bodies, owner, most));
      const read = await readBody(request, route.body, memoryFor, { timeoutMs: bodyTimeoutMs, customerId });
      context.body = read.body;
      context.mediaType = read.mediaType;
      return await respond(route, context);
    } finally {
      memory?.close();
    }
  };

  const serve = (route: Route, context: RequestContext, target: string): Promise<Reply> => {
    context.query = queryOf(target);
    refuseUnknownQuery(route, context.query, target);
    const isRead = route.admit === undefined && route.body === undefined;
    return isRead ? respond(route, context) : readAndRespond(route, context);
  };

  // Each `await` costs a call about 0.3 µs, so this function has none: it throws `Refusal`, or the promise rejects with it.
  const answer = (context: RequestContext): Promise<Reply> => {
    const { request, method } = context;
    const target = request.url ?? '/';
    refuseFraming(request);
    const { route, params, segments } = router.route(method, target);
    context.route = route;
    context.params = params;
    if (route.access !== 'guarded') return serve(route, context, target);
    const admit = (caller: Caller): Promise<Reply> => {
      context.caller = caller;
      gate.authorize(caller, method, segments);
      return serve(routeFor(route, caller), context, target);
    };
    const caller = gate.authenticate(allHeaders(request, 'authorization'));
    return caller instanceof Promise ? caller.then(admit) : admit(caller);
  };

  const refuse = async (error: unknown, context: RequestContext): Promise<Reply> => {
    const errorId = newErrorId(clock());
    const { route, request, caller } = context;
    // An outage may leave unknown who asks, so only a caller that is known to be the operator's reads the remedy.
    const isOperators = caller !== null && caller.customerId === null;
    const refusal = asRefusal(error, errorId, log, isOperators || route?.knowsReader === true);
    context.errorId = errorId;
    context.refusal = refusal.code;
    const asked =
      route === null ? elsewhere?.refuse(refusal, request, errorId) : route.refuse?.(refusal, request, errorId);
    const worded = (await asked) ?? refusal;
    return worded instanceof Refusal ? errorReply(worded, errorId, clock()) : worded;
  };

  return async (request, response) => {
    const startedAt = performance.now();
    // Read first: a closed socket no longer knows its peer.
    const remoteAddress = dependencies.remoteAddress(request);
    readAbsoluteForm(request);
    const context = new RequestContext(request, response, remoteAddress);
    let reply: Reply;
    try {
      reply = await answer(context);
    } catch (error) {
      reply = await refuse(error, context);
    }
    const { method, route, caller, refusal, errorId } = context;
    sendLater(response, () => {
      sendReply(request, response, reply);
      if (reply.stream !== undefined && method !== 'HEAD')
        void sendStream(response, reply.stream, { gone: context.gone, stopping, log });
    });
    const { status } = reply;
    const durationMs = performance.now() - startedAt;
    const metered = route?.metered ?? (route?.access === 'guarded' ? 'call' : null);
    const answered = { route: route?.path ?? null, metered, method, status, refusal, seconds: durationMs / 1000 };
    for (const one of observe) one(answered);
    const clientId = caller?.clientId ?? context.clientId;
    log.request({ method, path: loggedPath(request), status, durationMs, remoteAddress, clientId, refusal, errorId });
  };
}

type Listener = {
  /** Starts to accept connections and returns the port, which differs from `port` if that is 0. Rejects if the port is in use. */
  listen(host: string, port: number): Promise<number>;
  /** Replaces the certificate for new connections. Throws without TLS, and for an unusable certificate. */
  serve(tls: { readonly cert: string; readonly key: string }): void;
  /**
   * Accepts no new connections or requests, waits at most 10 s for the replies to current requests, and closes every connection after
   * its last reply. Idle connections close immediately.
   */
  close(): Promise<void>;
};

type ListenerOptions = {
  readonly handler: RequestHandler;
  readonly tls: Parameters<Listener['serve']>[0] | null;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a stop waits for current requests. Default: DRAIN_MS. */
  readonly drainMs?: number;
};

export function createListener({ handler, tls, clock, log, drainMs = DRAIN_MS }: ListenerOptions): Listener {
  const limits = {
    maxHeaderSize: REQUEST_HEADER_BYTES,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // With Node's 30 s, headers could take four times their limit.
    connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
    requireHostHeader: false,
    // A client may close its side after the request and still gets the reply.
    allowHalfOpen: true,
    // Saves half a microsecond per request without a body.
    optimizeEmptyRequests: true,
  };
  // The number of connections is limited by the system's limit of open files, and their duration by the limits above.
  const secure =
    tls === null ? null : createHttpsServer({ ...limits, ...tls, ...TLS_VERSIONS, handshakeTimeout: HEADERS_MS });
  const server: Server = secure ?? http.createServer(limits);
  // Missing in Node's types. Without it, the reply is cut off when the client closes its side.
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
  // An expectation other than 100-continue may be ignored (RFC 9110 §10.1.1). Node would refuse it with an empty body.
  server.on('checkExpectation', take);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    connections.afterReplies(socket, () => refuseMalformed(error, socket, clock(), log));
  });
  // Without a listener, Node closes the connection without a reply. With one, Node no longer handles errors of the socket.
  server.on('connect', (_, socket: Socket) => {
    socket.on('error', () => socket.destroy());
    const refusal = new Refusal('invalid_request', 'CONNECT is not supported: this server is not a proxy');
    connections.afterReplies(socket, () => refuseRaw(socket, refusal, clock(), log));
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
      // Replaces all settings: absent ones would get Node's defaults.
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

/** As for deliveries (contract §5.1). */
const TLS_VERSIONS = { minVersion: 'TLSv1.2' } as const;

type Connections = {
  /** Registers a request. Returns false if it came too late and must not be processed. */
  admits(request: IncomingMessage, response: ServerResponse): boolean;
  /**
   * Calls `refuse` for an unreadable request, once per connection, after the replies to earlier requests, because clients match replies to
   * requests by order (RFC 9112 §9.3.2). Does not call it if the request already has a reply while its body is unread: the connection ends
   * after that reply.
   */
  afterReplies(socket: Socket, refuse: () => void): void;
  /** Closes each connection after its last pending reply, and idle connections immediately. */
  drain(): void;
  /** Closes all connections immediately. */
  destroy(): void;
};

function trackConnections(server: Server): Connections {
  // With TLS, the connections below it, which exist before the handshake.
  const accepted = new Set<Socket>();
  // The latest response per connection is enough, because replies are sent in the order of their requests.
  const latest = new Map<Socket, ServerResponse>();
  // The previous response, if it was pending when the latest request came: clients may pipeline requests.
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
        // After the last reply on its connection (RFC 9112 §9.6). Read it anyway: unread bytes would reset the connection before that
        // reply.
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
    afterReplies: (socket, refuse) => {
      // After one parse error, everything on the connection is an error.
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

/** Calls `act` when the response is sent, or immediately without a response. */
function afterwards(response: ServerResponse | undefined, act: () => void): void {
  if (response === undefined || response.writableFinished) act();
  else response.once('finish', act);
}

/** A key that a TLS socket shares with the connection below it: both addresses. */
function ends({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

/** Answers a request that Node's parser refused, and closes the connection, because its state is unknown. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket, now: number, log: Log): void {
  // Before the TLS handshake, no reply is possible.
  if (!socket.writable || error.code === 'ECONNRESET' || /^ERR_(TLS|SSL)_/.test(error.code ?? '')) {
    socket.destroy();
    return;
  }
  refuseRaw(socket, malformed(error.code ?? ''), now, log, error.code);
}

/** Sends a refusal without a `ServerResponse`. */
function refuseRaw(socket: Socket, refusal: Refusal, now: number, log: Log, cause?: string): void {
  const errorId = newErrorId(now);
  const { status, body } = errorReply(refusal, errorId, now);
  const text = JSON.stringify(body);
  log.info({ status, errorId, code: cause ?? refusal.code }, 'malformed request');
  socket.end(
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ` +
      `${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
  // Limits the time for reading it, because Node no longer manages this connection.
  setTimeout(() => socket.destroy(), DISCARDED_BODY_MS).unref();
}

function malformed(cause: string): Refusal {
  // The second is the HTTP/2 preface.
  if (cause === 'HPE_INVALID_VERSION' || cause === 'HPE_PAUSED_H2_UPGRADE') return versionNotSupported();
  const [code, description] = MALFORMED[cause] ?? (['invalid_request', 'the request is not valid HTTP'] as const);
  return new Refusal(code, description);
}

const MALFORMED: Readonly<Record<string, readonly [RefusalCode, string]>> = {
  HPE_INVALID_METHOD: ['invalid_request', 'the request does not begin with a known method'],
  HPE_HEADER_OVERFLOW: ['headers_too_large', `the headers have more than ${REQUEST_HEADER_BYTES} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time'],
};
