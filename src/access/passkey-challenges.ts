/** The challenges that browsers sign with a passkey. */
import { timingSafeEqual } from 'node:crypto';
import type { Random } from '../kernel/ids.ts';
import type { Vault } from '../kernel/vault.ts';
import type { ShortLivedValues } from '../store/port/short-lived.ts';

/** Lifetime of a passkey challenge. */
export const CHALLENGE_MS: number = 5 * 60_000;

/**
 * Challenges for browsers. Each is answered once, by its visitor, within CHALLENGE_MS. A challenge carries its end and a code that only the
 * service can make, so nothing is stored until a valid answer arrives. However many challenges someone requests, those of others stay
 * valid.
 */
export type Challenges = {
  /** 8 random bytes, the end in epoch milliseconds, and the code over both and the visitor. */
  make(visitor: string, now: number): Uint8Array<ArrayBuffer>;
  expect(visitor: string, now: number): ExpectedChallenge;
};

type ExpectedChallenge = {
  /** Whether the text, in Base64url, is a challenge of the visitor that has not ended. */
  accepts(challenge: string): boolean;
  /** Uses up the challenge that was accepted. False if it was answered before. */
  isFirstAnswer(): Promise<boolean>;
};

type ChallengeDependencies = {
  readonly random: Random;
  readonly vault: Pick<Vault, 'authenticate'>;
  /** The challenges that were answered, by their text. */
  readonly answered: Pick<ShortLivedValues, 'putIfAbsent'>;
};

const CHALLENGE_HEAD_BYTES = 16;

export function createChallenges({ random, vault, answered }: ChallengeDependencies): Challenges {
  const codeOf = (head: Buffer, visitor: string): Buffer =>
    Buffer.from(vault.authenticate(`passkey challenge ${head.toString('hex')} ${visitor}`), 'hex');
  return {
    make: (visitor, now) => {
      const head = Buffer.alloc(CHALLENGE_HEAD_BYTES);
      head.set(random(CHALLENGE_HEAD_BYTES / 2));
      head.writeBigUInt64BE(BigInt(now + CHALLENGE_MS), CHALLENGE_HEAD_BYTES / 2);
      return Uint8Array.from(Buffer.concat([head, codeOf(head, visitor)]));
    },
    expect: (visitor, now) => {
      let accepted: { readonly name: string; readonly until: number } | null = null;
      return {
        accepts: (challenge) => {
          const bytes = Buffer.from(challenge, 'base64url');
          const head = bytes.subarray(0, CHALLENGE_HEAD_BYTES);
          const code = codeOf(head, visitor);
          if (bytes.length !== head.length + code.length) return false;
          if (!timingSafeEqual(bytes.subarray(head.length), code)) return false;
          const until = Number(head.readBigUInt64BE(CHALLENGE_HEAD_BYTES / 2));
          if (now >= until) return false;
          accepted = { name: bytes.toString('base64url'), until };
          return true;
        },
        isFirstAnswer: async () =>
          accepted !== null && (await answered.putIfAbsent(accepted.name, '', { now, until: accepted.until })),
      };
    },
  };
}
