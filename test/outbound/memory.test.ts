/** Receivers that misbehave leave no connections and no memory behind in this process. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startRawTlsServer } from '../support/https-server.ts';
import { makeCertificates } from '../support/tls.ts';
import { loopbackTransport, requestTo } from '../support/transport.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const { ca: caPem, server: identity } = makeCertificates({ names: ['receiver.test'] });

const KIB = 1024;
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const CHUNK = `${(64 * KIB).toString(16)}\r\n${'x'.repeat(64 * KIB)}\r\n`;

/** The first bytes of each, and the bytes that follow without end; null: nothing more. */
const RECEIVERS: Readonly<Record<string, readonly [first: string, endless: string | null]>> = {
  'an endless body': [CHUNKED, CHUNK],
  'an endless body of an error': [CHUNKED.replace('200 OK', '500 Error'), CHUNK],
  'a body that hangs': [`${CHUNKED}${CHUNK.slice(0, 32 * KIB)}`, null],
  'a slow head': [`HTTP/1.1 200 OK\r\nx-a: ${'b'.repeat(8 * KIB)}`, null],
  'interim answers': ['', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(1000)],
  'an endless header': ['HTTP/1.1 200 OK\r\nx-a: ', 'b'.repeat(64 * KIB)],
  'endless headers': ['HTTP/1.1 200 OK\r\n', 'x-a: b\r\n'.repeat(8 * KIB)],
  'no HTTP': ['', 'z'.repeat(64 * KIB)],
  silence: ['', null],
};

/** Bytes that are still referred to, in V8's heap and beside it. */
async function usedBytes(): Promise<number> {
  for (let round = 0; round < 4; round += 1) {
    collect();
    await new Promise(setImmediate);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test('receivers that misbehave leave no connection and no memory behind', async (t) => {
  const open = new Set<TLSSocket>();
  let onClosed = (): void => {};
  const ports = await Promise.all(
    Object.values(RECEIVERS).map(([first, endless]) =>
      startRawTlsServer(t, identity, async (socket) => {
        open.add(socket);
        socket.once('close', () => {
          open.delete(socket);
          onClosed();
        });
        await once(socket, 'data');
        // An empty write never ends on Deno.
        if (first !== '') socket.write(first);
        const send = (): void => {
          if (endless !== null && !socket.destroyed) socket.write(endless, () => setImmediate(send));
        };
        send();
      }),
    ),
  );
  const { post } = loopbackTransport(t, { caPem });
  const round = async (perReceiver: number): Promise<void> => {
    const requests = ports.flatMap((port) =>
      Array.from({ length: perReceiver }, () =>
        post(requestTo(`https://receiver.test:${port}/`, { timeoutMs: 500, headDecides: true })),
      ),
    );
    const outcomes = await Promise.all(requests);
    assert.equal(outcomes.length, perReceiver * ports.length);
    while (open.size > 0) await new Promise<void>((resolve) => (onClosed = resolve));
  };
  await round(8);
  const before = await usedBytes();
  for (let n = 0; n < 4; n += 1) await round(16);
  const grownKib = Math.round(((await usedBytes()) - before) / KIB);
  // If each of the 576 requests left as little as 8 KiB, it would be 4.5 MiB.
  assert.ok(grownKib < 3 * KIB, `${grownKib} KiB remain`);
});
