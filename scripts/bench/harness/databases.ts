/** Redis and PostgreSQL for the peers, thrown away afterwards: on sockets in their own folders, each durable before it answers. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, output, type Running, start } from './processes.ts';
import { subfolder } from './work-folder.ts';

/** How long a server has to begin to listen. */
const READY_MS = 30_000;

export type Redis = { readonly socket: string; stop(): Promise<void> };

/** Every write is on the disk before its answer (`appendfsync always`). */
export async function startRedis(folder: string): Promise<Redis> {
  const own = subfolder(folder, 'redis');
  const socket = join(own, 'redis.sock');
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
  const running = start('redis-server', ['--port', '0', '--unixsocket', socket, '--dir', own, ...durable], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await listening(running, socket, 'redis-server');
  return { socket, stop: () => running.stop() };
}

export type Postgres = { readonly connectionString: string; stop(): Promise<void> };

/** A cluster with the settings that it comes with, so with `fsync` and `synchronous_commit` on. */
export async function startPostgres(folder: string): Promise<Postgres> {
  const own = subfolder(folder, 'postgres');
  const user = unprivileged();
  if (user !== null) chownSync(own, user.uid, user.gid);
  chmodSync(own, 0o700);
  const as = { ...user, cwd: own, env: { PATH: process.env.PATH, LC_ALL: 'C' } };
  const cluster = join(own, 'cluster');
  await output(program('initdb'), ['-D', cluster, '-U', 'postgres', '-A', 'trust', '--encoding=UTF8'], as);
  const settings = ['-c', 'listen_addresses=', '-c', `unix_socket_directories=${own}`];
  const running = start(program('postgres'), ['-D', cluster, ...settings], {
    ...as,
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  await listening(running, join(own, '.s.PGSQL.5432'), 'postgres');
  return {
    connectionString: `postgres://postgres@localhost/postgres?host=${encodeURIComponent(own)}`,
    // A fast shutdown: sessions that are still there are ended.
    stop: () => running.stop('SIGINT'),
  };
}

function program(name: string): string {
  return findProgram(name) ?? name;
}

/** PostgreSQL refuses to run as root: the user that its package has made. Null: this process's own will do. */
function unprivileged(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const idOf = (which: string): number => Number(execFileSync('id', [which, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

async function listening({ exited }: Running, socket: string, what: string): Promise<void> {
  let ended: string | null = null;
  void exited.then((how) => {
    ended = how;
  });
  for (const deadline = Date.now() + READY_MS; !(await accepts(socket)); await sleep(50)) {
    if (ended !== null) throw new Error(`${what} ended before it was ready (${ended})`);
    if (Date.now() > deadline) throw new Error(`${what} does not listen on ${socket}`);
  }
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = createConnection(path);
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', () => resolve(false));
  });
}
