/** A plain API for a proxy to protect. It checks nothing, answers every request, and records each one unchanged. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type UpstreamRequest = {
  readonly method: string;
  /** The request target as received. */
  readonly url: string;
  /** All values of a header in order. `name` must be in lower case. */
  header(name: string): readonly string[];
  /** The names as received. */
  readonly headerNames: readonly string[];
  readonly body: Buffer;
};

export type Upstream = {
  readonly url: string;
  readonly requests: readonly UpstreamRequest[];
  close(): Promise<void>;
};

export async function startUpstream(): Promise<Upstream> {
  const requests: UpstreamRequest[] = [];
  // Larger than the limit of any proxy in front of it.
  const server = createServer({ maxHeaderSize: 128 * 1024 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headersDistinct, rawHeaders } = request;
      requests.push({
        method,
        url,
        header: (name) => headersDistinct[name] ?? [],
        headerNames: rawHeaders.filter((_, at) => at % 2 === 0),
        body: Buffer.concat(chunks),
      });
      response.writeHead(200, { 'Content-Type': 'text/plain' }).end(`upstream: ${method} ${url}\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
