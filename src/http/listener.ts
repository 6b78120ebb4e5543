/** The server on its socket: time-outs, malformed requests, and a stop that lets what is under way finish (wire.md §6). */
import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer, type Server, STATUS_CODES } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock } from '../ids.ts';
import { DRAIN_MS, HEADERS_MS, REQUEST_HEADER_BYTES, REQUEST_MS } from '../limits.ts';
import type { Log } from '../log.ts';
import { Refusal, type RefusalCode } from '../refusal.ts';
import { errorReply } from './error-body.ts';
import { JSON_TYPE } from './respond.ts';
import type { RequestHandler } from './server.ts';

export type Listener = {
  /** Begins to accept; answers the port, which is another than asked for when that was 0. Rejects when the port is taken. */
  listen(host: string, port: number): Promise<number>;
  /** Accepts nothing new, waits for what is under way, 10 s at most, then closes every connection. */
  close(): Promise<void>;
};

type ListenerOptions = {
  readonly handler: RequestHandler;
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly clock: Clock;
  readonly log: Log;
};

export function createListener({ handler, tls, clock, log }: ListenerOptions): Listener {
  const limits = {
    maxHeaderSize: REQUEST_HEADER_BYTES,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    requireHostHeader: false,
    // A request without a body has no stream to end: half a microsecond of each.
    optimizeEmptyRequests: true,
  };
  const server: Server =
    tls === null ? createHttpServer(limits) : createHttpsServer({ ...limits, ...tls, minVersion: 'TLSv1.2' });
  server.on('request', (request, response) => {
    handler(request, response).catch((error: unknown) => {
      log.error({ err: error }, 'a request broke off');
      response.destroy();
    });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    refuseMalformed(error, socket, clock(), log),
  );
  return {
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    close: () =>
      new Promise((resolve) => {
        const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
        server.close(() => {
          clearTimeout(deadline);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

/** What Node's parser refuses: the connection cannot be trusted further, so it ends with the answer. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket, now: number, log: Log): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [code, description] =
    MALFORMED[error.code ?? ''] ?? (['invalid_request', 'the request is not valid HTTP'] as const);
  const errorId = randomUUID();
  const { status, body } = errorReply(new Refusal(code, description), errorId, now);
  const text = JSON.stringify(body);
  log.info({ status, errorId, code: error.code }, 'malformed request');
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}

const MALFORMED: Readonly<Record<string, readonly [RefusalCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', `the headers have more than ${REQUEST_HEADER_BYTES} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time'],
};
