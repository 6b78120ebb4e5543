/** A real HTTPS server on 127.0.0.1 that records requests and answers them as the test decides. */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls';
import type { Identity } from './tls.ts';

export type SeenRequest = {
  readonly method: string;
  /** Path and query, as sent. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Name, value, name, value, … as sent. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** Common name of the client certificate, or null. */
  readonly clientName: string | null;
};

/** A response, or a function that writes it. */
export type PlannedAnswer =
  | {
      readonly status?: number;
      readonly headers?: Record<string, string | string[]>;
      readonly body?: string | Uint8Array;
    }
  | ((request: SeenRequest, response: ServerResponse) => void | Promise<void>);

export type HttpsServer = {
  readonly port: number;
  /** `https://localhost:<port>` */
  readonly origin: string;
  readonly requests: readonly SeenRequest[];
  /** The number of TLS connections so far. */
  connections(): number;
  /** Resolves with the next request that `next()` has not returned yet. */
  next(): Promise<SeenRequest>;
  /** Sets the response to all further requests. The default is 200 without a body. */
  answer(planned: PlannedAnswer): void;
  /** Resolves when no connection is open and every request that arrived has been handled. */
  quiet(): Promise<void>;
  /** Destroys every connection and closes the port. */
  close(): Promise<void>;
};

export type HttpsServerOptions = {
  /** Further options, such as `{requestCert: true, rejectUnauthorized: true, ca}` for mutual TLS. */
  readonly tls?: TlsOptions;
  readonly answer?: PlannedAnswer;
};

export async function startHttpsServer(
  identity: Identity,
  { tls = {}, answer = {} }: HttpsServerOptions = {},
): Promise<HttpsServer> {
  const requests: SeenRequest[] = [];
  const unread: SeenRequest[] = [];
  const waiting: ((request: SeenRequest) => void)[] = [];
  let planned = answer;
  let connections = 0;
  let inProgress = 0;
  // `closeAllConnections` does not close connections during their handshake.
  const sockets = new Set<Socket>();
  const quietWaiters = new Set<() => void>();
  const lookQuiet = (): void => {
    if (sockets.size > 0 || inProgress > 0) return;
    for (const resolve of quietWaiters) resolve();
    quietWaiters.clear();
  };

  const server = createServer({ cert: identity.certificate, key: identity.privateKey, ...tls }, (request, response) => {
    inProgress += 1;
    void record(request)
      .then(
        (seen) => {
          requests.push(seen);
          const reader = waiting.shift();
          if (reader === undefined) unread.push(seen);
          else reader(seen);
          return respond(planned, seen, response);
        },
        () => void response.destroy(),
      )
      .finally(() => {
        inProgress -= 1;
        lookQuiet();
      });
  });
  server.on('secureConnection', () => {
    connections += 1;
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      lookQuiet();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    port,
    origin: `https://localhost:${port}`,
    requests,
    connections: () => connections,
    next() {
      const seen = unread.shift();
      return seen === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(seen);
    },
    answer(next) {
      planned = next;
    },
    quiet: () =>
      new Promise((resolve) => {
        quietWaiters.add(resolve);
        lookQuiet();
      }),
    close() {
      return new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      });
    },
  };
}

async function record(request: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method = '', url = '', headers, rawHeaders } = request;
  const clientName = (request.socket as TLSSocket).getPeerCertificate()?.subject?.CN ?? null;
  return {
    method,
    url,
    headers,
    rawHeaders,
    body: Buffer.concat(chunks),
    clientName: clientName === null ? null : String(clientName),
  };
}

async function respond(planned: PlannedAnswer, seen: SeenRequest, response: ServerResponse): Promise<void> {
  if (typeof planned === 'function') return await planned(seen, response);
  const { status = 200, headers = {}, body = '' } = planned;
  response.writeHead(status, headers);
  response.end(body);
}

/** A TLS server without HTTP: `onSocket` handles each connection. Returns the port. Ends with the test, and closes all connections. */
export async function startRawTlsServer(
  t: TestContext,
  identity: Identity,
  onSocket: (socket: TLSSocket) => void,
): Promise<number> {
  const server = createTlsServer({ cert: identity.certificate, key: identity.privateKey }, (socket) => {
    socket.on('error', () => socket.destroy());
    onSocket(socket);
  });
  return await listening(t, server);
}

/** A TCP server that calls `onSocket` with each connection. Returns the port. It is closed when the test ends. */
export async function startTcpServer(t: TestContext, onSocket: (socket: Socket) => void): Promise<number> {
  return await listening(
    t,
    createTcpServer((socket) => {
      socket.on('error', () => socket.destroy());
      onSocket(socket);
    }),
  );
}

async function listening(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}
