/** The log of an embedding program, if it passes one. */
import type { Log, LogLevel } from '../kernel/log.ts';
import { createLog } from '../observe/log.ts';
import { standardError } from '../observe/log-destination.ts';

/** The fields of a line besides its message: JSON values. Errors are `err`, with name, message and stack. No secrets, headers or bodies. */
export type LogFields = { readonly [name: string]: unknown };

/** The log of your program, for example a logger of pino, or `console`. */
export type Logger = {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
};

export const LOG_METHODS = ['debug', 'info', 'warn', 'error'] as const satisfies readonly (keyof Logger)[];

/** The numbers of pino. */
const METHODS: ReadonlyMap<number, keyof Logger> = new Map([
  [20, 'debug'],
  [30, 'info'],
  [40, 'warn'],
  [50, 'error'],
]);

/** Passes each line of at least this level to the logger. A line that the logger throws on goes to standard error. */
export function logTo(logger: Logger, level: LogLevel): Log {
  return createLog(level, {
    write: (line) => {
      try {
        const { level: number, time: _time, msg, ...fields } = JSON.parse(line) as LogFields;
        logger[METHODS.get(Number(number)) ?? 'error'](fields, String(msg ?? ''));
      } catch {
        standardError.write(line);
      }
    },
  });
}

export function isLogger(value: unknown): value is Logger {
  return (
    typeof value === 'object' &&
    value !== null &&
    LOG_METHODS.every((name) => typeof (value as Readonly<Record<string, unknown>>)[name] === 'function')
  );
}
