/**
 * A port that a test keeps from first to last, also while nobody is to answer behind it: one that is given back and taken again later
 * may be another process's by then.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { cleanUp } from './cleanup.ts';

export type Front = {
  readonly port: number;
  /** From now on connections are those of the server at this port. */
  passTo(port: number): void;
};

/** `early` gets the connections that come before there is anything to pass them to. */
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
