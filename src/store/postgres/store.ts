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
import type { Store } from '../store.ts';
import { type PostgresAccessVersion, tokenStore, watchAccess } from './access.ts';
import { erasureStore } from './erasure.ts';
import { createLeases, type Leases } from './instances.ts';
import { eventStore } from './publish.ts';
import { stateHistoryStore } from './state-history.ts';

/** `access.changed` is to be called when another instance may have written. */
export function createPostgresStore(
  db: Database,
  vault: Vault,
  ids: Ids,
  access: PostgresAccessVersion = watchAccess(db),
): Store {
  const shared = createStore(db, vault, ids, access);
  const leases = createLeases(db);
  return {
    ...shared,
    tokens: tokenStore(db, access),
    erasures: erasureStore(db),
    events: eventStore(db),
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
    claim: (claim) =>
      held(leases, claim.webhookNumber, async (guard) => void (await db.commit([guard, ...claimStatements(claim)]))),
    // What an expired instance held is given back by another one.
    releaseAll: (now) => finishResuming(db, now),
  };
}

function leasedSettlements(db: Database, shared: SettlementStore, leases: Leases): SettlementStore {
  return {
    ...shared,
    settle: (settlement) =>
      changesNothing(settlement)
        ? shared.settle(settlement)
        : held(
            leases,
            settlement.webhookNumber,
            async (guard) => void (await db.commit([guard, ...settlementStatements(settlement)])),
          ),
  };
}

/** Whether it only records attempts, such as those of a batch whose lease was lost. */
function changesNothing({ batches, health, changes, wakeAt, next }: Settlement): boolean {
  const isFree = batches.every(({ batch, fate }) => batch === null || fate === null);
  return isFree && health === null && changes.length === 0 && wakeAt === null && next === null;
}

/** Runs a write under the lease of a webhook. After a stale one the lease is read again before the next. */
async function held(
  leases: Leases,
  webhookNumber: number,
  write: (guard: ReturnType<Leases['guard']>) => Promise<void>,
): Promise<void> {
  try {
    await write(leases.guard(webhookNumber));
  } catch (error) {
    if (error instanceof StaleWrite) leases.forget(webhookNumber);
    throw error;
  }
}
