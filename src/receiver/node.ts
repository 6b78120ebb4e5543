/** A receiver behind Node's own servers and Express. The types say what is used of a request, so that none of Node's are needed. */
import { readChunks } from '../wire/bytes.ts';
import type { Answer, Receives } from './receiver.ts';

export type NodeRequest = {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Express: the URL before routers cut off where they are mounted. */
  readonly originalUrl?: string | undefined;
  /** Name, value, name, value: `headers` has lost which ones came twice. */
  readonly rawHeaders: readonly string[];
  /** What a body parser made of the body; usable only where it left it as bytes (`express.raw`). */
  readonly body?: unknown;
  /** The bytes, where a platform keeps them beside a parsed body. */
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

/** What to answer to a request of Node's. What was not read of its body Node lets flow by while it answers. */
export function receiveFrom(receiver: Receives, request: NodeRequest): Promise<Answer> {
  const { method = '', url = '', originalUrl = url, rawHeaders, rawBody, body } = request;
  return receiver.receive({
    method,
    pathAndQuery: originalUrl,
    headers: rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as const] : [])),
    body:
      ([rawBody, body].find(ArrayBuffer.isView) as Uint8Array | undefined) ??
      // To leave a body that is too large must not end the connection before the answer.
      (async (maxBytes) =>
        request.readableDidRead ? 'parsed' : readChunks(request.iterator({ destroyOnReturn: false }), maxBytes)),
  });
}
