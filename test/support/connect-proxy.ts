/** An HTTP CONNECT proxy on 127.0.0.1 that records its requests. Ends with the test. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { cleanUp } from './cleanup.ts';

export type ConnectProxy = {
  readonly port: number;
  readonly url: string;
  /** The requested tunnels: `host:port`, and the headers of the request. */
  readonly asked: readonly { readonly authority: string; readonly headers: IncomingHttpHeaders }[];
  /** Sets the status of further responses. 200 opens the tunnel. */
  answer(status: (authority: string) => number): void;
};

export async function startConnectProxy(t: TestContext): Promise<ConnectProxy> {
  const asked: { authority: string; headers: IncomingHttpHeaders }[] = [];
  const sockets = new Set<Socket>();
  let status: (authority: string) => number = () => 200;
  const server = createServer();
  server.on('connect', (request, client: Socket) => {
    const authority = request.url ?? '';
    asked.push({ authority, headers: request.headers });
    sockets.add(client.on('error', () => client.destroy()));
    const code = status(authority);
    if (code !== 200) return void client.end(`HTTP/1.1 ${code} No\r\n\r\n`);
    const url = new URL(`http://${authority}`);
    const upstream = connect(Number(url.port), url.hostname.replace(/^\[|\]$/g, ''));
    sockets.add(upstream.on('error', () => client.destroy()));
    upstream.on('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp(t, () => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    asked,
    answer: (next) => {
      status = next;
    },
  };
}
