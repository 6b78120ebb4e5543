/** The receiver's side of the token challenge (contract §5), on any runtime that has WebCrypto. The sender's is `challenge.ts`. */
import { secretKey } from './signature.ts';
import { hmacSha256Base64 } from './web-hash.ts';

/** Carries the token in the request and the answer in the response. */
export const challengeHeader = 'x-challenge-sha256';

/** `pathAndQuery` as in the request line, case kept; `token` the request's header; `secret` the endpoint's. */
export type Challenge = { readonly pathAndQuery: string; readonly token: string; readonly secret: string };

/**
 * Whether a receiver may sign this. Other senders have tokens of other forms, so any is taken that one header value can hold; a comma
 * stands between two. But anybody can ask for an answer, and where the message reads as Standard Webhooks signs
 * (`<id>.<seconds>.<body>`), it would be a valid signature of a made-up body.
 */
function isAnswerable(challenge: Challenge): boolean {
  return /^[\x21-\x2b\x2d-\x7e]{1,1024}$/.test(challenge.token) && !/\.\d{9,12}\./.test(challengeMessage(challenge));
}

/** What to send back in `x-challenge-sha256`; null where that would sign something else than a challenge. */
export async function answerChallenge(challenge: Challenge): Promise<string | null> {
  if (!isAnswerable(challenge)) return null;
  return hmacSha256Base64(secretKey(challenge.secret), challengeMessage(challenge));
}

/** What is signed: `POST`, path and query, and token, joined by nothing. */
export function challengeMessage({ pathAndQuery, token }: Challenge): string {
  return `POST${pathAndQuery}${token}`;
}
