/** Errors of commands, with messages for people. */
import { didYouMean } from '../kernel/nearest.ts';

/** Wrong usage: the message names the mistake in the command line. Exit status 2. */
export class UsageError extends Error {
  /** The command for which to show help, such as `application create`; empty for the overview. */
  readonly topic: string;
  constructor(message: string, topic: string) {
    super(message);
    this.name = 'UsageError';
    this.topic = topic;
  }
}

/** A command failed: the message says why. Exit status 1. */
export class CommandError extends Error {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.name = 'CommandError';
  }
}

/**
 * The error of a server that cannot listen on its address. `setting`: the option or variable that names the host or the port. `isNpmStart`:
 * it was started by `npm start`, which passes options on after two dashes.
 */
export function cannotListen(error: unknown, setting: string, port: number, isNpmStart = false): CommandError {
  const { code, address = '', message } = error as NodeJS.ErrnoException & { readonly address?: string };
  if (code !== 'EADDRINUSE') return new CommandError(`${setting}cannot listen: ${message}`, { cause: error });
  const place = `${address.includes(':') ? `[${address}]` : address}:${port}`;
  const option = `--port ${port === 65_535 ? port - 1 : port + 1}`;
  const advice = isNpmStart ? `run: npm start -- ${option}` : `start with ${option}`;
  return new CommandError(`${setting}another program listens on ${place}. Stop it, or ${advice}`, { cause: error });
}

/** The problem of an option or argument with a word that is not one of its choices. */
export function notAChoice(given: string, choices: readonly string[]): string {
  return `must be one of ${choices.join(', ')}${didYouMean(given, choices)}`;
}
