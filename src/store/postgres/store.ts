/** The store on PostgreSQL: the shared verbs and its own. */

import type { Ids } from '../../kernel/ids.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Store } from '../port/store.ts';
import { employeeStore } from '../shared/employees.ts';
import { eventTypeStore } from '../shared/events.ts';
import { type OfRecord, removalStore, retentionStore } from '../shared/retention.ts';
import { createSharedStore } from '../shared/store.ts';
import { type PostgresAccessVersion, tokenStore, watchAccess } from './access.ts';
import { allowanceStore } from './allowances.ts';
import { refuseDefects } from './defects.ts';
import { deliveryStores } from './dispatch.ts';
import type { PostgresDatabase } from './driver/postgres.ts';
import { employeeReads } from './employees.ts';
import { erasureStore } from './erasure.ts';
import { eventTypeReads } from './event-types.ts';
import { failureStore } from './failures.ts';
import { createLeases, lockLog } from './instances.ts';
import { partitionsByAge } from './partitions.ts';
import { eventStore } from './publish.ts';
import { removeShortLived, shortLivedStore } from './short-lived.ts';
import { stateHistoryStore } from './state-history.ts';

/** Events, attempts and tokens are deleted with the partitions that hold them. */
const ONLY_RECORD: OfRecord = { events: null, attempts: null, lockLog };

/** `access.changed` is to be called when another instance may have written. */
export function createPostgresStore(
  db: PostgresDatabase,
  vault: Vault,
  ids: Ids,
  access: PostgresAccessVersion = watchAccess(db),
): Store {
  const shared = createSharedStore(db, vault, ids, access, lockLog);
  const leases = createLeases(db);
  return {
    ...shared,
    settings: {
      ...shared.settings,
      proveWritable: async (now) => {
        await shared.settings.proveWritable(now);
        await refuseDefects(db);
      },
    },
    tokens: tokenStore(db, access),
    failures: failureStore(db),
    allowances: allowanceStore(db),
    shortLived: shortLivedStore(db, vault),
    erasures: erasureStore(db),
    events: eventStore(db),
    eventTypes: { ...eventTypeStore(db), ...eventTypeReads(db) },
    retention: { ...retentionStore(db, ONLY_RECORD), byAge: partitionsByAge(db), shortLived: removeShortLived(db) },
    removals: removalStore(db, ONLY_RECORD),
    stateHistory: stateHistoryStore(db),
    instances: leases.instances,
    employees: { ...employeeStore(db), ...employeeReads(db) },
    ...deliveryStores(db, vault, leases),
  };
}
