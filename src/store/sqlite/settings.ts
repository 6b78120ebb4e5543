/** Facts about this database itself (`setting`). */

import type { Vault } from '../../kernel/vault.ts';
import type { SettingStore } from '../settings.ts';
import type { Database } from './driver/database.ts';

const GET = 'SELECT value FROM setting WHERE name = @name';
const INSERT = 'INSERT INTO setting (name, value) VALUES (@name, @value)';
const MASTER_KEY_CHECK = 'master_key_check';
const WORD = 'sallyport';

const PROVE = `
  INSERT INTO setting (name, value) VALUES ('written_at', @value)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

export function settingStore(db: Database, vault: Vault): SettingStore {
  const place = `setting.value:${MASTER_KEY_CHECK}`;
  const opens = (sealed: Uint8Array): boolean => {
    try {
      return vault.unseal(sealed, place) === WORD;
    } catch {
      return false;
    }
  };
  return {
    knowsMasterKey: async () => {
      const row = await db.get(GET, { name: MASTER_KEY_CHECK });
      return row !== undefined && opens(row.value as Uint8Array);
    },
    proveWritable: async (now) => void (await db.commit([{ sql: PROVE, params: { value: Buffer.from(String(now)) } }])),
    checkMasterKey: async () => {
      const row = await db.get(GET, { name: MASTER_KEY_CHECK });
      if (row === undefined) {
        await db.commit([{ sql: INSERT, params: { name: MASTER_KEY_CHECK, value: vault.seal(WORD, place) } }]);
        return;
      }
      if (!opens(row.value as Uint8Array)) {
        throw new Error('the master key is not the one that this database was made with');
      }
    },
  };
}
