/** Terminates TLS in front of a server that serves only HTTP. */

import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { createServer } from 'node:tls';
import { cleanUp } from './cleanup.ts';
import type { Identity } from './tls.ts';

export type TlsFront = { readonly port: number; close(): void };

/** Forwards a free port of the loopback address to `port`. */
export async function openTlsFront(identity: Identity, port: number): Promise<TlsFront> {
  const front = createServer({ cert: identity.certificate, key: identity.privateKey }, (socket) => {
    const behind = connect(port, '127.0.0.1');
    socket.pipe(behind).pipe(socket);
    socket.on('error', () => behind.destroy());
    behind.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  return { port: (front.address() as AddressInfo).port, close: () => void front.close() };
}

/** The same until the end of the test. Returns the port. */
export async function startTlsFront(t: TestContext, identity: Identity, port: number): Promise<number> {
  const front = await openTlsFront(identity, port);
  cleanUp(t, front.close);
  return front.port;
}
