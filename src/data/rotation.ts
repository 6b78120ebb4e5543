/**
 * Rotates the master key: every sealed secret is sealed again with the new key, in one transaction.
 *
 * First the new key is written beside the old one, then the transaction commits, then the new file replaces the old one. A process that
 * dies before the commit changes nothing. If it dies after the commit, the next start sees that the database knows the new key and
 * finishes (`settleRotation`). No key that something is sealed with is ever missing.
 */
import { rmSync } from 'node:fs';
import type { AuditEntry } from '../domain/audit.ts';
import type { Random } from '../kernel/ids.ts';
import { moveFile } from '../kernel/private-file.ts';
import { createVault, type Vault } from '../kernel/vault.ts';
import type { Database, Statement } from '../store/port/database.ts';
import { resealReplies } from '../store/shared/access/kept-replies.ts';
import { auditStatement } from '../store/shared/audit.ts';
import { knownKeyStatement, resealSettings, settingStore } from '../store/shared/settings.ts';
import { endpointTable } from '../store/shared/webhooks/endpoints.ts';
import { makeMasterKey, readMasterKey } from './master-key.ts';

type Rotation = {
  readonly db: Database;
  readonly vault: Vault;
  /** The file of the old key. */
  readonly path: string;
  readonly random: Random;
  readonly audit: AuditEntry;
};

/** Returns the number of rows sealed again. No other process may have the database open with the old key. */
export async function rotateMasterKey({ db, vault, path, random, audit }: Rotation): Promise<number> {
  // The caller has settled earlier rotations, so an unknown new key is left over.
  rmSync(nextPath(path), { force: true });
  const next = createVault(makeMasterKey(nextPath(path), random, path).key, random);
  const statements = await resealed(db, vault, next);
  // First, so that of two rotations at the same time one is refused.
  await db.commit([await knownKeyStatement(db), ...statements, auditStatement(audit)]);
  moveFile(nextPath(path), path);
  return statements.length;
}

type Settling = {
  readonly path: string;
  readonly current: Uint8Array;
  readonly random: Random;
  /** Nobody else rotates the key now, so an unknown new key is left over. */
  readonly isAlone: boolean;
};

/** Finishes or undoes an interrupted rotation, and returns the key that the database knows. */
export async function settleRotation(db: Database, { path, current, random, isAlone }: Settling): Promise<Uint8Array> {
  const next = readMasterKey(nextPath(path));
  if (!next.ok) return current;
  if (await settingStore(db, createVault(next.key, random)).knowsMasterKey()) {
    moveFile(nextPath(path), path);
    return next.key;
  }
  if (isAlone) rmSync(nextPath(path), { force: true });
  return current;
}

function nextPath(path: string): string {
  return `${path}.next`;
}

async function resealed(db: Database, from: Vault, to: Vault): Promise<Statement[]> {
  const before = endpointTable(from);
  const after = endpointTable(to);
  const endpoints = await db.all(`SELECT ${before.columns()} FROM endpoint`, {});
  return [
    ...(await resealSettings(db, from, to)),
    ...endpoints.map((row) => after.update(before.read(row))),
    ...(await resealReplies(db, from, to)),
  ];
}
