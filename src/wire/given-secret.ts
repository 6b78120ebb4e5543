/** The form in which Standard Webhooks writes secrets. Runs wherever receivers do. */
import { decodeStrictBase64 } from './base64.ts';

const PREFIX = 'whsec_';

/**
 * A secret as somebody gives it: `whsec_<Base64>` is the Base64 alone (contract §4), anything else is taken as it is. Null for the prefix
 * before what is not strict Base64: it was cut, or mistyped, and signatures made with it would never verify.
 */
export function givenSecret(text: string): string | null {
  if (!text.startsWith(PREFIX)) return text;
  const secret = text.slice(PREFIX.length);
  return decodeStrictBase64(secret) === null ? null : secret;
}
