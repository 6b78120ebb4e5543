/** What a command sees of the process it runs in. */
import { SETTINGS } from '../config/names.ts';
import { CommandError } from './errors.ts';

export type Terminal = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Writes to standard output, where only what was asked for goes. Resolves once it is handed to the system; false means
   * that nobody reads it. Throws `CommandError` where it cannot be written.
   */
  out(text: string): Promise<boolean>;
  /** Whether a person reads standard output. */
  readonly isInteractive: boolean;
  /** Writes to standard error. */
  err(text: string): Promise<boolean>;
  /** Standard input to its end, or null where it has more than this. */
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

/** Deno lists no variables where it was told which ones may be read. */
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
  // The callback of the write says it as well; an event without a listener would end the process.
  stream.on('error', () => {});
  return (text) =>
    new Promise<void>((resolve, reject) => {
      // Deno throws where Node calls back.
      stream.write(text, (error) => (error == null ? resolve() : reject(error)));
    }).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        // A reader that has seen enough (`| head -1`) closes the pipe: that is no failure of the command.
        if (error.code === 'EPIPE') return false;
        throw new CommandError(`the output cannot be written (${error.code ?? error.message})`, { cause: error });
      },
    );
}
