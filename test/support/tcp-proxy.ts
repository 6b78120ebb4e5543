/** A TCP proxy that breaks connections in the ways in which networks do. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { cleanUp } from './cleanup.ts';

export type TcpProxy = {
  readonly port: number;
  /**
   * Passes nothing on in either direction, without closing anything. New connections are accepted, and also passed on only with `false`.
   */
  silence(alsoNew: boolean): void;
  /** Passes nothing on for new connections alone. */
  silenceNew(): void;
  /** Closes the silent connections and passes new ones on. */
  resume(): void;
  /**
   * The next time that a client sends `text`, its connection breaks: `request`: before the server gets it. `wait`: once the server has it.
   * `answer`: after the server answered it. Resolves then.
   */
  loseNext(text: string, what: 'request' | 'wait' | 'answer'): Promise<void>;
};

/** `change` changes what the server sends. It may not change its length. */
export async function startTcpProxy(
  t: TestContext,
  target: { readonly host: string; readonly port: number },
  change: (chunk: Buffer) => Buffer = (chunk) => chunk,
): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const silent = new Set<Socket>();
  let silencesNew = false;
  let losing: { readonly text: string; readonly what: 'request' | 'wait' | 'answer'; done(): void } | null = null;

  const server = createServer((client) => {
    const upstream = connect(target);
    const both = [client, upstream];
    let losesAnswer: (() => void) | null = null;
    const breakBoth = (): void => {
      for (const socket of both) {
        sockets.delete(socket);
        socket.destroy();
      }
    };
    for (const socket of both) {
      sockets.add(socket);
      if (silencesNew) silent.add(socket);
      socket.setNoDelay(true).on('error', breakBoth).on('close', breakBoth);
    }
    client.on('data', (chunk) => {
      if (silent.has(client)) return;
      const lost = losing !== null && chunk.includes(losing.text) ? losing : null;
      if (lost !== null) losing = null;
      if (lost?.what === 'request') {
        breakBoth();
        return lost.done();
      }
      if (lost?.what === 'wait') {
        upstream.write(chunk, () => {
          breakBoth();
          lost.done();
        });
        return;
      }
      losesAnswer = lost?.done ?? losesAnswer;
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (silent.has(upstream)) return;
      if (losesAnswer === null) return void client.write(change(chunk));
      breakBoth();
      losesAnswer();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp(t, () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    silence: (alsoNew) => {
      silencesNew = alsoNew;
      for (const socket of sockets) silent.add(socket);
    },
    silenceNew: () => {
      silencesNew = true;
    },
    resume: () => {
      silencesNew = false;
      for (const socket of silent) socket.destroy();
      silent.clear();
    },
    loseNext: (text, what) =>
      new Promise((done) => {
        losing = { text, what, done };
      }),
  };
}
