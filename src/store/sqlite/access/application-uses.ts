/** When applications were last used (`application_use`): noted in memory, written in batches. */

import type { ApplicationUseStore } from '../../access.ts';
import { measured } from '../../steps.ts';
import type { Database } from '../driver/database.ts';

// An application may be gone by now. Another process may have written a later use: it stays.
const WRITE = `
  INSERT INTO application_use (application_id, last_used_at)
  SELECT a.id, used.value ->> 1 FROM json_each(@uses) AS used JOIN application AS a ON a.id = used.value ->> 0 WHERE true
  ON CONFLICT (application_id) DO UPDATE SET last_used_at = max(last_used_at, excluded.last_used_at)`;

export function applicationUseStore(database: Database): ApplicationUseStore {
  // One entry an application that was used since the last write: of those that exist, since each of them was authenticated.
  const noted = new Map<string, number>();
  return {
    note: (applicationId, at) => void noted.set(applicationId, at),
    latest: (applicationId) => noted.get(applicationId) ?? null,
    unwritten: () => noted.size,
    write: (limit) =>
      measured(database, async (db) => {
        const uses = [...noted.entries()].slice(0, limit);
        if (uses.length > 0) await db.commit([{ sql: WRITE, params: { uses: JSON.stringify(uses) } }]);
        for (const [applicationId, at] of uses) {
          const latest = noted.get(applicationId) ?? at;
          noted.delete(applicationId);
          // Used again meanwhile: behind those that have not had their turn.
          if (latest !== at) noted.set(applicationId, latest);
        }
        return { done: uses.length < limit, rows: uses.length };
      }),
  };
}
