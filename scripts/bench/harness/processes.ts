/**
 * Processes that benchmarks start: each is ended when it is no longer needed, and all of them when this process ends, however that
 * comes about. Where this process is killed the system ends them (`setpriv --pdeathsig`).
 */
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

export type Running = {
  readonly pid: number;
  readonly child: ChildProcess;
  /** How it ended, once it has. */
  readonly exited: Promise<string>;
  /** Sends the signal, SIGTERM unless told otherwise, and waits until it is gone; after ten seconds it is killed. */
  stop(signal?: NodeJS.Signals): Promise<void>;
};

export type StartOptions = Pick<SpawnOptions, 'cwd' | 'env' | 'stdio' | 'uid' | 'gid'>;

const STOP_MS = 10_000;
const live = new Set<ChildProcess>();

export function start(command: string, args: readonly string[], options: StartOptions = {}): Running {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', command, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  });
  live.add(child);
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(String(signal ?? code)));
  });
  void exited.then(() => live.delete(child));
  return {
    pid: child.pid ?? 0,
    child,
    exited,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal);
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(late);
    },
  };
}

/** The Node that runs this, with one of the benchmarks' own programs. */
export function startNode(file: string, args: readonly string[], options: StartOptions = {}): Running {
  return start(process.execPath, ['--disable-warning=ExperimentalWarning', file, ...args], options);
}

/** The first line that it prints, parsed. Throws when it ends before. */
export async function firstLine<T>({ child, exited }: Running, what: string): Promise<T> {
  const lines = createInterface({ input: child.stdout as Readable });
  const ended = exited.then((how) => Promise.reject(new Error(`${what} ended before it was ready (${how})`)));
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string];
  ended.catch(() => {});
  return JSON.parse(line) as T;
}

/** Runs a program to its end and answers what it printed. Throws when it fails. */
export async function output(command: string, args: readonly string[], options: StartOptions = {}): Promise<string> {
  const running = start(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const { stdout, stderr } = running.child;
  const [printed, complaints, how] = await Promise.all([text(stdout), text(stderr), running.exited]);
  if (how !== '0') throw new Error(`${command} ${args.join(' ')} ended with ${how}: ${complaints || printed}`);
  return printed;
}

/** Ends everything immediately: for the way out of this process. */
export function killAll(): void {
  for (const child of live) child.kill('SIGKILL');
  live.clear();
}

/** Where a program is on the path, or where Debian puts it besides; null when it is nowhere. */
export function findProgram(name: string): string | null {
  // The newest installed one first.
  const servers = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  const path = [process.env.PATH ?? '', '/usr/sbin', ...servers].join(':');
  const { status, stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { env: { PATH: path }, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}

async function text(stream: Readable | null): Promise<string> {
  let all = '';
  for await (const chunk of stream?.setEncoding('utf8') ?? []) all += String(chunk);
  return all;
}
