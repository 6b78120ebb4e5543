/** The master key's file: 32 random bytes as Base64 text, readable only by its owner (contract §6.2). */
import { existsSync, readFileSync } from 'node:fs';
import type { Random } from '../kernel/ids.ts';
import { createPrivateFile, exposedMode, type OwnerLike, strangerText } from '../kernel/private-file.ts';
import { MASTER_KEY_BYTES } from '../kernel/vault.ts';

type MasterKeyVerdict =
  | { readonly ok: true; readonly key: Uint8Array }
  | {
      readonly ok: false;
      readonly code: 'missing' | 'exposed' | 'malformed' | 'unreadable';
      readonly description: string;
    };

/** Reads the key. The description says what to do and shows nothing of the file's content. */
export function readMasterKey(path: string): MasterKeyVerdict {
  if (!existsSync(path)) return { ok: false, code: 'missing', description: `there is no master key at ${path}` };
  const mode = exposedMode(path);
  if (mode !== null) {
    const description = `the master key ${path} is accessible to others (mode ${mode}); run: chmod 600 ${path}`;
    return { ok: false, code: 'exposed', description };
  }
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    const description = `the master key ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}${strangerText([path])}`;
    return { ok: false, code: 'unreadable', description };
  }
  const key = Buffer.from(text, 'base64');
  if (key.length !== MASTER_KEY_BYTES || key.toString('base64') !== text) {
    const description = `the master key ${path} is not ${MASTER_KEY_BYTES} bytes as Base64 text`;
    return { ok: false, code: 'malformed', description };
  }
  return { ok: true, key };
}

/**
 * Creates a key, durable before it returns: everything sealed under a lost key would be lost. If another process creates the file at the
 * same time, returns the key of that one. Throws if that cannot be read.
 */
export function makeMasterKey(
  path: string,
  random: Random,
  owner?: OwnerLike,
): { readonly key: Uint8Array; readonly isNew: boolean } {
  const key = random(MASTER_KEY_BYTES);
  if (createPrivateFile(path, `${Buffer.from(key).toString('base64')}\n`, owner)) return { key, isNew: true };
  const verdict = readMasterKey(path);
  if (!verdict.ok) throw new Error(verdict.description);
  return { key: verdict.key, isNew: false };
}
