/**
 * Instances (`instance`, `duty`) and the webhooks that they hold (`webhook_hold`). One instance sends for a webhook at a time. Whatever it
 * writes about the webhook names its number, the epoch and the timeline of the database. So one that was paused and replaced, or that read
 * from a server that was lost, changes nothing.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Hold } from '../../domain/batch.ts';
import type { Database, Row, Statement } from '../port/database.ts';
import { ConstraintViolation, StaleWrite } from '../port/errors.ts';
import type { Instance, InstanceStore } from '../port/instances.ts';
import { IS_RUNNABLE } from '../shared/changes.ts';
import type { LockLog } from '../shared/delivery/stretches.ts';
import { readRow } from '../shared/table.ts';
import { databaseStatus } from './status.ts';

/** A webhook that nobody holds is left to instances that hold fewer for this long. */
const TAKEN_LATE_MS = 1000;

/** How often webhooks that nobody holds are looked for, and how many are taken, and changes read, at a time. */
const FREE_EVERY_MS = 250;
const TAKEN_AT_ONCE = 1000;

/** The clock of the database, in epoch milliseconds. It also runs within a transaction. */
const NOW = 'CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)';

const JOIN = `
  INSERT INTO instance (name, version, address, started_at, seen_at, expires_at)
  VALUES (@name, @version, @address, ${NOW}, ${NOW}, ${NOW} + @leaseMs) RETURNING number`;
const RENEW = `
  UPDATE instance SET seen_at = ${NOW}, expires_at = ${NOW} + @leaseMs, webhooks = @webhooks WHERE number = @number
  RETURNING
    (SELECT count(*) FROM instance AS o WHERE o.number <> @number AND o.expires_at > ${NOW}) AS others,
    (SELECT coalesce(sum(o.webhooks), 0) FROM instance AS o WHERE o.number <> @number AND o.expires_at > ${NOW}) AS webhooks,
    (SELECT coalesce(json_agg(o.number), '[]') FROM instance AS o WHERE o.number <> @number AND o.expires_at <= ${NOW}) AS expired`;
// Its renewal waits for this lock, and then finds no row. If its renewal comes first, this finds none.
const LOCK_EXPIRED = `SELECT number FROM instance WHERE number = @number AND expires_at <= ${NOW} FOR UPDATE`;
// A settlement in progress may make a row of a slow attempt, which `RELEASE_BATCHES` would not see.
const LOCK_HOLDS = 'SELECT 1 FROM webhook_hold WHERE holder = @number ORDER BY webhook_number FOR UPDATE';
const RELEASE_BATCHES = `
  UPDATE batch SET lease_owner = NULL, next_attempt_at = least(next_attempt_at, ${NOW})
  WHERE lease_owner IS NOT NULL AND webhook_number IN (SELECT webhook_number FROM webhook_hold WHERE holder = @number)`;
const RELEASE_WEBHOOKS = 'UPDATE webhook_hold SET holder = NULL WHERE holder = @number';
const DELETE = 'DELETE FROM instance WHERE number = @number';
/** Frees everything that an expired instance held. */
const RELEASE = [LOCK_HOLDS, RELEASE_BATCHES, RELEASE_WEBHOOKS, DELETE];
// The row of another holder keeps the duty while that instance lives.
const TAKE_DUTY = `
  INSERT INTO duty (name, holder, taken_at) VALUES (@name, @number, ${NOW})
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, taken_at = excluded.taken_at
  WHERE duty.holder <> @number AND NOT EXISTS (SELECT 1 FROM instance AS i WHERE i.number = duty.holder AND i.expires_at > ${NOW})`;
const HAS_DUTY = 'SELECT 1 FROM duty WHERE name = @name AND holder = @number';
const OTHER = `SELECT 1 FROM instance WHERE number <> @number AND expires_at > ${NOW} LIMIT 1`;
const LIST = `
  SELECT i.number, i.name, i.version, i.address, i.webhooks, i.started_at, i.seen_at, i.expires_at, i.expires_at > ${NOW} AS alive,
    (SELECT coalesce(json_agg(d.name ORDER BY d.name), '[]') FROM duty AS d WHERE d.holder = i.number) AS duties
  FROM instance AS i ORDER BY i.number`;

// There are thousands of webhooks at most.
const FREE = `
  SELECT p.webhook_number FROM webhook_progress AS p LEFT JOIN webhook_hold AS h ON h.webhook_number = p.webhook_number
  WHERE h.holder IS NULL AND ${IS_RUNNABLE} ORDER BY p.webhook_number LIMIT ${TAKEN_AT_ONCE}`;
const CHANGES = `
  SELECT c.number, c.webhook_number, h.holder, coalesce(${IS_RUNNABLE}, false) AS runnable
  FROM webhook_change AS c LEFT JOIN webhook_progress AS p ON p.webhook_number = c.webhook_number
    LEFT JOIN webhook_hold AS h ON h.webhook_number = c.webhook_number
  WHERE h.holder IS NULL OR h.holder = @number ORDER BY c.number LIMIT ${TAKEN_AT_ONCE}`;
const FORGET_CHANGES = 'DELETE FROM webhook_change WHERE number IN (SELECT seen.value FROM numbers(@seen) AS seen)';
const TAKE = `
  INSERT INTO webhook_hold (webhook_number, holder, epoch)
  SELECT webhook_number, @number, 1 FROM webhook_progress
  WHERE webhook_number IN (SELECT wanted.value FROM numbers(@wanted) AS wanted) ORDER BY webhook_number
  ON CONFLICT (webhook_number) DO UPDATE SET holder = excluded.holder, epoch = webhook_hold.epoch + 1 WHERE webhook_hold.holder IS NULL
  RETURNING webhook_number, epoch`;
const HELD = 'SELECT webhook_number, epoch FROM webhook_hold WHERE holder = @number';
// No work on them is in progress, so a batch that still names an attempt belongs to one whose settlement was given up.
const IS_GIVEN = 'holder = @number AND webhook_number IN (SELECT given.value FROM numbers(@given) AS given)';
const RELEASE_GIVEN = `
  UPDATE batch SET lease_owner = NULL, next_attempt_at = least(next_attempt_at, ${NOW})
  WHERE lease_owner IS NOT NULL AND webhook_number IN (SELECT webhook_number FROM webhook_hold WHERE ${IS_GIVEN})`;
const GIVE_BACK = `UPDATE webhook_hold SET holder = NULL WHERE ${IS_GIVEN}`;
/**
 * The timeline of the write-ahead log. A transaction that waits for a synchronous standby becomes visible if the wait is ended or the
 * primary crashes, and is missing on the standby that takes its place. Aurora refuses these functions, and loses no visible transaction.
 */
export const TIMELINE = `
  CASE WHEN to_regproc('aurora_version') IS NULL THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) ELSE '' END`;
const HOLDS = `
  SELECT webhook_number, epoch, ${TIMELINE} AS timeline FROM webhook_hold
  WHERE holder = @number AND webhook_number IN (SELECT asked.value FROM numbers(@asked) AS asked)`;
// The lock keeps other instances from taking the webhook before this transaction ends. It makes no version of the row.
const GUARD = `
  SELECT 1 FROM webhook_hold
  WHERE webhook_number = @webhookNumber AND holder = @instance AND epoch = @epoch AND ${TIMELINE} = @timeline FOR SHARE`;
const LOCK_LOG = 'SELECT 1 FROM webhook_hold WHERE webhook_number = @webhookNumber FOR UPDATE';

/** The webhooks that this process holds. */
export type Leases = {
  readonly instances: InstanceStore;
  /** Whether no other instance is alive. */
  isAlone(): Promise<boolean>;
  /** Webhooks that this instance has just taken, because nobody held them, and webhooks that it holds and that have changed. */
  changed(): Promise<readonly number[]>;
  /** The next `changed` returns every webhook that this instance holds. */
  begin(): void;
  /** The holds of those of the webhooks that this instance holds, by number. Every write about their deliveries names its hold. */
  holdsOf(webhookNumbers: readonly number[]): Promise<ReadonlyMap<number, Hold>>;
  /** Whether the hold is over. Then `changed` returns the webhook: this instance may hold it again, or no longer. */
  isOver(hold: Hold): Promise<boolean>;
};

/** Refuses a transaction if the hold is over, and otherwise keeps it until the transaction ends. */
export function guardStatement({ webhookNumber, instance, epoch, timeline }: Hold): Statement {
  return { sql: GUARD, params: { webhookNumber, instance, epoch, timeline }, expectChanges: 1 };
}

/**
 * Settlements lock the hold first too, and share it. So they and this transaction wait for each other, and never for each other's rows. A
 * webhook that was never held has no batches.
 */
export const lockLog: LockLog = (webhookNumber) => [{ sql: LOCK_LOG, params: { webhookNumber } }];

/** The state of the webhooks that this process holds. */
type Held = {
  /** Its number among the instances; null before it joins and after it leaves. */
  number: number | null;
  /** How many webhooks it may hold. */
  most: number;
  /** The epoch of each webhook that this instance holds. */
  readonly epochs: Map<number, number>;
  /** The webhooks that `changed` has not returned yet. */
  readonly unreported: Set<number>;
  /** Webhooks may have been taken by a commit that was not answered. */
  isUnsure: boolean;
  /** When the webhooks that nobody holds were last read. */
  freeReadAt: number;
};

/** `stopwatch` has the milliseconds of a clock that only grows. */
export function createLeases(db: Database, stopwatch: () => number = () => performance.now()): Leases {
  const held: Held = {
    number: null,
    most: Number.POSITIVE_INFINITY,
    epochs: new Map(),
    unreported: new Set(),
    isUnsure: false,
    freeReadAt: Number.NEGATIVE_INFINITY,
  };
  const { epochs, unreported } = held;
  const { takeChanged, takeFree } = createTaking(db, held, stopwatch);
  return {
    instances: instanceStore(db, held),
    isAlone: async () => (await db.get(OTHER, { number: joined(held) })) === undefined,
    changed: async () => {
      const { number } = held;
      if (number === null) return [];
      if (held.isUnsure) {
        noteHeld(held, await db.all(HELD, { number }));
        held.isUnsure = false;
      }
      // Together, so that both reads share a round trip.
      await Promise.all([takeChanged(), takeFree()]);
      const found = [...unreported];
      unreported.clear();
      return found;
    },
    begin: () => {
      for (const webhookNumber of epochs.keys()) unreported.add(webhookNumber);
    },
    holdsOf: (webhookNumbers) => readHolds(db, held, webhookNumbers),
    isOver: async (hold) => {
      const { webhookNumber } = hold;
      const current = (await readHolds(db, held, [webhookNumber])).get(webhookNumber);
      const isOver = !isDeepStrictEqual(current, hold);
      if (isOver) unreported.add(webhookNumber);
      return isOver;
    },
  };
}

function joined({ number }: Held): number {
  if (number === null) throw new Error('this process has not joined the instances');
  return number;
}

function noteHeld({ epochs, unreported }: Held, rows: readonly Row[]): void {
  for (const row of rows) {
    const webhookNumber = Number(row.webhook_number);
    const epoch = Number(row.epoch);
    if (epochs.get(webhookNumber) !== epoch) unreported.add(webhookNumber);
    epochs.set(webhookNumber, epoch);
  }
}

async function readHolds(
  db: Database,
  { number: instance, epochs }: Held,
  webhookNumbers: readonly number[],
): Promise<ReadonlyMap<number, Hold>> {
  if (instance === null || webhookNumbers.length === 0) return new Map();
  const rows = await db.all(HOLDS, { number: instance, asked: JSON.stringify(webhookNumbers) });
  const holds = rows.map((row): [number, Hold] => {
    const webhookNumber = Number(row.webhook_number);
    return [webhookNumber, { webhookNumber, instance, epoch: Number(row.epoch), timeline: String(row.timeline) }];
  });
  const found = new Map(holds);
  for (const webhookNumber of webhookNumbers) {
    const hold = found.get(webhookNumber);
    if (hold === undefined) epochs.delete(webhookNumber);
    else epochs.set(webhookNumber, hold.epoch);
  }
  return found;
}

type Taking = {
  /** Takes webhooks that changed, and notes the ones that this instance holds. */
  takeChanged(): Promise<void>;
  /** Takes webhooks that nobody holds; at most once every `FREE_EVERY_MS`. */
  takeFree(): Promise<void>;
};

function createTaking(db: Database, held: Held, stopwatch: () => number): Taking {
  const { epochs, unreported } = held;
  /** Since when webhooks that nobody holds are known. */
  let free = new Map<number, number>();

  const take = async (wanted: readonly number[]): Promise<void> => {
    if (wanted.length === 0) return;
    try {
      const params = { number: joined(held), wanted: JSON.stringify(wanted) };
      const [result] = await db.commit([{ sql: TAKE, params }]);
      noteHeld(held, result?.rows ?? []);
    } catch (error) {
      // Its own row is gone: the next renewal finds out.
      if (error instanceof ConstraintViolation) return;
      held.isUnsure = true;
      throw error;
    }
  };

  /** Any instance takes a webhook that nobody has taken for a while. */
  const mayTake = (webhookNumber: number, at: number, already: number): boolean =>
    epochs.size + already < held.most || at - (free.get(webhookNumber) ?? at) > TAKEN_LATE_MS;

  return {
    takeFree: async () => {
      const at = stopwatch();
      if (at - held.freeReadAt < FREE_EVERY_MS) return;
      held.freeReadAt = at;
      const found = (await db.all(FREE, {})).map((row) => Number(row.webhook_number));
      free = new Map(found.map((webhookNumber) => [webhookNumber, free.get(webhookNumber) ?? at]));
      await take(found.filter((webhookNumber, already) => mayTake(webhookNumber, at, already)));
    },
    takeChanged: async () => {
      const rows = await db.all(CHANGES, { number: joined(held) });
      if (rows.length === 0) return;
      const at = stopwatch();
      const unheld = rows.filter(({ holder, runnable }) => holder === null && runnable === 1);
      const wanted = new Set(unheld.map((row) => Number(row.webhook_number)));
      await take([...wanted].filter((webhookNumber, already) => mayTake(webhookNumber, at, already)));
      // A change of a webhook that another instance is to take is left to that instance.
      const isHere = (row: Row): boolean => row.holder === held.number || epochs.has(Number(row.webhook_number));
      const seen = rows.filter((row) => isHere(row) || row.runnable !== 1);
      // Before the rows are deleted: that commit may not be answered.
      for (const row of seen) if (isHere(row)) unreported.add(Number(row.webhook_number));
      const numbers = JSON.stringify(seen.map((row) => Number(row.number)));
      await db.commit([{ sql: FORGET_CHANGES, params: { seen: numbers } }]);
    },
  };
}

function instanceStore(db: Database, held: Held): InstanceStore {
  const { epochs, unreported } = held;
  return {
    join: async ({ name, version, address }, leaseMs) => {
      epochs.clear();
      const [result] = await db.commit([{ sql: JOIN, params: { name, version, address, leaseMs } }]);
      held.number = Number(result?.rows[0]?.number);
    },
    renew: async (leaseMs) => {
      const params = { number: joined(held), leaseMs, webhooks: epochs.size };
      const [result] = await db.commit([{ sql: RENEW, params }]);
      const row = result?.rows[0];
      if (row === undefined) {
        epochs.clear();
        return null;
      }
      return {
        alive: Number(row.others) + 1,
        webhooks: Number(row.webhooks) + epochs.size,
        expired: JSON.parse(String(row.expired)) as readonly number[],
      };
    },
    expire: async (instance) => {
      const params = { number: instance };
      try {
        await db.commit([{ sql: LOCK_EXPIRED, params, expectChanges: 1 }, ...RELEASE.map((sql) => ({ sql, params }))]);
        held.freeReadAt = Number.NEGATIVE_INFINITY;
        return true;
      } catch (error) {
        if (error instanceof StaleWrite) return false;
        throw error;
      }
    },
    leave: async () => {
      const { number } = held;
      if (number === null) return;
      await db.commit(RELEASE.map((sql) => ({ sql, params: { number } })));
      epochs.clear();
      held.number = null;
    },
    takeDuty: async (name) => {
      const params = { name, number: joined(held) };
      await db.commit([{ sql: TAKE_DUTY, params }]);
      return (await db.get(HAS_DUTY, params)) !== undefined;
    },
    held: () => epochs.size,
    limitTo: (webhooks) => {
      held.most = webhooks;
    },
    holding: (limit) => [...epochs.keys()].slice(0, limit),
    giveBack: async (webhookNumbers) => {
      for (const webhookNumber of webhookNumbers) epochs.delete(webhookNumber);
      const params = { number: joined(held), given: JSON.stringify(webhookNumbers) };
      try {
        await db.commit([RELEASE_GIVEN, GIVE_BACK].map((sql) => ({ sql, params })));
      } catch (error) {
        // Whether it still holds them is read again.
        for (const webhookNumber of webhookNumbers) unreported.add(webhookNumber);
        throw error;
      }
    },
    database: () => databaseStatus(db),
    list: async () => (await db.all(LIST, {})).map(readInstance),
  };
}

function readInstance(row: Row): Instance {
  return readRow<Instance>(row, {
    alive: { read: (value) => value === 1 },
    duties: { read: (value) => JSON.parse(String(value)) as readonly string[] },
  });
}
