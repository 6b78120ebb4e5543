/** The log that every room may write to. `observe/log.ts` writes it. */
import type pino from 'pino';

export type Log = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error' | 'isLevelEnabled'> & {
  /** Logs an answered request at level info. */
  request(line: RequestLine): void;
};

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** `method`, `remoteAddress`, `clientId`, `refusal` and `errorId` contain nothing that JSON must escape. */
export type RequestLine = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
  readonly remoteAddress: string;
  readonly clientId: string | null;
  /** The error code of the answer, if it was a refusal. */
  readonly refusal: string | null;
  readonly errorId: string | null;
};
