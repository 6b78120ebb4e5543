/** Looking behind the store for the tokens of an application. */
import type { TestStore } from './store.ts';

/** Their row keys, the oldest first. */
export function tokensOf({ database }: TestStore, applicationId: string): number[] {
  const keys = database.connection
    .prepare('SELECT key FROM access_token WHERE application_id = ? ORDER BY key')
    .pluck();
  return keys.all(applicationId) as number[];
}
