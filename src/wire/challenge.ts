/** The token challenge: an endpoint proves that it holds the secret (wire.md §5 "Token challenge"). Both sides. */
import { CHALLENGE_TOKEN_BYTES } from '../limits.ts';
import { decodeStrictBase64, encodeBase64Url } from './base64.ts';
import { equalText, hmacSha256Base64 } from './hash.ts';
import { secretKey } from './signature.ts';
import { failure, type Verdict } from './verdict.ts';

/** Carries the token in the request and the answer in the response. */
export const challengeHeader = 'x-challenge-sha256';

/** `pathAndQuery` as in the request line, case kept; `token` the request's header; `secret` the endpoint's. */
export type Challenge = { readonly pathAndQuery: string; readonly token: string; readonly secret: string };

export type ChallengeVerdict = Verdict<'missing_answer' | 'malformed_answer' | 'wrong_answer'>;

/** 32 random bytes in Base64url: 43 characters. */
export function newChallengeToken(random: (size: number) => Uint8Array): string {
  return encodeBase64Url(random(CHALLENGE_TOKEN_BYTES));
}

/**
 * Whether a text has the form of a token. A receiver checks this before it answers: it would otherwise sign any text for
 * anybody, and with a text of the right form that is a valid Standard Webhooks signature of a made-up body.
 */
export function isChallengeToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** The Base64 HMAC-SHA256 of `POST`, path and query, and token, joined by nothing. RangeError if the token is not one. */
export function challengeAnswer({ pathAndQuery, token, secret }: Challenge): string {
  if (!isChallengeToken(token)) throw new RangeError('a challenge token has 43 Base64url characters');
  return hmacSha256Base64(secretKey(secret), `POST${pathAndQuery}${token}`);
}

/** Compares the answer that came back in `x-challenge-sha256` with the one wanted, in constant time. */
export function verifyChallengeAnswer(challenge: Challenge, answer: string | null | undefined): ChallengeVerdict {
  if (answer === undefined || answer === null || answer === '') {
    return failure('missing_answer', `the response has no ${challengeHeader} header`);
  }
  if (decodeStrictBase64(answer)?.length !== 32) {
    return failure(
      'malformed_answer',
      `${challengeHeader} of the response is not the Base64 of an HMAC-SHA256 (44 characters; it has ${answer.length})`,
    );
  }
  if (!equalText(answer, challengeAnswer(challenge))) {
    return failure('wrong_answer', `${challengeHeader} of the response is not the signature of this challenge`);
  }
  return { ok: true };
}

/** The request's JSON body. */
export function challengeBody(endpointId: string): string {
  return JSON.stringify({ type: 'endpoint.challenge', endpointId });
}
