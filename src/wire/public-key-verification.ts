/** Verifies signatures of version v1a with Ed25519 (RFC 8032), on any runtime whose WebCrypto has it: the inverse of `ed25519.ts`. */

import { decodeStrictBase64 } from './bytes.ts';
import { type MessageHead, type MessageHeadVerdict, readStandardWebhook } from './standard-webhooks-verification.ts';

const ED25519 = { name: 'Ed25519' };
const PUBLIC_KEY_BYTES = 32;

/**
 * For the option `standardWebhooks`: accepts signatures of one of the public keys of the endpoint, with or without `whpk_`; during a
 * rotation there are two. With secrets beside it, their signatures too. Throws a TypeError for any other text. Verifying rejects on a
 * runtime whose WebCrypto lacks Ed25519.
 */
export function publicKeyWebhooks(publicKeys: string | readonly string[]): (head: MessageHead) => MessageHeadVerdict {
  const keys = [publicKeys].flat().map(publicKeyOf);
  if (keys.length === 0) throw new TypeError('there is no public key');
  const verify = async (signature: Uint8Array<ArrayBuffer>, message: readonly (string | Uint8Array)[]) => {
    const signed = await new Blob(message as (string | Uint8Array<ArrayBuffer>)[]).arrayBuffer();
    const verdicts = keys.map(async (bytes) => {
      const key = await crypto.subtle.importKey('raw', bytes, ED25519, false, ['verify']);
      return crypto.subtle.verify(ED25519, key, signature, signed);
    });
    return (await Promise.all(verdicts)).includes(true);
  };
  return (head) =>
    readStandardWebhook(head, async (text, message) => {
      const signature = decodeStrictBase64(text);
      return signature !== null && verify(signature, message);
    });
}

function publicKeyOf(text: string): Uint8Array<ArrayBuffer> {
  const key = decodeStrictBase64(text.replace(/^whpk_/, ''));
  if (key?.length !== PUBLIC_KEY_BYTES) throw new TypeError('a public key is not whpk_ and the Base64 of 32 bytes');
  return key;
}
