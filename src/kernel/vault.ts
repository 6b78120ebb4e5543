/**
 * Encryption of stored secrets (contract §1.9): AES-256-GCM with the master key. Layout: version byte 1, 12-byte nonce, 16-byte tag,
 * ciphertext. The place of the value (`table.column:id`) is authenticated too, so that a value cannot be moved to another row.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import type { Random } from './ids.ts';

export type Vault = {
  seal(text: string, place: string): Uint8Array;
  /** Throws if the value was changed, moved, or sealed with another key. */
  unseal(sealed: Uint8Array, place: string): string;
  /** HMAC-SHA-256 in hex with a key derived from the master key. It proves that the author of the text had the master key. */
  authenticate(text: string): string;
};

export const MASTER_KEY_BYTES = 32;
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

export function createVault(masterKey: Uint8Array, random: Random): Vault {
  if (masterKey.length !== MASTER_KEY_BYTES) throw new Error(`the master key must have ${MASTER_KEY_BYTES} bytes`);
  const authenticationKey = createHmac('sha256', masterKey).update('sallyport backup manifest').digest();
  return {
    authenticate: (text) => createHmac('sha256', authenticationKey).update(text).digest('hex'),
    seal: (text, place) => {
      const nonce = random(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', masterKey, nonce);
      cipher.setAAD(Buffer.from(place));
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Uint8Array.of(VERSION), nonce, cipher.getAuthTag(), ciphertext]);
    },
    unseal: (sealed, place) => {
      if (sealed.length < HEADER_BYTES || sealed[0] !== VERSION) throw new Error(`${place} is not a sealed value`);
      const decipher = createDecipheriv('aes-256-gcm', masterKey, sealed.subarray(1, 1 + NONCE_BYTES));
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEADER_BYTES));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(HEADER_BYTES)), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new Error(`${place} was altered, or sealed with another master key`, { cause });
      }
    },
  };
}
