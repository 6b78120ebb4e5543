/**
 * Listens on one port for the whole test and forwards connections to a server that may start later or restart. If the test released the
 * port in between, another process could take it.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { cleanUp } from './cleanup.ts';

export type Front = {
  readonly port: number;
  /** Forwards further connections to this port. */
  passTo(port: number): void;
};

/** `early` handles the connections that arrive before the first `passTo`. */
export async function startFront(t: TestContext, early: (socket: Socket) => void): Promise<Front> {
  let behind: number | null = null;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  };
  const server = createServer((socket) => {
    keep(socket);
    if (behind === null) return early(socket);
    const onward = keep(connect({ port: behind, host: '127.0.0.1' }));
    socket.pipe(onward).pipe(socket);
    socket.once('close', () => onward.destroy());
    onward.once('close', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp(t, () => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return {
    port: (server.address() as AddressInfo).port,
    passTo: (port) => {
      behind = port;
    },
  };
}
