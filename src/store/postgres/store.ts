/** The store on PostgreSQL: the shared verbs, and those that it does in its own way. */

import type { Settlement } from '../../delivery/batch.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Database } from '../database.ts';
import type { DispatchStore, SettlementStore } from '../dispatch.ts';
import { StaleWrite } from '../errors.ts';
import { claimStatements } from '../sql/delivery/dispatch.ts';
import { finishResuming } from '../sql/delivery/resume.ts';
import { settlementStatements } from '../sql/delivery/settlement.ts';
import { createStore } from '../sql/store.ts';
import { NO_TIME } from '../steps.ts';
import type { Store } from '../store.ts';
import { type PostgresAccessVersion, tokenStore, watchAccess } from './access.ts';
import type { PostgresDatabase } from './driver/postgres.ts';
import { erasureStore } from './erasure.ts';
import { failureStore } from './failures.ts';
import { createLeases, type Leases } from './instances.ts';
import { ensurePartitions, PARTITIONS_AHEAD_MS } from './partitions.ts';
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
  return {
    ...shared,
    tokens: tokenStore(db, access),
    failures: failureStore(db),
    shortLived: shortLivedStore(db, vault),
    erasures: erasureStore(db),
    events: eventStore(db),
    retention: {
      ...shared.retention,
      shortLived: removeShortLived(db),
      prepare: async (now) => {
        await ensurePartitions(db, { now, aheadMs: PARTITIONS_AHEAD_MS });
        return { done: true, rows: 0, took: NO_TIME };
      },
    },
    stateHistory: stateHistoryStore(db),
    instances: leases.instances,
    dispatch: leasedDispatch(db, shared.dispatch, leases),
    settlements: leasedSettlements(db, shared.settlements, leases),
  };
}

function leasedDispatch(db: Database, shared: DispatchStore, leases: Leases): DispatchStore {
  return {
    ...shared,
    dueWebhooks: leases.dueWebhooks,
    nextWakeAt: leases.nextWakeAt,
    claim: async (claim) => {
      const { webhookNumber } = claim;
      const guard = await leases.guard(webhookNumber);
      if (guard === null) throw new StaleWrite('a claim of a webhook that another instance holds', 1, 0);
      await underLease(leases, webhookNumber, db.commit([guard, ...claimStatements(claim)]));
    },
    // What an expired instance held is given back by another one.
    releaseAll: (now) => finishResuming(db, now),
  };
}

function leasedSettlements(db: Database, shared: SettlementStore, leases: Leases): SettlementStore {
  return {
    ...shared,
    settle: async (settlement) => {
      const { webhookNumber, batches } = settlement;
      const guard = changesNothing(settlement) ? null : await leases.guard(webhookNumber);
      if (guard !== null) {
        return underLease(leases, webhookNumber, db.commit([guard, ...settlementStatements(settlement)]));
      }
      // Batches tell by their own lease that they are lost; a heartbeat has none.
      const isLost = !changesNothing(settlement) && batches.some(({ batch }) => batch !== null);
      if (isLost) throw new StaleWrite('a settlement of a webhook that another instance holds', 1, 0);
      await shared.settle({ ...settlement, health: null, changes: [], audit: null, wakeAt: null, next: null });
    },
  };
}

/** Whether it only records attempts, such as those of a batch whose lease was lost. */
function changesNothing({ batches, health, changes, wakeAt, next }: Settlement): boolean {
  const isFree = batches.every(({ batch, fate }) => batch === null || fate === null);
  return isFree && health === null && changes.length === 0 && wakeAt === null && next === null;
}

/** After a refused write the lease is read again before the next. */
async function underLease(leases: Leases, webhookNumber: number, written: Promise<unknown>): Promise<void> {
  try {
    await written;
  } catch (error) {
    if (error instanceof StaleWrite) leases.forget(webhookNumber);
    throw error;
  }
}
