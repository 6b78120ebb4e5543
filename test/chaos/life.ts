/** One life of the service in the kill test: a process that is started, used, and killed. */
import { type ChildProcess, spawn } from 'node:child_process';
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
  };
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
