/** The environment, the output and the input of a command. */
import { SETTINGS } from '../config/names.ts';
import { CommandError } from './errors.ts';

export type Terminal = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Writes to standard output, which carries only the requested data. Resolves when the system has taken the text; false if nobody reads
   * it. Throws `CommandError` if it cannot be written.
   */
  out(text: string): Promise<boolean>;
  /** Whether a person reads standard output. */
  readonly isInteractive: boolean;
  /** Writes to standard error. */
  err(text: string): Promise<boolean>;
  /** Reads standard input to its end. Returns null if it has more bytes. */
  read(limitBytes: number): Promise<string | null>;
};

export function processTerminal(): Terminal {
  return {
    env: readableEnvironment(),
    out: writerTo(process.stdout),
    isInteractive: process.stdout.isTTY === true,
    err: writerTo(process.stderr),
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
  };
}

/** The variables that commands read besides the settings. */
const OTHER_VARIABLES = ['XDG_STATE_HOME', 'NO_COLOR'];

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
