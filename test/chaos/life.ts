/** One life of the service in the kill test: a process that is started, used, and killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { baseEnvironment } from '../support/environment.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** More of what one life wrote to standard error is not kept. */
const LOG_MAX_LENGTH = 100_000;

type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type Program = {
  /** The first line on standard output, or null where the program ended before. */
  readonly firstLine: Promise<string | null>;
  readonly exited: Promise<Exit>;
  kill(signal: NodeJS.Signals): void;
  /** Its standard error. */
  log(): string;
  /** Its standard error and what its threads do, to tell a process that waits from one that gets no processor. */
  state(): string;
};

/** Runs `sallyport <args>` with these variables alone. */
export function runSallyport(args: readonly string[], env: Readonly<Record<string, string>>): Program {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], {
    env: { ...baseEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (log.length < LOG_MAX_LENGTH) log += text;
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
    // It could not be started.
    child.once('error', (error) => {
      log += String(error);
      resolve({ code: null, signal: null });
    });
  });
  return {
    firstLine: Promise.race([firstLine(child), exited.then(() => null)]),
    exited,
    kill: (signal) => void child.kill(signal),
    log: () => log,
    state: () => log + threadsOf(child.pid),
  };
}

/** Each thread of a process of Linux: its state, its processor time in ticks of 10 ms, and what it waits for in the kernel. */
function threadsOf(pid: number | undefined): string {
  try {
    const threads = `/proc/${pid}/task`;
    const lines = readdirSync(threads).map((id) => {
      const [, name = '', rest = ''] = /\((.*)\) (.*)/.exec(readFileSync(`${threads}/${id}/stat`, 'utf8')) ?? [];
      const fields = rest.split(' ');
      const waitsFor = readFileSync(`${threads}/${id}/wchan`, 'utf8');
      return `\n  ${name}: ${fields[0]}, ${Number(fields[11]) + Number(fields[12])} ticks, ${waitsFor}`;
    });
    return `\nthreads of ${pid}:${lines.join('')}`;
  } catch (error) {
    return `\nno threads of ${pid}: ${(error as Error).message}`;
  }
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end >= 0) resolve(text.slice(0, end));
    });
  });
}
