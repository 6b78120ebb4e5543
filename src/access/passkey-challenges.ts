/** Questions to a browser that wait for its answer: each is answered once, by the visitor it was put to, and not for long. */
import type { Random } from '../kernel/ids.ts';
import { CHALLENGE_MS, CHALLENGES_MAX } from '../kernel/limits/portal.ts';

export type Challenges = {
  /** A new question; an earlier one of the same visitor is forgotten. */
  put(visitor: string, now: number): Uint8Array<ArrayBuffer>;
  /** The question that the visitor has to answer, in Base64url, or null. It is gone with this. */
  take(visitor: string, now: number): string | null;
};

export function createChallenges(random: Random, remembered: number = CHALLENGES_MAX): Challenges {
  /** In order of being put. */
  const open = new Map<string, { readonly challenge: string; readonly until: number }>();
  return {
    put: (visitor, now) => {
      const bytes = Uint8Array.from(random(32));
      open.delete(visitor);
      open.set(visitor, { challenge: Buffer.from(bytes).toString('base64url'), until: now + CHALLENGE_MS });
      for (const [oldest, { until }] of open) {
        if (now < until && open.size <= remembered) break;
        open.delete(oldest);
      }
      return bytes;
    },
    take: (visitor, now) => {
      const found = open.get(visitor);
      open.delete(visitor);
      return found !== undefined && now < found.until ? found.challenge : null;
    },
  };
}
