/** The store on SQLite: the shared verbs and its own. One process has the database, so what lives for minutes is in its memory. */

import { createThrottle } from '../../domain/throttle.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Store } from '../port/store.ts';
import { watchAppends } from '../shared/appended.ts';
import { settlementStore } from '../shared/delivery/settlement.ts';
import { employeeStore } from '../shared/employees.ts';
import { eventTypeStore } from '../shared/events.ts';
import { removalStore, retentionStore } from '../shared/retention.ts';
import { createSharedStore } from '../shared/store.ts';
import { tokenStore, watchAccess } from './access.ts';
import { createMemoryAllowances } from './allowances.ts';
import { dispatchStore } from './dispatch.ts';
import type { SqliteDatabase } from './driver/sqlite.ts';
import { employeeReads } from './employees.ts';
import { erasureStore } from './erasure.ts';
import { eventStore, eventTypeReads } from './publish.ts';
import { ALL_OF_RECORD, lockNothing, rowsByAge } from './retention.ts';
import { createMemoryValues } from './short-lived.ts';
import { stateHistoryStore } from './state-history.ts';

export function createSqliteStore(database: SqliteDatabase, vault: Vault, ids: Ids): Store {
  const { db, appended } = watchAppends(database);
  const access = watchAccess(database);
  const shared = createSharedStore(db, vault, ids, access, lockNothing);
  return {
    ...shared,
    pulls: {
      ...shared.pulls,
      ends: (webhookNumbers) => {
        // Otherwise a reader that a commit of this turn wakes would not see it.
        db.endSnapshot();
        return shared.pulls.ends(webhookNumbers);
      },
    },
    tokens: tokenStore(database, access),
    failures: { throttle: (_, remembered) => createThrottle(remembered) },
    allowances: createMemoryAllowances(),
    shortLived: { values: (_, remembered) => createMemoryValues(remembered) },
    erasures: erasureStore(db),
    events: eventStore(db),
    eventTypes: { ...eventTypeStore(db), ...eventTypeReads(db) },
    retention: { ...retentionStore(db, ALL_OF_RECORD), byAge: rowsByAge(db), shortLived: null },
    removals: removalStore(db, ALL_OF_RECORD),
    stateHistory: stateHistoryStore(db),
    instances: null,
    employees: { ...employeeStore(db), ...employeeReads(db) },
    dispatch: dispatchStore(db, vault, appended),
    settlements: settlementStore(db),
  };
}
