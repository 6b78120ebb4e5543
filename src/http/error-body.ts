/** The error body of contract §1.4, which the API sends for every refusal and every fault. */

import { z } from 'zod';
import { createIds, randomBytes } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { Refusal, type Repeat, saidAt } from '../kernel/refusal.ts';
import { DatabaseUnavailable } from '../store/port/errors.ts';
import { DATABASE_RETRY_SECONDS } from './limits.ts';
import type { Reply } from './route.ts';

export const errorBodySchema = z
  .object({
    status: z.string().meta({ description: 'The HTTP status', examples: ['400'] }),
    timeStamp: z.string().meta({ examples: ['2026-11-21T05:00:00+0000'] }),
    error: z.object({
      errorId: z.string().meta({ format: 'uuid', description: 'Also in the log line of the request' }),
      message: z.string().nullable(),
      code: z.string().meta({ description: 'For programs; each status names its possible codes' }),
      description: z.string().meta({ description: 'What was wrong, and with which field' }),
      details: z
        .array(z.object({ field: z.string(), problem: z.string() }))
        .nullable()
        .meta({ description: 'One entry for each wrong field of the request' }),
    }),
  })
  .meta({ id: 'Error', description: 'Every refusal and fault of the API.' });

/** A UUIDv7, as every id (contract §1.3). */
export function newErrorId(now: number): string {
  return createIds(() => now, randomBytes).uuid();
}

export function errorReply(refusal: Refusal, errorId: string, now: number): Reply {
  const { message: description, details } = saidAt('api', refusal);
  return {
    status: refusal.status,
    headers: refusal.headers,
    body: {
      status: String(refusal.status),
      timeStamp: `${new Date(now).toISOString().slice(0, 19)}+0000`,
      error: {
        errorId,
        message: null,
        code: refusal.code,
        description,
        details,
      },
    },
  };
}

/** The refusal with the headers of its reply. If the database caused it, they say when to repeat the request. */
export function answerable(refusal: Refusal): Refusal {
  if (!(refusal instanceof DatabaseUnavailable)) return refusal;
  const { code, message, repeat } = refusal;
  return new Refusal(code, message, {
    headers: { 'Retry-After': String(DATABASE_RETRY_SECONDS) },
    ...(repeat !== null && { repeat }),
  });
}

/** What it means that the service is unavailable, for readers who know nothing of its database: everybody but the operator. */
export function withoutRemedies(refusal: Refusal): Refusal {
  const { code, repeat, headers } = refusal;
  if (code !== 'unavailable' || repeat === null) return refusal;
  return new Refusal(code, MEANINGS[repeat], { repeat, headers });
}

const MEANINGS: Readonly<Record<Repeat, string>> = {
  soon: 'the service is busy',
  'once fixed': 'the service cannot store anything at the moment',
  'after a look': 'the service did not say whether your change was kept: look at it before you repeat it',
};

/**
 * Returns a refusal as it is, and 500 for any other error, without its details. Logs the error with the `errorId` that the reply carries.
 * Also logs a refusal that the database caused, because an operator must fix the database. `hasRemedies`: the refusal keeps the text that
 * says how, for a reader who is known to be the operator. The log has it always.
 */
export function asRefusal(error: unknown, errorId: string, log: Log, hasRemedies = false): Refusal {
  if (error instanceof DatabaseUnavailable) {
    const cause = error.cause instanceof Error ? error.cause.message : undefined;
    log.error({ errorId, reason: error.reason, cause }, error.message);
    const refusal = answerable(error);
    return hasRemedies ? refusal : withoutRemedies(refusal);
  }
  if (error instanceof Refusal) return error;
  log.error({ errorId, err: error }, 'request failed');
  return new Refusal('server_error', 'an internal error occurred');
}
