/** The store on PostgreSQL: the shared verbs, and those that it does in its own way. */

import type { Ids } from '../../kernel/ids.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Store } from '../port/store.ts';
import { removalStore, retentionStore } from '../shared/retention.ts';
import { createStore } from '../shared/store.ts';
import { type PostgresAccessVersion, tokenStore, watchAccess } from './access.ts';
import { allowanceStore } from './allowances.ts';
import { refuseDefects } from './defects.ts';
import { deliveryStores } from './dispatch.ts';
import type { PostgresDatabase } from './driver/postgres.ts';
import { employeeReads } from './employees.ts';
import { erasureStore } from './erasure.ts';
import { eventTypeReads } from './event-types.ts';
import { failureStore } from './failures.ts';
import { createLeases } from './instances.ts';
import { partitionsByAge } from './partitions.ts';
import { eventStore } from './publish.ts';
import { removeShortLived, shortLivedStore } from './short-lived.ts';
import { stateHistoryStore } from './state-history.ts';

/** `access.changed` is to be called when another instance may have written. */
export function createPostgresStore(
  db: PostgresDatabase,
  vault: Vault,
  ids: Ids,
  access: PostgresAccessVersion = watchAccess(db),
): Store {
  const shared = createStore(db, vault, ids, access);
  const leases = createLeases(db);
  const byAge = partitionsByAge(db);
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
    eventTypes: { ...shared.eventTypes, ...eventTypeReads(db) },
    retention: { ...retentionStore(db, byAge), shortLived: removeShortLived(db) },
    removals: removalStore(db, byAge),
    stateHistory: stateHistoryStore(db),
    instances: leases.instances,
    employees: { ...shared.employees, ...employeeReads(db) },
    ...deliveryStores(db, vault, leases),
  };
}
