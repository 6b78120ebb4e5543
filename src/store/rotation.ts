/** Every secret that is sealed, sealed anew under another master key in one transaction: killed before its end, nothing has changed. */
import type { Database, Statement } from './database.ts';
import { endpointTable } from './endpoints.ts';
import type { Vault } from './vault.ts';

/** Rows of `setting` whose value is sealed to `setting.value:<name>`. */
const SEALED_SETTINGS = ['master_key_check', 'first_credentials'];

const SETTING = 'SELECT value FROM setting WHERE name = @name';
const PUT_SETTING = 'UPDATE setting SET value = @value WHERE name = @name';

/** Answers how many rows were sealed anew. Throws, with nothing changed, when a value cannot be read with `from`. */
export async function resealAll(db: Database, from: Vault, to: Vault): Promise<number> {
  const statements: Statement[] = [];
  for (const name of SEALED_SETTINGS) {
    const row = await db.get(SETTING, { name });
    if (row === undefined) continue;
    const place = `setting.value:${name}`;
    const value = to.seal(from.unseal(row.value as Uint8Array, place), place);
    statements.push({ sql: PUT_SETTING, params: { name, value }, expectChanges: 1 });
  }
  const before = endpointTable(from);
  const after = endpointTable(to);
  for (const row of await db.all(`SELECT ${before.columns()} FROM endpoint`, {})) {
    statements.push(after.update(before.read(row)));
  }
  await db.commit(statements);
  return statements.length;
}
