/** Terminates TLS in front of a receiver that serves only HTTP. */

import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { createServer } from 'node:tls';
import { cleanUp } from './cleanup.ts';
import type { Identity } from './tls.ts';

/** Forwards a free port to `port` and returns it. Ends with the test. */
export async function startTlsFront(t: TestContext, identity: Identity, port: number): Promise<number> {
  const front = createServer({ cert: identity.certificate, key: identity.privateKey }, (socket) => {
    const behind = connect(port, '127.0.0.1');
    socket.pipe(behind).pipe(socket);
    socket.on('error', () => behind.destroy());
    behind.on('error', () => socket.destroy());
  });
  cleanUp(t, () => front.close());
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  return (front.address() as AddressInfo).port;
}
