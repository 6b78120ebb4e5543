/** Reads the tokens of an application directly from the database. */
import type { TestStore } from './store.ts';

/** The row keys, oldest first. */
export function tokensOf({ database }: TestStore, applicationId: string): number[] {
  const keys = database.connection
    .prepare('SELECT key FROM access_token WHERE application_id = ? ORDER BY key')
    .pluck();
  return keys.all(applicationId) as number[];
}
