/** The receiver's side of the token challenge (contract §5.5), on any runtime with WebCrypto. The sender's side is `challenge.ts`. */
import { secretKey } from './signature.ts';
import { hmacSha256Base64 } from './web-hash.ts';

/** Carries the token in the request and the answer in the response. */
export const challengeHeader = 'x-challenge-sha256';

/** `pathAndQuery` as in the request line, case kept; `token` the request's header; `secret` the endpoint's. */
export type Challenge = { readonly pathAndQuery: string; readonly token: string; readonly secret: string };

/**
 * Whether a receiver may sign this. Other senders use other forms of tokens, so any visible ASCII is accepted, except a comma, which
 * separates two values of a header. Anyone can ask for an answer: if the message had the form that Standard Webhooks signs
 * (`<id>.<seconds>.<body>`), the answer would be a valid signature of a forged body.
 */
function isAnswerable(challenge: Challenge): boolean {
  return /^[\x21-\x2b\x2d-\x7e]{1,1024}$/.test(challenge.token) && !/\.\d{9,12}\./.test(challengeMessage(challenge));
}

/** The answer to send back in `x-challenge-sha256`; null if the receiver must not sign this token. */
export async function answerChallenge(challenge: Challenge): Promise<string | null> {
  if (!isAnswerable(challenge)) return null;
  return hmacSha256Base64(secretKey(challenge.secret), challengeMessage(challenge));
}

/** The signed text: `POST`, path and query, and token, without separators. */
export function challengeMessage({ pathAndQuery, token }: Challenge): string {
  return `POST${pathAndQuery}${token}`;
}
