/** Deletes expired access tokens, idempotency keys, kept replies and finished erasures. */
import { ERASURE_KEPT_MS, EXPIRED_EVERY_MS } from '../kernel/limits/housekeeping.ts';
import type { RetentionStore } from '../store/housekeeping.ts';
import type { Job } from './scheduler.ts';

type Expiring = Pick<RetentionStore, 'tokens' | 'idempotencyKeys' | 'keptReplies' | 'erasures'>;

export function expiredJobs(store: Expiring): Job[] {
  return [
    {
      // Walks the whole table, because tokens with a long validity can come before expired ones.
      name: 'tokens',
      everyMs: EXPIRED_EVERY_MS,
      begin: (now) => {
        let after = -1;
        return async (size) => {
          const result = await store.tokens({ after, now }, size);
          after = result.next ?? after;
          return result;
        };
      },
    },
    {
      name: 'idempotency-keys',
      everyMs: EXPIRED_EVERY_MS,
      begin: (now) => (size) => store.idempotencyKeys(now, size),
    },
    {
      name: 'erasures',
      everyMs: EXPIRED_EVERY_MS,
      begin: (now) => (size) => store.erasures(now - ERASURE_KEPT_MS, size),
    },
    {
      name: 'kept-replies',
      everyMs: EXPIRED_EVERY_MS,
      begin: (now) => (size) => store.keptReplies(now, size),
    },
  ];
}
