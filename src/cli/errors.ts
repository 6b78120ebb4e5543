/** What commands throw for a person to read. */
/** A command line that cannot be run: the message says what is wrong with it. */
export class UsageError extends Error {
  /** What to ask help about: `application create`, or nothing for the command as a whole. */
  readonly topic: string;
  constructor(message: string, topic: string) {
    super(message);
    this.name = 'UsageError';
    this.topic = topic;
  }
}

/** A command that could not do what it was asked for; the message says why. */
export class CommandError extends Error {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.name = 'CommandError';
  }
}
