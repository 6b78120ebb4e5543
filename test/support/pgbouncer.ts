/** PgBouncer in transaction mode: each transaction of a client may get another connection to the server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { cleanUp } from './cleanup.ts';
import { freePort } from './free-port.ts';
import { type Cluster, serverUser } from './postgres.ts';

const PROGRAMS = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'];

export type PgBouncer = {
  url(database: string): string;
  /** Ends it with all of its connections, and starts it again. */
  restart(): Promise<void>;
};

export async function startPgBouncer(t: TestContext, cluster: Pick<Cluster, 'host' | 'port'>): Promise<PgBouncer> {
  const program = PROGRAMS.find((path) => existsSync(path));
  if (program === undefined) throw new Error('PgBouncer is not installed: apt-get install pgbouncer');
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  cleanUp(t, () => rmSync(folder, { recursive: true }));
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
server_login_retry = 1
`,
  );
  let running: ChildProcess;
  const start = async (): Promise<void> => {
    running = spawn(program, [file], { ...user, cwd: folder, stdio: 'ignore' });
    while (!(await isListening(port))) await pause(20);
  };
  const stop = async (): Promise<void> => {
    const ended = once(running, 'exit');
    running.kill('SIGTERM');
    await ended;
  };
  await start();
  cleanUp(t, stop);
  return {
    url: (database) => `postgres://sallyport@127.0.0.1:${port}/${database}`,
    restart: async () => {
      await stop();
      await start();
    },
  };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
