/** The credentials of the first start, sealed, from before anything is made with them until they were shown (`setting`). */

import type { Vault } from '../../../kernel/vault.ts';
import type { FirstCredentialStore, PendingCredentials } from '../../settings.ts';
import type { Database } from '../driver/database.ts';

const NAME = 'first_credentials';
const PLACE = `setting.value:${NAME}`;
const GET = 'SELECT value FROM setting WHERE name = @name';
const PUT = `
  INSERT INTO setting (name, value) VALUES (@name, @value)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const FORGET = 'DELETE FROM setting WHERE name = @name';

export function firstCredentialStore(db: Database, vault: Vault): FirstCredentialStore {
  return {
    get: async () => {
      const row = await db.get(GET, { name: NAME });
      return row === undefined
        ? null
        : (JSON.parse(vault.unseal(row.value as Uint8Array, PLACE)) as PendingCredentials);
    },
    put: async (credentials) =>
      void (await db.commit([
        { sql: PUT, params: { name: NAME, value: vault.seal(JSON.stringify(credentials), PLACE) } },
      ])),
    forget: async () => void (await db.commit([{ sql: FORGET, params: { name: NAME } }])),
  };
}
