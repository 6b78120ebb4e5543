/** Starts the benchmarks' receiver and asks it what it got. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Identity } from '../../test/support/tls.ts';

export type Received = {
  readonly requests: number;
  readonly bytes: number;
  /** Milliseconds from the publishing request of a record to its arrival, since the last question; if they are read. */
  readonly lags: readonly number[];
};

export type Receiver = {
  /** `https://localhost:<port>` */
  readonly origin: string;
  /** The requests since the start. */
  received(): Promise<Received>;
  stop(): void;
};

export async function startReceiver(identity: Identity, answerAfterMs = 0, readsLags = false): Promise<Receiver> {
  const child = fork(fileURLToPath(new URL('receiver.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  child.send({ ...identity, answerAfterMs, readsLags });
  const { port } = await answer<{ port: number }>(child);
  return {
    origin: `https://localhost:${port}`,
    received: () => {
      child.send('count');
      return answer<Received>(child);
    },
    stop: () => child.disconnect(),
  };
}

async function answer<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, 'message')) as [T];
  return message;
}
