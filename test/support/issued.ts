/** Reads the tokens of an application directly from the database. */
import type { TestStore } from './store.ts';

/** The row keys, oldest first. */
export async function tokensOf({ database }: TestStore, applicationId: string): Promise<number[]> {
  const sql = 'SELECT key FROM access_token WHERE application_id = @applicationId ORDER BY key';
  return (await database.all(sql, { applicationId })).map(({ key }) => Number(key));
}
