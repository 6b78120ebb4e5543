/** `/livez` and `/readyz` (contract §6.6). */

import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { Dispatcher } from '../../delivery/dispatcher.ts';
import type { Clock } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { Store } from '../../store/port/store.ts';
import { answerable } from '../error-body.ts';
import { DATABASE_RETRY_SECONDS } from '../limits.ts';
import { okReply } from '../resource-routes.ts';
import type { Route } from '../route.ts';

/** How long a result of `/readyz` is reused; each check costs a write. */
export const READY_MS = 1000;

/** A service whose writes wait longer is not ready. */
const READY_WRITE_MS = 5000;

type Dependencies = {
  readonly store: { readonly settings: Pick<Store['settings'], 'proveWritable'> };
  readonly dispatcher: Pick<Dispatcher, 'isAlive'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Monotonic milliseconds. Default: that of the process. */
  readonly stopwatch?: () => number;
  /** How long a write may wait. Default: `READY_WRITE_MS`. */
  readonly writeMs?: number;
};

const healthView = z.object({ status: z.literal('ok') }).meta({ id: 'Health', description: 'All is well.' });

export function healthRoutes({
  store,
  dispatcher,
  clock,
  log,
  stopwatch = () => performance.now(),
  writeMs = READY_WRITE_MS,
}: Dependencies): Route[] {
  const shared = { for: 'anyone', method: 'GET', access: 'open', tag: 'operation' } as const;
  const write = async (): Promise<Refusal | null> => {
    try {
      await store.settings.proveWritable(clock());
      return null;
    } catch (error) {
      log.error({ err: error }, 'the database cannot be written');
      return error instanceof Refusal
        ? new Refusal('unavailable', error.message, { headers: answerable(error).headers })
        : new Refusal('unavailable', 'the database cannot be written');
    }
  };
  const slow = (): Refusal => {
    const headers = { 'Retry-After': String(DATABASE_RETRY_SECONDS) };
    const description = `a write has waited longer than ${writeMs / 1000} s for the database: see sallyport doctor`;
    return new Refusal('unavailable', description, { headers });
  };
  /** The write that waits too long, until it is answered. */
  let waiting: Promise<Refusal | null> | null = null;
  /** The reason, or null. */
  const writeProblem = sharedFor(READY_MS, stopwatch, async (): Promise<Refusal | null> => {
    if (waiting !== null) return slow();
    const written = write();
    const ending = new AbortController();
    const late = pause(writeMs, slow, { signal: ending.signal, ref: false }).then(
      (refusal) => {
        log.error('a write waits too long for the database');
        waiting = written.finally(() => {
          waiting = null;
        });
        return refusal();
      },
      () => null,
    );
    return Promise.race([written, late]).finally(() => ending.abort());
  });
  return [
    {
      ...shared,
      path: '/livez',
      operationId: 'getLiveness',
      summary: 'The process answers',
      replies: { 200: { description: 'The process answers', schema: healthView } },
      respond: async () => okReply({ status: 'ok' }),
    },
    {
      ...shared,
      path: '/readyz',
      operationId: 'getReadiness',
      summary:
        'The database can be written within 5 seconds, its files are still the ones that were opened, and the dispatcher is alive',
      replies: {
        200: { description: 'The service is ready', schema: healthView },
        503: { description: 'The service is not ready; the reason' },
      },
      respond: async () => {
        const problem = await writeProblem();
        if (problem !== null) throw problem;
        if (!dispatcher.isAlive()) throw new Refusal('unavailable', 'the dispatcher is not running');
        return okReply({ status: 'ok' });
      },
    },
  ];
}

/** Shares one check among all calls within `ms`, because anyone may call and each check costs a write. */
function sharedFor<Answer>(ms: number, stopwatch: () => number, ask: () => Promise<Answer>): () => Promise<Answer> {
  let askedAt = Number.NEGATIVE_INFINITY;
  let answer: Promise<Answer> | null = null;
  let isInProgress = false;
  return () => {
    if (answer !== null && (isInProgress || stopwatch() - askedAt < ms)) return answer;
    askedAt = stopwatch();
    isInProgress = true;
    answer = ask().finally(() => {
      isInProgress = false;
    });
    return answer;
  };
}
