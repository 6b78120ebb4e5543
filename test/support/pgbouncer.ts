/** PgBouncer in transaction mode: each transaction of a client may get another connection to the server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { cleanUp, cleanUpAlways } from './cleanup.ts';
import { freePort } from './free-port.ts';
import { onPath } from './on-path.ts';
import { type Cluster, serverUser } from './postgres.ts';

const LISTENS_WITHIN_MS = 30_000;
const ENDS_WITHIN_MS = 5000;
/** SSLRequest of PostgreSQL's protocol. */
const SSL_REQUEST = Buffer.from('0000000804d2162f', 'hex');

export type PgBouncer = {
  readonly port: number;
  url(database: string): string;
  /** Ends it with all of its connections, and starts it again. */
  restart(): Promise<void>;
};

/** Starts it until the test ends. */
export async function startPgBouncer(t: TestContext, cluster: Pick<Cluster, 'host' | 'port'>): Promise<PgBouncer> {
  const { stop, abandon, ...pooler } = await runPgBouncer(cluster);
  let isStopped = false;
  cleanUpAlways(t, () => {
    if (!isStopped) abandon();
  });
  cleanUp(t, async () => {
    await stop();
    isStopped = true;
  });
  return { ...pooler };
}

/** Starts it until it is stopped, or `abandon` ends it at the exit of this process. */
export async function runPgBouncer(
  cluster: Pick<Cluster, 'host' | 'port'>,
  within: string = tmpdir(),
): Promise<PgBouncer & { stop(): Promise<void>; abandon(): void }> {
  const program = onPath('pgbouncer');
  if (program === null) throw new Error('PgBouncer is not installed: apt-get install pgbouncer');
  const folder = mkdtempSync(join(within, 'pgbouncer-'));
  const user = serverUser();
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=${cluster.host} port=${cluster.port} user=sallyport
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 500
server_login_retry = 0.2
`,
  );
  let running: ChildProcess;
  const start = async (): Promise<void> => {
    running = spawn(program, [file], { ...user, cwd: folder, stdio: 'ignore' });
    // The process may end while it runs.
    running.unref();
    running.once('error', () => undefined);
    const giveUpAt = performance.now() + LISTENS_WITHIN_MS;
    while (!(await isListening(port))) {
      const how = running.exitCode ?? running.signalCode;
      if (how !== null) throw new Error(`PgBouncer ended with ${how}`);
      if (performance.now() > giveUpAt)
        throw new Error(`PgBouncer does not listen within ${LISTENS_WITHIN_MS / 1000} s`);
      await pause(20);
    }
  };
  const stop = async (): Promise<void> => {
    // It may have ended by itself, and tells so once.
    if (running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, 'exit');
    running.kill('SIGTERM');
    // Later versions wait for their clients.
    const timer = setTimeout(() => running.kill('SIGKILL'), ENDS_WITHIN_MS);
    await ended;
    clearTimeout(timer);
  };
  await start();
  return {
    port,
    url: (database) => `postgres://sallyport@127.0.0.1:${port}/${database}`,
    restart: async () => {
      await stop();
      await start();
    },
    stop: async () => {
      await stop();
      rmSync(folder, { recursive: true });
    },
    abandon: () => {
      running.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Whether it is PgBouncer that listens, and not a program that took the port before it: it refuses TLS with one byte. */
function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(SSL_REQUEST));
    socket.once('data', (answer) => {
      socket.destroy();
      resolve(answer.toString('latin1') === 'N');
    });
    socket.once('error', () => resolve(false)).once('close', () => resolve(false));
  });
}
