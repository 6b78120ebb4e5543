/** Runs the program of a receiver and waits for what it prints. */
import { spawn } from 'node:child_process';

const READY_MS = 60_000;

type Command = {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Printed when the program accepts connections. */
  readonly ready: RegExp;
};

export type RunningProgram = {
  /** The match of `ready`. */
  readonly first: RegExpExecArray;
  /** Waits until the output matches. Rejects with the output if the program ends first. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  stop(): Promise<void>;
};

/** Rejects with what the program printed if it ends or does not get ready within a minute. */
export async function startProgram({ program, args, cwd, env = {}, ready }: Command): Promise<RunningProgram> {
  const child = spawn(program, args, {
    cwd,
    // Not every PATH includes sbin, where Debian installs servers. HOME keeps a program's files in its folder.
    env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, HOME: cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let text = '';
  let gone: string | null = null;
  const lookers = new Set<() => void>();
  const look = (): void => {
    for (const looker of lookers) looker();
  };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      look();
    });
  const ended = new Promise<void>((resolve) => {
    const end = (how: string): void => {
      gone ??= `${program} ended (${how}): ${text.slice(-1000)}`;
      look();
      resolve();
    };
    child.once('error', ({ message }) => end(message));
    child.once('close', (code, signal) => end(String(signal ?? code)));
  });
  const printed = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const looker = (): void => {
        const match = pattern.exec(text);
        if (match === null && gone === null) return;
        lookers.delete(looker);
        if (match === null) reject(new Error(gone ?? ''));
        else resolve(match);
      };
      lookers.add(looker);
      looker();
    });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  try {
    return { first: await withinReady(program, printed(ready)), printed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function withinReady<T>(program: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${program} was not ready within ${READY_MS / 1000} s`)), READY_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
