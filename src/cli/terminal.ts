/** The environment, the output and the input of a command, and the log as people read it. */
import { SETTINGS } from '../config/names.ts';
import type { createLog } from '../observe/log.ts';
import { CommandError } from './errors.ts';
import { firstSignal } from './exit.ts';
import { programName } from './text/program-name.ts';

export type Terminal = {
  /** How a shell calls this program, for commands that are printed. */
  program(): string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Writes to standard output, which carries only the requested data. Resolves when the system has taken the text; false if nobody reads
   * it. Throws `CommandError` if it cannot be written.
   */
  out(text: string): Promise<boolean>;
  /** Whether a person reads standard output. */
  readonly isInteractive: boolean;
  /** The columns of the terminal that shows standard output; undefined if it is no terminal. */
  readonly width?: number | undefined;
  /** Writes to standard error. */
  err(text: string): Promise<boolean>;
  /** Whether a person reads standard error. */
  readonly isErrorInteractive: boolean;
  /** Reads standard input to its end. Returns null if it has more bytes. */
  read(limitBytes: number): Promise<string | null>;
  /** Resolves when the person or the system asks the command to end. What later signals and `hangUp` do: exit.ts. */
  firstSignal(hangUp?: () => void): Promise<void>;
};

export function processTerminal(): Terminal {
  const env = readableEnvironment();
  return {
    program: () => programName(env, process.cwd()),
    env,
    out: writerTo(process.stdout),
    isInteractive: process.stdout.isTTY === true,
    width: process.stdout.columns,
    err: writerTo(process.stderr),
    isErrorInteractive: process.stderr.isTTY === true,
    read: async (limitBytes) => {
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of process.stdin) {
        size += (chunk as Buffer).length;
        if (size > limitBytes) return null;
        chunks.push(chunk as Buffer);
      }
      return Buffer.concat(chunks).toString('utf8');
    },
    firstSignal,
  };
}

/** The variables that commands read besides the settings. */
const OTHER_VARIABLES = ['XDG_STATE_HOME', 'NO_COLOR', 'npm_lifecycle_event'];

/** With permission for single variables, Deno does not list them. */
function readableEnvironment(): Terminal['env'] {
  const read = <T>(look: () => T): T | undefined => {
    try {
      return look();
    } catch (error) {
      if (error instanceof Error && error.name === 'NotCapable') return undefined;
      throw error;
    }
  };
  const all = read(() => ({ ...process.env }));
  const { env } = process;
  const variables = [...Object.values(SETTINGS).map(({ variable }) => variable), ...OTHER_VARIABLES];
  return all ?? Object.fromEntries(variables.map((variable) => [variable, read(() => env[variable])]));
}

function writerTo(stream: NodeJS.WriteStream): (text: string) => Promise<boolean> {
  // The callback of the write gets the error too, but without a listener the event would end the process.
  stream.on('error', () => {});
  return (text) =>
    new Promise<void>((resolve, reject) => {
      // Deno throws, Node calls back.
      stream.write(text, (error) => (error == null ? resolve() : reject(error)));
    }).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        // A reader may close the pipe early (`| head -1`): the command did not fail.
        if (error.code === 'EPIPE') return false;
        throw new CommandError(`the output cannot be written (${error.code ?? error.message})`, { cause: error });
      },
    );
}

type Destination = NonNullable<Parameters<typeof createLog>[1]>;
type Line = Readonly<Record<string, unknown>> & {
  readonly level: number;
  readonly time: string;
  readonly msg?: string;
};

/** Formats each line of the JSON log for people: a time, a level unless it is `info`, the message and the fields. */
export function humanLog(destination: Destination): Destination {
  return { write: (line) => destination.write(humanText(line)) };
}

/** Text that is not a line of the JSON log stays unchanged. */
export function humanText(line: string): string {
  const parsed = parse(line);
  if (parsed === null) return line;
  const { level, time, msg = '', err, ...fields } = parsed;
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${textOf(value)}`);
  const head = [time.slice(11, 19), LEVELS[level] ?? '', msg, ...shown].filter((part) => part !== '').join('  ');
  const stack = (err as { readonly stack?: string; readonly message?: string } | undefined) ?? {};
  const fault = stack.stack ?? stack.message;
  return `${head}\n${fault === undefined ? '' : `${fault.replaceAll(/^/gm, '  ')}\n`}`;
}

/** The numbers of pino. */
const LEVELS: Readonly<Record<number, string>> = { 10: 'trace', 20: 'debug', 40: 'warning', 50: 'error', 60: 'fatal' };

function parse(line: string): Line | null {
  try {
    return JSON.parse(line) as Line;
  } catch {
    return null;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' && !value.includes(' ') ? value : JSON.stringify(value);
}
