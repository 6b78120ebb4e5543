/**
 * Idempotency keys of requests (contract §4.3): a client that does not know whether its request arrived repeats it with the same key, and
 * gets the reply to the first request. The reply is stored in the same transaction as the change, so that neither exists without the other.
 */
import { IDEMPOTENCY_KEY_MAX_LENGTH, IDEMPOTENCY_MS } from '../events/limits.ts';
import { contentHash } from '../kernel/content-hash.ts';
import type { Clock } from '../kernel/ids.ts';
import { refuseField } from '../kernel/refusal.ts';
import type { KeptReply, ReplyKey } from '../store/port/kept-replies.ts';
import type { Beside } from '../store/port/resource.ts';
import type { Store } from '../store/port/store.ts';

export const IDEMPOTENCY_KEY_PATTERN: RegExp = new RegExp(`^[!-~]{1,${IDEMPOTENCY_KEY_MAX_LENGTH}}$`);

/** A request under a key. `field` is the name of the key in refusals. */
type Keyed = { readonly owner: ReplyKey; readonly field: string; readonly request: readonly unknown[] };

/**
 * Runs `work` and returns `reply` of its result. `work` must write the statements of `beside` in its transaction. For a used key, returns
 * the first reply without running `work`; throws 409 `idempotency_conflict` if the first request was different. A refused request does not
 * use its key.
 */
export type RunOnce = <Made>(
  keyed: Keyed,
  reply: (made: Made) => Omit<KeptReply, 'requestHash'>,
  work: (beside: Beside<Made>) => Promise<Made>,
) => Promise<KeptReply>;

type Dependencies = { readonly store: Pick<Store, 'keptReplies'>; readonly clock: Clock };

export function createRunOnce({ store: { keptReplies }, clock }: Dependencies): RunOnce {
  return async <Made>(
    { owner, field, request }: Keyed,
    reply: (made: Made) => Omit<KeptReply, 'requestHash'>,
    work: (beside: Beside<Made>) => Promise<Made>,
  ): Promise<KeptReply> => {
    if (!IDEMPOTENCY_KEY_PATTERN.test(owner.key))
      throw refuseField(field, `must have 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} visible ASCII characters`);
    const requestHash = Buffer.from(contentHash(request)).toString('hex');
    const first = async (): Promise<KeptReply | null> => {
      const kept = await keptReplies.find(owner, clock());
      if (kept !== null && kept.requestHash !== requestHash)
        throw refuseField(field, 'was used within 24 hours for another request', 'idempotency_conflict');
      return kept;
    };
    const before = await first();
    if (before !== null) return before;
    let answer: KeptReply | null = null;
    try {
      await work((made) => {
        answer = { requestHash, ...reply(made) };
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
