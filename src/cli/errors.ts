/** Errors of commands, with messages for people. */

/** Wrong usage: the message says what is wrong with the command line. Exit status 2. */
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
