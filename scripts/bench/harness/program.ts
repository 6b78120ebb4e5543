/** The frame of the programs of this folder: their options, their work folder and their end. */
import { killAll } from './processes.ts';
import { makeWorkFolder, removeFolder } from './work-folder.ts';

/**
 * Runs a program with the options that `read` makes of its arguments, and ends the process with the status that it returns. If `read`
 * throws, it prints the problem and the usage, and ends with 2. If the program throws, it ends with 1.
 */
export async function runProgram<Options>(
  usage: string,
  read: (args: string[]) => Options,
  run: (options: Options) => Promise<number>,
): Promise<void> {
  let options: Options;
  try {
    options = read(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
  const status = await run(options).catch((error: unknown) => {
    process.stderr.write(`${(error as Error).stack}\n`);
    return 1;
  });
  process.exit(status);
}

/** A folder below `parent`. It is removed, and every program that was started is ended, however this process ends. */
export function ownWorkFolder(parent: string): string {
  const folder = makeWorkFolder(parent);
  process.once('exit', () => {
    killAll();
    removeFolder(folder);
  });
  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)
    process.once(signal, () => process.exit(status));
  return folder;
}

/** A whole number of an option, at least 1. Throws an `Error` that names the option. */
export function wholeNumber(text: string, name: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is not a whole number from 1 on: ${text}`);
  return value;
}
