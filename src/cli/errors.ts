/** Errors of commands, with messages for people. */
import { nearest } from '../kernel/nearest.ts';

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

/** Suggests the nearest name that is at most two edits away, as the end of a sentence; empty without one. */
export function didYouMean(word: string, names: readonly string[]): string {
  const name = nearest(word, names);
  return name === null ? '' : `. Did you mean ${JSON.stringify(name)}?`;
}
