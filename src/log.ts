/** The log: one JSON object a line (pino). What is logged is named at each call; headers and bodies never are. */
import pino from 'pino';

export type Log = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error'>;
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Writes to standard error unless told otherwise, so that standard output stays for what commands print. */
export function createLog(level: LogLevel, destination: pino.DestinationStream = pino.destination(2)): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } },
    destination,
  );
}

/** Name, message and stack of an error, never its other members: those of libraries may hold headers or bodies. */
function describeError(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  return { name, message, stack, ...(cause === undefined ? {} : { cause: describeError(cause) }) };
}
