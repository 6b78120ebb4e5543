/**
 * The token challenge: an endpoint proves that it holds the secret (contract §5.5). This is the sender's side, which
 * asks and compares. The receiver's side is `challenge-answer.ts`.
 */

import { decodeStrictBase64, encodeBase64Url } from './bytes.ts';
import { type Challenge, challengeHeader, challengeMessage } from './challenge-answer.ts';
import { CHALLENGE_TOKEN_BYTES } from './limits.ts';
import { equalText, hmacSha256Base64 } from './payload.ts';
import { secretKey } from './signature.ts';
import { reject, type Verdict } from './verdict.ts';

type ChallengeVerdict = Verdict<'missing_answer' | 'malformed_answer' | 'wrong_answer'>;

/** 32 random bytes in Base64url: 43 characters. */
export function newChallengeToken(random: (size: number) => Uint8Array): string {
  return encodeBase64Url(random(CHALLENGE_TOKEN_BYTES));
}

/** Whether a text has the form of this service's tokens. */
export function isChallengeToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/**
 * The answer that a receiver must give: the Base64 HMAC-SHA256 of the challenge's message. Throws a RangeError for a token of another form.
 */
export function challengeAnswer(challenge: Challenge): string {
  if (!isChallengeToken(challenge.token)) throw new RangeError('a challenge token has 43 Base64url characters');
  return hmacSha256Base64(secretKey(challenge.secret), challengeMessage(challenge));
}

/** Compares the answer in `x-challenge-sha256`, without blanks around it, with the expected one, in constant time. */
export function verifyChallengeAnswer(challenge: Challenge, header: string | null | undefined): ChallengeVerdict {
  const answer = header ?? '';
  if (answer === '') {
    return reject('missing_answer', `the response has no ${challengeHeader} header`);
  }
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(answer) && decodeStrictBase64(answer) === null) {
    return reject(
      'malformed_answer',
      `${challengeHeader} of the response is Base64url, or has no padding: ${STANDARD}`,
    );
  }
  if (decodeStrictBase64(answer)?.length !== 32) {
    return reject(
      'malformed_answer',
      `${challengeHeader} of the response is not the Base64 of an HMAC-SHA256 (44 characters; it has ${answer.length})`,
    );
  }
  if (!equalText(answer, challengeAnswer(challenge))) {
    return reject('wrong_answer', `${challengeHeader} of the response is not the signature of this challenge`);
  }
  return { ok: true };
}

const STANDARD = 'it must be standard Base64, with + and / and one = at its end (44 characters)';

/** The request's JSON body. */
export function challengeBody(endpointId: string): string {
  return JSON.stringify({ type: 'endpoint.challenge', endpointId });
}
