/** The dispatcher's reads and writes on PostgreSQL: the webhooks that this instance holds, and one query for all reads of a turn. */
import { isDeepStrictEqual } from 'node:util';
import type { Hold, LogPosition, LogRecord, SettledBatch, Settlement } from '../../domain/batch.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Database, Row } from '../port/database.ts';
import type { DispatchStore, SettlementStore, WaitingRecord } from '../port/dispatch.ts';
import { HoldOver, StaleWrite } from '../port/errors.ts';
import { clockLeadStore } from '../shared/clock-lead.ts';
import {
  currentTarget,
  dispatchStore,
  RECORD_COLUMNS,
  targetReader,
  WAITING_RECORD,
} from '../shared/delivery/dispatch.ts';
import { finishResuming } from '../shared/delivery/resume.ts';
import { settlementStatements, settlementStore } from '../shared/delivery/settlement.ts';
import { readRow } from '../shared/table.ts';
import { type Rows, rowsOf } from './arrays.ts';
import { type BatchedOptions, batched, READS } from './batched.ts';
import { WAITS } from './driver/outcome.ts';
import type { PostgresDatabase } from './driver/postgres.ts';
import { guardStatement, type Leases } from './instances.ts';
import { isPlain, writeTurns } from './settlements.ts';

/** Whether commits wait for a standby. */
const STANDBY = `SELECT ${WAITS} AS waits`;

const WANTED = rowsOf<{ readonly webhookNumber: number }>('wanted', { webhookNumber: 'BIGINT' });
const CURRENT = currentTarget(`w.number IN (SELECT webhook_number FROM ${WANTED.from})`);

const ENDS = `
  SELECT p.webhook_number, coalesce((
    SELECT max(o.record_offset) + 1 FROM outbox AS o WHERE o.webhook_number = p.webhook_number AND o.event_key >= p.base_key
  ), p.base_offset) AS "end"
  FROM webhook_progress AS p WHERE p.webhook_number IN (SELECT asked.value FROM numbers(@webhookNumbers) AS asked)`;

type WaitingAsked = { readonly webhookNumber: number; readonly begin: number; readonly most: number };
const WAITING_ASKED = rowsOf<WaitingAsked>(
  'asked',
  { webhookNumber: 'BIGINT', begin: 'BIGINT', most: 'BIGINT' },
  'place',
);
const WAITING = `
  SELECT asked.place, waiting.* FROM ${WAITING_ASKED.from}
  CROSS JOIN LATERAL (
    SELECT ${WAITING_RECORD}, (SELECT ${WAITS}) AS waits FROM outbox
    WHERE webhook_number = asked.webhook_number AND record_offset >= asked.begin
    ORDER BY record_offset LIMIT asked.most) AS waiting
  ORDER BY asked.place, waiting."offset"`;

type Stretch = { readonly webhookNumber: number; readonly first: number; readonly last: number };
const STRETCHES = rowsOf<Stretch>('s', { webhookNumber: 'BIGINT', first: 'BIGINT', last: 'BIGINT' }, 'place');
// The limits make these look-ups in the indexes, also while the planner does not know the numbers, or a new partition has no statistics.
const RECORDS = `
  SELECT s.place, ${RECORD_COLUMNS}
  FROM ${STRETCHES.from}
  CROSS JOIN LATERAL (
    SELECT record_offset, event_key FROM outbox
    WHERE webhook_number = s.webhook_number AND record_offset BETWEEN s.first AND s.last ORDER BY record_offset LIMIT 1000000) AS o
  CROSS JOIN LATERAL (SELECT * FROM event WHERE key = o.event_key LIMIT 1) AS e
  ORDER BY s.place, o.record_offset`;

/** Each may bring a megabyte of events. */
const RECORD_READS: BatchedOptions = { ...READS, callsMax: 200 };

/** `DispatchStore` and `SettlementStore` for the webhooks that this instance holds. */
export function deliveryStores(
  db: PostgresDatabase,
  vault: Vault,
  leases: Leases,
): { readonly dispatch: DispatchStore; readonly settlements: SettlementStore } {
  const settlements = settlementStore(db);
  const write = writeTurns(db);
  const clockLead = clockLeadStore(db);
  /** Tells a hold that is over from other reasons of a refusal. */
  const underHold = async (hold: Hold, written: Promise<unknown>): Promise<void> => {
    try {
      await written;
    } catch (error) {
      if (error instanceof StaleWrite && (await leases.isOver(hold))) throw new HoldOver(hold, error);
      throw error;
    }
  };
  const shared = dispatchStore(db);
  /**
   * A record is sent once the synchronous standby has it. Otherwise it could be lost with the primary after it was sent, and another event
   * would get its offset.
   */
  const durable = async <Found>(reading: Promise<Found>, waits: (found: Found) => boolean): Promise<Found> => {
    const readSinceMs = performance.now();
    const found = await reading;
    if (waits(found)) await db.confirm(readSinceMs);
    return found;
  };
  /** Read again if the hold changed in the meantime: the position is of one hold. */
  const positions = async (webhookNumbers: readonly number[]): Promise<readonly LogPosition[]> => {
    const holds = await leases.holdsOf(webhookNumbers);
    if (holds.size === 0) return [];
    const read = await shared.positions([...holds.keys()]);
    const since = await leases.holdsOf([...holds.keys()]);
    const isSame = ({ webhookNumber }: LogPosition): boolean =>
      isDeepStrictEqual(since.get(webhookNumber), holds.get(webhookNumber));
    const found = read.filter(isSame).map((one) => ({ ...one, hold: holds.get(one.webhookNumber) ?? null }));
    const again = read.filter((one) => !isSame(one)).map(({ webhookNumber }) => webhookNumber);
    return [...found, ...(await positions(again))];
  };
  const target = targetReader(db, vault, currentReader(db));
  const waiting = listReader(db, WAITING, WAITING_ASKED, READS);
  const records = listReader(db, RECORDS, STRETCHES, RECORD_READS);
  return {
    dispatch: {
      ...shared,
      target,
      changed: leases.changed,
      positions,
      // Other instances append too.
      appended: () => null,
      ends: async (webhookNumbers) => {
        const rows = await db.all(ENDS, { webhookNumbers: JSON.stringify(webhookNumbers) });
        return new Map(rows.map((row) => [Number(row.webhook_number), Number(row.end)]));
      },
      waiting: (webhookNumber, from, most) =>
        durable(waiting({ webhookNumber, begin: from, most }), (rows) => rows[0]?.waits === 1).then((rows) =>
          rows.map(({ waits: _, ...row }) => readRow<WaitingRecord>(row)),
        ),
      waitingKeys: (...asked) =>
        durable(Promise.all([shared.waitingKeys(...asked), db.get(STANDBY, {})]), ([, row]) => row?.waits === 1).then(
          ([records]) => records,
        ),
      records: async (webhookNumber, first, last) =>
        (await records({ webhookNumber, first, last })) as unknown as LogRecord[],
      // What an expired instance held is given back by another one. The first instance after a pause of all corrects times.
      releaseAll: async (now) => {
        leases.begin();
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
        const { batches, hold } = settlement;
        if (hold === null || changesNothing(settlement))
          return settlements.settle({ ...settlement, ...ONLY_ATTEMPTS, batches: batches.map(withoutBatch) });
        const written = isPlain(settlement)
          ? write({ ...settlement, hold })
          : settlementStatements(db, settlement).then((statements) =>
              db.commit([guardStatement(hold), ...statements], undefined, true),
            );
        return underHold(hold, written);
      },
    },
  };
}

/** The rest of a settlement without a hold, or of one that has only attempts anyway. */
const ONLY_ATTEMPTS = { health: null, changes: [], audit: null, slow: [], parked: [], labelled: [], position: null };

function withoutBatch({ attempt }: SettledBatch): SettledBatch {
  return { batch: null, fate: null, attempt };
}

/** Whether it only records attempts, such as those of a batch whose hold is over. */
function changesNothing(settlement: Settlement): boolean {
  const { batches, slow, parked = [], labelled = [], position, health, changes } = settlement;
  const rows = slow.length + parked.length + labelled.length;
  const isFree = batches.every(({ batch, fate }) => batch === null || fate === null) && rows === 0;
  return isFree && position === null && health === null && changes.length === 0;
}

function currentReader(db: Database): (webhookNumber: number) => Promise<Row | undefined> {
  return batched<number, Row | undefined>(async (webhookNumbers) => {
    const rows = await db.all(CURRENT, WANTED.parameters(webhookNumbers.map((webhookNumber) => ({ webhookNumber }))));
    const byNumber = new Map(rows.map((row) => [Number(row.webhook_number), row]));
    return webhookNumbers.map((webhookNumber) => byNumber.get(webhookNumber));
  }, READS);
}

/**
 * Returns a function that reads the list of one input. The statement reads the lists of several and returns a row's place among `inputs`.
 */
function listReader<Input>(
  db: Database,
  sql: string,
  inputs: Rows<Input>,
  options: BatchedOptions,
): (input: Input) => Promise<Row[]> {
  return batched<Input, Row[]>(async (wanted) => {
    const lists: Row[][] = wanted.map(() => []);
    for (const { place, ...row } of await db.all(sql, inputs.parameters(wanted))) lists[Number(place) - 1]?.push(row);
    return lists;
  }, options);
}
