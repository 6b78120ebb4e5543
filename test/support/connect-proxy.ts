/** An HTTP CONNECT proxy on 127.0.0.1 that records what it is asked for. Ends with the test. */
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { cleanUp } from './cleanup.ts';

export type ConnectProxy = {
  readonly port: number;
  /** The tunnels that were asked for: `host:port`, and the `Proxy-Authorization` that came with it. */
  readonly asked: readonly { readonly authority: string; readonly authorization: string | undefined }[];
  /** How to answer from now on; 200 opens the tunnel. */
  answer(status: number): void;
};

export async function startConnectProxy(t: TestContext): Promise<ConnectProxy> {
  const asked: { authority: string; authorization: string | undefined }[] = [];
  const sockets = new Set<Socket>();
  let status = 200;
  const server = createServer();
  server.on('connect', (request, client: Socket) => {
    const authority = request.url ?? '';
    asked.push({ authority, authorization: request.headers['proxy-authorization'] });
    sockets.add(client.on('error', () => client.destroy()));
    if (status !== 200) return void client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const { hostname, port } = new URL(`http://${authority}`);
    const upstream = connect(Number(port), hostname.replace(/^\[|\]$/g, ''));
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
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    answer: (next) => {
      status = next;
    },
  };
}
