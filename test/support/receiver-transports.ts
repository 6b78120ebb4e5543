/**
 * Runs a receiver behind `node:http` with requests over sockets, and as a fetch-style handler in a context with only the globals of the
 * web and none of Node's.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { TestContext } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { buildSync } from 'esbuild';
import * as receiverPackage from '../../src/receiver/index.ts';
import type { ReceiverOptions } from '../../src/receiver/options.ts';
import { cleanUp } from './cleanup.ts';
import type { RawRequest } from './signed-request.ts';

export type Reply = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
};

export type Send = (request: RawRequest) => Promise<Reply>;

export type Options = ReceiverOptions<Record<string, unknown>>;

export type Transport = {
  readonly name: string;
  start(t: TestContext, options: Options): Promise<Send>;
};

const node: Transport = {
  name: 'node:http',
  start: async (t, options) => {
    const port = await serveNode(t, options);
    return (request) => sendRaw(port, request);
  },
};

const web: Transport = {
  name: 'fetch',
  start: async (_t, options) => {
    const handle = webHandler(options);
    return async (request) => {
      const response = await handle(webRequest(request));
      return { status: response.status, headers: new Map(response.headers), body: await response.text() };
    };
  },
};

export const TRANSPORTS: readonly Transport[] = [node, web];

/** Serves a receiver with `node:http` and returns the port. */
export async function serveNode(t: TestContext, options: Options): Promise<number> {
  const server = createServer(receiverPackage.nodeHandler(receiverPackage.createReceiver(options)));
  cleanUp(t, () => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Globals of a web worker that Node has too. */
const WEB = { crypto, TextEncoder, TextDecoder, URL, Response, Blob, ReadableStream, DecompressionStream, btoa, atob };

let sandbox: typeof receiverPackage | null = null;

/** Creates a receiver in a context without Node's globals, and returns its handler. */
export function webHandler(options: Options): (request: Request) => Promise<Response> {
  sandbox ??= loadInSandbox();
  return sandbox.fetchHandler(sandbox.createReceiver(options));
}

function loadInSandbox(): typeof receiverPackage {
  const { outputFiles } = buildSync({
    entryPoints: [new URL('../../src/receiver/index.ts', import.meta.url).pathname],
    bundle: true,
    format: 'iife',
    globalName: 'receiverPackage',
    platform: 'neutral',
    target: 'es2023',
    write: false,
  });
  const context = createContext({ ...WEB, console });
  runInContext(outputFiles[0]?.text ?? '', context);
  return runInContext('receiverPackage', context) as typeof receiverPackage;
}

export function webRequest({ method, path, headers, body }: RawRequest): Request {
  const init = { method, headers: headers.map(([name, value]): [string, string] => [name, value]) };
  return new Request(
    `https://hooks.example.com${path}`,
    body.length === 0 ? init : { ...init, body: new Blob([Buffer.from(body)]) },
  );
}

/** Sends an HTTP/1.1 request with its headers unchanged, and reads the response until the connection ends. */
export async function sendRaw(port: number, { method, path, headers, body }: RawRequest): Promise<Reply> {
  const socket = connect(port, '127.0.0.1');
  // The server may respond and close before it has read the whole request.
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const ownLength = headers.some(([name]) => name.toLowerCase() === 'content-length');
  const length = ownLength ? '' : `Content-Length: ${body.length}\r\n`;
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: hooks.example.com\r\nConnection: close\r\n${length}${lines}\r\n`);
  socket.write(body);
  await closed;
  return parseReply(Buffer.concat(chunks).toString('latin1'));
}

function parseReply(text: string): Reply {
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Map(
    lines.map((line): [string, string] => {
      const [name = '', value = ''] = line.split(/:\s*/, 2);
      return [name.toLowerCase(), value];
    }),
  );
  const body = text.slice(end + 4);
  const isChunked = headers.get('transfer-encoding') === 'chunked';
  return { status: Number(statusLine.split(' ')[1]), headers, body: isChunked ? unchunk(body) : body };
}

function unchunk(body: string): string {
  const [size = '0'] = body.split('\r\n', 1);
  const length = Number.parseInt(size, 16);
  const start = size.length + 2;
  return length === 0 ? '' : body.slice(start, start + length) + unchunk(body.slice(start + length + 2));
}
