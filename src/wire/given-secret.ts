/** Reads secrets in the form of Standard Webhooks. Runs on every runtime that receivers run on. */
import { decodeStrictBase64 } from './base64.ts';

const PREFIX = 'whsec_';

/**
 * Removes the prefix of `whsec_<Base64>` (contract §4) and returns any other text unchanged. Returns null if the prefix is not followed by
 * strict Base64: the secret was cut or mistyped, and no signature made with it would verify.
 */
export function givenSecret(text: string): string | null {
  if (!text.startsWith(PREFIX)) return text;
  const secret = text.slice(PREFIX.length);
  return decodeStrictBase64(secret) === null ? null : secret;
}
