/** Runs the real command on a test's data folder: in this process, or in a separate one. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { run } from '../../src/cli/run.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import type { FirstCredentials } from '../../src/data/data.ts';
import { cleanUp } from './cleanup.ts';
import { isWholeService } from './client.ts';
import { createLogReader, type LogReader } from './log-reader.ts';
import './password-cost.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const SCRIPTS = fileURLToPath(new URL('../../scripts', import.meta.url));
/** Node 22 warns at every start that type stripping is experimental. */
const FLAGS = ['--disable-warning=ExperimentalWarning'];

export type CommandResult = {
  /** Null if a signal ended it. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type CommandOptions = {
  readonly env?: Readonly<Record<string, string>>;
  /** The text on standard input. */
  readonly input?: string;
};

/** Returns an unused path in a temporary folder, which is removed when the test ends. */
export function unusedFolder(t: TestContext): string {
  const parent = mkdtempSync(join(tmpdir(), 'command-'));
  cleanUp(t, () => rmSync(parent, { recursive: true, force: true }));
  return join(parent, 'data');
}

/**
 * Runs `sallyport <args…>` to its end in this process, because starting one takes half a second of processor time. `serve` and `listen`
 * must refuse what they are given, and `serve` logs nothing. Tests of the process itself, for example of its log, use `sallyportProcess`.
 */
export async function sallyport(
  args: readonly string[],
  { env = {}, input = '' }: CommandOptions = {},
): Promise<CommandResult> {
  let stdout = '';
  let stderr = '';
  const silent = args[0] === 'serve' ? { SALLYPORT_LOG_LEVEL: 'silent' } : {};
  const status = await run(args, {
    ...terminalHere({ ...silent, ...env }),
    out: async (text) => {
      stdout += text;
      return true;
    },
    err: async (text) => {
      stderr += text;
      return true;
    },
    read: async (limitBytes) => (Buffer.byteLength(input) > limitBytes ? null : input),
  });
  return { status, stdout, stderr };
}

/** The surroundings of a command in this process, in place of a terminal. It asks no server to end. */
export function terminalHere(env: Readonly<Record<string, string>> = {}): Terminal {
  return {
    env: { ...inheritedEnvironment(), ...env },
    isInteractive: false,
    isErrorInteractive: false,
    program: () => 'sallyport',
    out: async () => true,
    err: async () => true,
    read: async () => '',
    firstSignal: () => new Promise(() => {}),
  };
}

/** Runs `sallyport <args…>` to its end in a separate process. */
export async function sallyportProcess(
  args: readonly string[],
  { env = {}, input = '' }: CommandOptions = {},
): Promise<CommandResult> {
  const child = start(args, env);
  child.stdin.end(input);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stdout, stderr };
}

/** Runs a command with `--json` and returns the parsed output. Throws if the command fails. */
export async function sallyportJson<T>(args: readonly string[], options: CommandOptions = {}): Promise<T> {
  const { status, stdout, stderr } = await sallyport([...args, '--json'], options);
  if (status !== 0) throw new Error(`sallyport ${args.join(' ')} ended with ${status}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

export type Served = {
  readonly pid: number;
  /** The first line of standard output. */
  readonly announcement: {
    readonly url: string;
    readonly address: string;
    readonly dataDir: string;
  } & Partial<FirstCredentials>;
  /** All of standard output so far. */
  stdout(): string;
  readonly log: LogReader;
  /** Sends a signal and returns how the process ended. */
  end(signal: NodeJS.Signals): Promise<{ readonly status: number | null; readonly signal: NodeJS.Signals | null }>;
};

/** Starts `sallyport serve --json` on a free port and waits until it listens. It is killed when the test ends. */
export async function serve(
  t: TestContext,
  dataDir: string,
  { args = [], env = {} }: { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Served> {
  const child = start(['serve', '--json', '--port', '0', '--data', dataDir, ...args], env);
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  cleanUp(t, () => {
    child.kill('SIGKILL');
    return ended;
  });
  let stdout = '';
  const log = createLogReader();
  child.stderr.setEncoding('utf8').on('data', log.take);
  const announced = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (stdout.includes('\n')) resolve();
    });
  });
  await Promise.race([
    announced,
    ended.then(([status]) => Promise.reject(new Error(`serve ended with ${status}: ${log.text()}`))),
  ]);
  const announcement = JSON.parse(stdout.slice(0, stdout.indexOf('\n'))) as Served['announcement'];
  isWholeService(t, announcement.url);
  return {
    pid: child.pid ?? 0,
    announcement,
    stdout: () => stdout,
    log,
    end: async (signal) => {
      child.kill(signal);
      const [status, endedBy] = await ended;
      return { status, signal: endedBy };
    },
  };
}

/**
 * For a process that makes the first start of a folder: it hashes the password cheaply. It is loaded by the threads of the process too, so
 * it pays only there.
 */
export const CHEAP_PASSWORD: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import=${new URL('password-cost.ts', import.meta.url)}`,
};

/** The command line of `sallyport <args…>`, for tests that start the process themselves. */
export function commandLine(args: readonly string[]): string[] {
  return [process.execPath, ...FLAGS, MAIN, ...args];
}

function start(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcessWithoutNullStreams {
  const inherited = inheritedEnvironment();
  // Printed commands then begin with `sallyport`.
  const PATH = `${SCRIPTS}:${inherited.PATH}`;
  return spawn(process.execPath, [...FLAGS, MAIN, ...args], { env: { ...inherited, PATH, ...env } });
}

function inheritedEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SALLYPORT_')));
}
