/** What the dispatcher reads and writes on PostgreSQL: the webhooks that this instance holds, and one query for all reads of a turn. */
import type { LogRecord, Settlement } from '../../delivery/batch.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Database, Row } from '../database.ts';
import type { DispatchStore, SettlementStore } from '../dispatch.ts';
import { StaleWrite } from '../errors.ts';
import { clockLeadStore } from '../sql/clock-lead.ts';
import {
  currentTarget,
  dispatchStore,
  IS_UNDER_ERASURE,
  REQUIRES_ENCRYPTION,
  targetReader,
} from '../sql/delivery/dispatch.ts';
import { finishResuming } from '../sql/delivery/resume.ts';
import { settlementStatements, settlementStore } from '../sql/delivery/settlement.ts';
import { rowsOf } from './arrays.ts';
import { guardStatement, type Leases } from './instances.ts';
import { isPlain, writeTurns } from './settlements.ts';
import { READS, type TogetherOptions, together } from './together.ts';

const WANTED = rowsOf<{ readonly webhookNumber: number }>('wanted', { webhookNumber: 'BIGINT' });
const CURRENT = currentTarget(`w.number IN (SELECT webhook_number FROM ${WANTED.from})`);

/** Each stretch may bring a megabyte of events. */
const RECORD_READS: TogetherOptions = { ...READS, callsMax: 200 };

type Stretch = { readonly webhookNumber: number; readonly first: number; readonly last: number };
const STRETCHES = rowsOf<Stretch>('s', { webhookNumber: 'BIGINT', first: 'BIGINT', last: 'BIGINT' }, 'place');
// The limits make these look-ups in the indexes, also while the planner does not know the numbers, or a new partition has no statistics.
const RECORDS = `
  SELECT s.place, o.record_offset AS "offset", e.created_at AS "createdAt", e.correlation_id AS "correlationId", e.id AS "messageId",
    e.type AS "eventType", ${REQUIRES_ENCRYPTION} AS "encryptionRequired", e.actor_id AS "actorId", e.subject,
    CASE WHEN ${IS_UNDER_ERASURE} THEN NULL ELSE e.data END AS "dataJson"
  FROM ${STRETCHES.from}
  CROSS JOIN LATERAL (
    SELECT record_offset, event_key FROM outbox
    WHERE webhook_number = s.webhook_number AND record_offset BETWEEN s.first AND s.last ORDER BY record_offset LIMIT 1000000) AS o
  CROSS JOIN LATERAL (SELECT * FROM event WHERE key = o.event_key LIMIT 1) AS e
  ORDER BY s.place, o.record_offset`;

/** `DispatchStore` and `SettlementStore` for the webhooks that this instance holds. */
export function deliveryStores(
  db: Database,
  vault: Vault,
  leases: Leases,
): { readonly dispatch: DispatchStore; readonly settlements: SettlementStore } {
  const dispatch = dispatchStore(db, vault);
  const settlements = settlementStore(db);
  const write = writeTurns(db);
  const clockLead = clockLeadStore(db);
  /** After a refused write the lease is read again before the next. */
  const underLease = async (webhookNumber: number, written: Promise<unknown>): Promise<void> => {
    try {
      await written;
    } catch (error) {
      if (error instanceof StaleWrite) leases.forget(webhookNumber);
      throw error;
    }
  };
  const target = targetReader(db, vault, currentReader(db));
  return {
    dispatch: {
      ...dispatch,
      target,
      records: recordsReader(db),
      dueWebhooks: leases.dueWebhooks,
      nextWakeAt: leases.nextWakeAt,
      claim: async (claim) => {
        const { webhookNumber } = claim;
        const hold = await leases.hold(webhookNumber);
        if (hold === null) throw new StaleWrite('a claim of a webhook that another instance holds', 1, 0);
        await underLease(webhookNumber, write({ hold, settlement: null, claim }));
      },
      // What an expired instance held is given back by another one. The first instance after a pause of all corrects times.
      releaseAll: async (now) => {
        if (await leases.isAlone()) {
          await clockLead.resume(now);
          await clockLead.take(now);
        }
        await finishResuming(db, now);
      },
    },
    settlements: {
      ...settlements,
      settle: async (settlement) => {
        const { webhookNumber, batches } = settlement;
        if (changesNothing(settlement)) return settlements.settle(settlement);
        const hold = await leases.hold(webhookNumber);
        if (hold === null) {
          // Batches tell by their own lease that they are lost; a heartbeat has none.
          const isLost = batches.some(({ batch }) => batch !== null);
          if (isLost) throw new StaleWrite('a settlement of a webhook that another instance holds', 1, 0);
          return settlements.settle({
            ...settlement,
            health: null,
            changes: [],
            audit: null,
            wakeAt: null,
            next: null,
          });
        }
        const written = isPlain(settlement)
          ? write({ hold, settlement, claim: settlement.next })
          : settlementStatements(db, settlement).then((statements) => db.commit([guardStatement(hold), ...statements]));
        return underLease(webhookNumber, written);
      },
    },
  };
}

/** Whether it only records attempts, such as those of a batch whose lease was lost. */
function changesNothing({ batches, health, changes, wakeAt, next }: Settlement): boolean {
  const isFree = batches.every(({ batch, fate }) => batch === null || fate === null);
  return isFree && health === null && changes.length === 0 && wakeAt === null && next === null;
}

function currentReader(db: Database): (webhookNumber: number) => Promise<Row | undefined> {
  return together<number, Row | undefined>(async (webhookNumbers) => {
    const rows = await db.all(CURRENT, WANTED.parameters(webhookNumbers.map((webhookNumber) => ({ webhookNumber }))));
    const byNumber = new Map(rows.map((row) => [Number(row.webhook_number), row]));
    return webhookNumbers.map((webhookNumber) => byNumber.get(webhookNumber));
  }, READS);
}

function recordsReader(db: Database): DispatchStore['records'] {
  const read = together<Stretch, LogRecord[]>(async (stretches) => {
    const records: LogRecord[][] = stretches.map(() => []);
    for (const { place, ...record } of await db.all(RECORDS, STRETCHES.parameters(stretches))) {
      records[Number(place) - 1]?.push(record as unknown as LogRecord);
    }
    return records;
  }, RECORD_READS);
  return (webhookNumber, first, last) => read({ webhookNumber, first, last });
}
