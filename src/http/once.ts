/**
 * `Idempotency-Key` (contract §4.3): a client that does not know whether its request arrived repeats it with the same key, and gets the
 * reply to the first request. The reply is stored in the same transaction as the change, so that neither exists without the other.
 */

import { z } from 'zod';
import { IDEMPOTENCY_KEY_MAX_LENGTH, IDEMPOTENCY_MS } from '../events/limits.ts';
import { contentHash } from '../kernel/content-hash.ts';
import type { Clock } from '../kernel/ids.ts';
import { type Refusal, refuseField } from '../kernel/refusal.ts';
import { refuseDeep } from '../kernel/validation.ts';
import type { KeptReply } from '../store/port/kept-replies.ts';
import type { Beside } from '../store/port/resource.ts';
import type { Store } from '../store/port/store.ts';
import { allHeaders } from './request.ts';
import { type Call, type Reply, type Route, requireCaller } from './route.ts';

/**
 * Runs `work` and returns `reply` of its result. `work` must write the statements of `beside` in its transaction. For a used key, returns
 * the first reply without running `work`; throws 409 `idempotency_conflict` if the first request was different. A refused request does not
 * use its key.
 */
export type Once = <Made>(
  call: Call,
  reply: (made: Made) => Reply,
  work: (beside: Beside<Made>) => Promise<Made>,
) => Promise<Reply>;

const HEADER = 'Idempotency-Key';
const KEY = new RegExp(`^[!-~]{1,${IDEMPOTENCY_KEY_MAX_LENGTH}}$`);

/** For `Route.headers`. */
export const IDEMPOTENCY_KEY: NonNullable<Route['headers']> = {
  [HEADER]: {
    description:
      'Makes the request safe to repeat: for 24 hours, the same request of this application under the same key ' +
      'changes nothing and gets the first reply again. Another request under the same key is refused with ' +
      '`idempotency_conflict`.',
    schema: z.string().regex(KEY),
  },
};

type Dependencies = { readonly store: Pick<Store, 'keptReplies'>; readonly clock: Clock };

export function createOnce({ store: { keptReplies }, clock }: Dependencies): Once {
  return async <Made>(
    call: Call,
    reply: (made: Made) => Reply,
    work: (beside: Beside<Made>) => Promise<Made>,
  ): Promise<Reply> => {
    const key = readKey(call);
    if (key === null) return reply(await work(() => []));
    refuseDeep(call.body);
    const owner = { applicationId: requireCaller(call).applicationId, key };
    const requestHash = Buffer.from(contentHash([call.method, call.request.url, call.body])).toString('hex');
    const first = async (): Promise<Reply | null> => {
      const kept = await keptReplies.find(owner, clock());
      if (kept !== null && kept.requestHash !== requestHash) throw conflict();
      return kept;
    };
    const before = await first();
    if (before !== null) return before;
    let answer: KeptReply | null = null;
    try {
      await work((made) => {
        const { status, headers = {}, body } = reply(made);
        answer = { requestHash, status, headers, body: JSON.stringify(body) };
        const now = clock();
        return keptReplies.keep(owner, answer, { now, expiresAt: now + IDEMPOTENCY_MS });
      });
    } catch (error) {
      // A concurrent request with the same key may have come first, and may have taken the name.
      const earlier = await first();
      if (earlier === null) throw error;
      return earlier;
    }
    if (answer === null) throw new Error('the reply to a request with an idempotency key was not stored');
    return answer;
  };
}

function readKey({ request }: Call): string | null {
  const [key, ...more] = allHeaders(request, HEADER.toLowerCase());
  if (key === undefined) return null;
  if (more.length > 0) throw refuseField(HEADER, 'was sent more than once');
  if (!KEY.test(key))
    throw refuseField(HEADER, `must have 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} visible ASCII characters`);
  return key;
}

function conflict(): Refusal {
  return refuseField(HEADER, 'was used within 24 hours for another request', 'idempotency_conflict');
}
