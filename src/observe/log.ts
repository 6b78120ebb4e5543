/** The log: one JSON object per line (pino). Each call names the fields to log. Headers and bodies are never logged. */

import pino from 'pino';
import type { Log, LogLevel, RequestLine } from '../kernel/log.ts';
import { standardError } from './log-destination.ts';

/** Writes to standard error by default, because standard output is for the output of commands. */
export function createLog(level: LogLevel, destination: pino.DestinationStream = standardError): Log {
  const log = pino({ level, base: null, timestamp: timeMember, serializers: { err: describeError } }, destination);
  const tellsRequests = log.isLevelEnabled('info');
  return Object.assign(log, {
    request: (line: RequestLine): void => {
      if (tellsRequests) destination.write(requestText(line));
    },
  });
}

/** Formats the line of a request as pino would. Every request has one, and this takes 0.8 µs instead of 3. */
function requestText({
  method,
  path,
  status,
  durationMs,
  remoteAddress,
  clientId,
  refusal,
  errorId,
}: RequestLine): string {
  const tenths = Math.round(durationMs * 10);
  const what = `${requestHead()}${method}","path":${quoted(path)},"status":${status},"durationMs":`;
  const line = `${what}${Math.floor(tenths / 10)}.${tenths % 10},"remoteAddress":"${remoteAddress}`;
  const known = clientId === null ? line : `${line}","clientId":"${clientId}`;
  if (refusal === null && errorId === null) return `${known}","msg":"request"}\n`;
  const code = refusal === null ? '' : `","code":"${refusal}`;
  const error = errorId === null ? '' : `","errorId":"${errorId}`;
  return `${known}${code}${error}","msg":"request"}\n`;
}

const NEEDS_ESCAPES = /[^\x20-\x7e]|["\\]/;

function quoted(text: string): string {
  return NEEDS_ESCAPES.test(text) ? JSON.stringify(text) : `"${text}"`;
}

let timeAt = Number.NaN;
let timeText = '';
let headText = '';

/** The beginning of a line up to the method of its request. */
function requestHead(): string {
  timeMember();
  return headText;
}

/** Formatted once a millisecond. */
function timeMember(): string {
  const now = Date.now();
  if (now !== timeAt) {
    timeAt = now;
    timeText = `,"time":"${new Date(now).toISOString()}"`;
    headText = `{"level":30${timeText},"method":"`;
  }
  return timeText;
}

/** Name, message and stack of an error. Not its other members, which may contain headers or bodies. */
function describeError(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  return { name, message, stack, ...(cause === undefined ? {} : { cause: describeError(cause) }) };
}
