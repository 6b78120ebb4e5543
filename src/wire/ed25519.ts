/**
 * Asymmetric signatures of Standard Webhooks (its specification, "Signature scheme"; RFC 8032): `v1a,<Base64>` over
 * `id.timestamp.body`. Private keys are the Base64 of their 32 bytes, public keys too, `whpk_` before them.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';

/** The DER of a private key up to its 32 bytes (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

export const PUBLIC_KEY_PREFIX = 'whpk_';

/** `seed`: the Base64 of 32 random bytes. */
export function ed25519Key(seed: string): KeyObject {
  const der = Buffer.concat([PKCS8_HEAD, Buffer.from(seed, 'base64')]);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

/** The Base64 of the 32 bytes of the public key. */
export function ed25519PublicKey(seed: string): string {
  const { x = '' } = createPublicKey(ed25519Key(seed)).export({ format: 'jwk' });
  return Buffer.from(x, 'base64url').toString('base64');
}

/** The value of `webhook-signature`: a signature of each key, separated by a space. `id` and `timestamp` are as in their headers. */
export function asymmetricSignatures(
  message: { readonly id: string; readonly timestamp: string; readonly body: Uint8Array },
  keys: readonly KeyObject[],
): string {
  const signed = Buffer.concat([Buffer.from(`${message.id}.${message.timestamp}.`), message.body]);
  return keys.map((key) => `v1a,${sign(null, signed, key).toString('base64')}`).join(' ');
}

type PublicJwk = {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: 'EdDSA';
};

/** The key as a JWK (RFC 8037). `kid` is its thumbprint (RFC 7638), so that it reveals nothing of the key's owner. */
export function publicJwk(publicKey: string): PublicJwk {
  const x = Buffer.from(publicKey, 'base64').toString('base64url');
  const kid = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url');
  return { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' };
}
