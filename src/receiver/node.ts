/**
 * A receiver for Node's servers and Express. The types below declare the parts of a request that it uses, so that Node's types are not
 * needed.
 */
import { readChunks } from '../wire/bytes.ts';
import type { Answer, Receives } from './receiver.ts';

export type NodeRequest = {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Express: the URL, including the path under which a router is mounted. */
  readonly originalUrl?: string | undefined;
  /** Name, value, name, value. Unlike `headers`, it has every repeated header. */
  readonly rawHeaders: readonly string[];
  /** The result of a body parser; usable only if it is bytes (`express.raw`). */
  readonly body?: unknown;
  /** The bytes, on platforms that keep them in addition to a parsed body. */
  readonly rawBody?: unknown;
  readonly readableDidRead: boolean;
  iterator(options: { destroyOnReturn: boolean }): AsyncIterable<Uint8Array>;
};

export type NodeResponse = {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body?: string): unknown;
};

/** For `createServer(nodeHandler(receiver))` and `app.post('/hook', nodeHandler(receiver))`. */
export function nodeHandler(receiver: Receives): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  return async (request, response) => {
    const { status, headers, body } = await receiveFrom(receiver, request);
    response.writeHead(status, { ...headers });
    response.end(body ?? undefined);
  };
}

/** Returns the answer to a request. Node discards the unread rest of the body while it sends the answer. */
export function receiveFrom(receiver: Receives, request: NodeRequest): Promise<Answer> {
  const { method = '', url = '', originalUrl = url, rawHeaders, rawBody, body } = request;
  return receiver.receive({
    method,
    pathAndQuery: originalUrl,
    headers: rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as const] : [])),
    body:
      ([rawBody, body].find(ArrayBuffer.isView) as Uint8Array | undefined) ??
      // Without destroyOnReturn: giving up on a body that is too large must not close the connection before the answer is sent.
      (async (maxBytes) =>
        request.readableDidRead ? 'parsed' : readChunks(request.iterator({ destroyOnReturn: false }), maxBytes)),
  });
}
