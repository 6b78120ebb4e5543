/** The receiver's side of the token challenge (wire.md §5), on any runtime that has WebCrypto. The sender's is `challenge.ts`. */
import { secretKey } from './signature.ts';
import { hmacSha256Base64 } from './web-hash.ts';

/** Carries the token in the request and the answer in the response. */
export const challengeHeader = 'x-challenge-sha256';

/** `pathAndQuery` as in the request line, case kept; `token` the request's header; `secret` the endpoint's. */
export type Challenge = { readonly pathAndQuery: string; readonly token: string; readonly secret: string };

/**
 * Whether a text has the form of a token. A receiver checks this before it answers: it would otherwise sign any text for
 * anybody, and with a text of the right form that is a valid Standard Webhooks signature of a made-up body.
 */
export function isChallengeToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** What to send back in `x-challenge-sha256`; null if the token is not one. */
export async function answerChallenge(challenge: Challenge): Promise<string | null> {
  if (!isChallengeToken(challenge.token)) return null;
  return hmacSha256Base64(secretKey(challenge.secret), challengeMessage(challenge));
}

/** What is signed: `POST`, path and query, and token, joined by nothing. */
export function challengeMessage({ pathAndQuery, token }: Challenge): string {
  return `POST${pathAndQuery}${token}`;
}
