/** Facts about the database itself (`setting`). */

import { randomBytes } from 'node:crypto';
import type { PortalTheme } from '../../domain/portal-theme.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Database, Statement } from '../port/database.ts';
import type { FirstCredentialStore, PendingCredentials, SettingStore } from '../port/settings.ts';
import { auditStatement } from './audit.ts';

const GET = 'SELECT value FROM setting WHERE name = @name';
const INSERT = 'INSERT INTO setting (name, value) VALUES (@name, @value)';
const PUT = `${INSERT} ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const KEEP = `${INSERT} ON CONFLICT (name) DO NOTHING`;
const REPLACE = 'UPDATE setting SET value = @value WHERE name = @name AND value = @before';
const UPDATE = 'UPDATE setting SET value = @value WHERE name = @name';
// A process that begins late must not begin again.
const BEGIN_FIRST_START = `
  INSERT INTO setting (name, value) SELECT @name, @value WHERE NOT EXISTS (SELECT 1 FROM user_account)
  ON CONFLICT (name) DO NOTHING`;
const DELETE = 'DELETE FROM setting WHERE name = @name';

const MASTER_KEY_CHECK = 'master_key_check';
const WORD = 'sallyport';
const FIRST_CREDENTIALS = 'first_credentials';
const PORTAL_THEME = 'portal_theme';
const SEARCH_KEY = 'search_key';

export function settingStore(db: Database, vault: Vault): SettingStore {
  const place = placeOf(MASTER_KEY_CHECK);
  const opens = (sealed: Uint8Array): boolean => {
    try {
      return vault.unseal(sealed, place) === WORD;
    } catch {
      return false;
    }
  };
  return {
    knowsMasterKey: async () => {
      const sealed = await read(db, MASTER_KEY_CHECK);
      return sealed !== null && opens(sealed);
    },
    portalTheme: async () => {
      const value = await read(db, PORTAL_THEME);
      return value === null ? null : (JSON.parse(Buffer.from(value).toString('utf8')) as PortalTheme);
    },
    putPortalTheme: async (theme, before, audit) => {
      const first = { name: PORTAL_THEME, value: themeBytes(theme) };
      const change =
        before === null
          ? { sql: KEEP, params: first, expectChanges: 1 }
          : { sql: REPLACE, params: { ...first, before: themeBytes(before) }, expectChanges: 1 };
      await db.commit([change, auditStatement(audit)]);
    },
    proveWritable: async (now) =>
      void (await db.commit([{ sql: PUT, params: { name: 'written_at', value: Buffer.from(String(now)) } }])),
    checkMasterKey: async () => {
      let sealed = await read(db, MASTER_KEY_CHECK);
      if (sealed === null) {
        // Another instance that starts at the same time may have another master key, so the row is read again.
        await db.commit([{ sql: KEEP, params: { name: MASTER_KEY_CHECK, value: vault.seal(WORD, place) } }]);
        sealed = await read(db, MASTER_KEY_CHECK);
      }
      if (sealed === null || !opens(sealed)) {
        throw new Error('the master key is not the one that this database was made with');
      }
    },
  };
}

/**
 * The key of the hashes by which values of events are found. Every instance has the same one, and another
 * master key does not change it. Null if there is none yet and none is to be made.
 */
export async function searchKey(db: Database, vault: Vault, isMade: boolean): Promise<string | null> {
  const place = placeOf(SEARCH_KEY);
  const known = await read(db, SEARCH_KEY);
  if (known !== null) return vault.unseal(known, place);
  if (!isMade) return null;
  const made = randomBytes(32).toString('base64url');
  await db.commit([{ sql: KEEP, params: { name: SEARCH_KEY, value: vault.seal(made, place) } }]);
  // Another instance may have been first.
  return vault.unseal((await read(db, SEARCH_KEY)) ?? new Uint8Array(), place);
}

export function firstCredentialStore(db: Database, vault: Vault): FirstCredentialStore {
  const place = placeOf(FIRST_CREDENTIALS);
  const sealed = (credentials: PendingCredentials): Uint8Array => vault.seal(JSON.stringify(credentials), place);
  const get = async (): Promise<PendingCredentials | null> => {
    const value = await read(db, FIRST_CREDENTIALS);
    return value === null ? null : (JSON.parse(vault.unseal(value, place)) as PendingCredentials);
  };
  return {
    get,
    begin: async (credentials) => {
      await db.commit([{ sql: BEGIN_FIRST_START, params: { name: FIRST_CREDENTIALS, value: sealed(credentials) } }]);
      return get();
    },
    // An update, because another process may already have shown and deleted them.
    done: async (credentials) => {
      const value = sealed({ ...credentials, made: true });
      await db.commit([{ sql: UPDATE, params: { name: FIRST_CREDENTIALS, value } }]);
    },
    forget: async () => void (await db.commit([{ sql: DELETE, params: { name: FIRST_CREDENTIALS } }])),
  };
}

/** Refuses the transaction if the database has since been sealed with another master key. */
export async function knownKeyStatement(db: Database): Promise<Statement> {
  const params = { name: MASTER_KEY_CHECK, value: await read(db, MASTER_KEY_CHECK) };
  return { sql: 'UPDATE setting SET value = value WHERE name = @name AND value = @value', params, expectChanges: 1 };
}

/** The statements that seal every sealed setting with another master key. */
export async function resealSettings(db: Database, from: Vault, to: Vault): Promise<Statement[]> {
  const statements: Statement[] = [];
  for (const name of [MASTER_KEY_CHECK, FIRST_CREDENTIALS, SEARCH_KEY]) {
    const sealed = await read(db, name);
    if (sealed === null) continue;
    const value = to.seal(from.unseal(sealed, placeOf(name)), placeOf(name));
    statements.push({ sql: PUT, params: { name, value } });
  }
  return statements;
}

function themeBytes({ name, logo, accent }: PortalTheme): Uint8Array {
  return Buffer.from(JSON.stringify({ name, logo, accent }));
}

async function read(db: Database, name: string): Promise<Uint8Array | null> {
  const row = await db.get(GET, { name });
  return row === undefined ? null : (row.value as Uint8Array);
}

function placeOf(name: string): string {
  return `setting.value:${name}`;
}
