/**
 * Instances (`instance`, `duty`) and the webhooks that they hold (`webhook_progress.holder`, `epoch`). One instance sends for a webhook at
 * a time. Whatever it writes about the webhook names its number and the epoch, so one that was paused and replaced changes nothing.
 */
import type { Database, Row, Statement } from '../port/database.ts';
import { ConstraintViolation, StaleWrite } from '../port/errors.ts';
import type { Instance, InstanceStore } from '../port/instances.ts';
import { readRow } from '../shared/table.ts';
import { IS_RUNNABLE, wokenBy } from '../shared/wake.ts';
import { databaseStatus } from './status.ts';

/** A due webhook that nobody holds is left to instances that hold fewer for this long. */
const TAKEN_LATE_MS = 1000;

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
const RELEASE_BATCHES = `
  UPDATE batch SET lease_owner = NULL, next_attempt_at = least(next_attempt_at, ${NOW})
  WHERE lease_owner IS NOT NULL AND webhook_number IN (SELECT webhook_number FROM webhook_progress WHERE holder = @number)`;
const RELEASE_WEBHOOKS = `
  UPDATE webhook_progress
  SET holder = NULL, wake_at = CASE WHEN ${IS_RUNNABLE} THEN ${wokenBy(NOW)} END
  WHERE holder = @number`;
const DELETE = 'DELETE FROM instance WHERE number = @number';
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

// Index: webhook_wake_at. Skips due webhooks of other instances, which their holders take out of the index soon.
const MINE_OR_FREE = 'FROM webhook_wake AS w JOIN webhook_progress AS p ON p.webhook_number = w.webhook_number';
const DUE = `
  SELECT w.webhook_number, w.wake_at, p.holder, p.epoch ${MINE_OR_FREE}
  WHERE w.wake_at <= @now AND (p.holder = @number OR p.holder IS NULL) ORDER BY w.wake_at LIMIT @limit`;
const NEXT_WAKE = `
  SELECT w.wake_at ${MINE_OR_FREE} WHERE p.holder = @number OR p.holder IS NULL ORDER BY w.wake_at LIMIT 1`;
const TAKE = `
  UPDATE webhook_progress SET holder = @number, epoch = epoch + 1
  WHERE holder IS NULL AND webhook_number IN (SELECT wanted.value FROM numbers(@wanted) AS wanted)
  RETURNING webhook_number, epoch`;
// No work on them is in progress, so a batch that is still leased belongs to a claim that was not answered.
const IS_GIVEN = 'holder = @number AND webhook_number IN (SELECT given.value FROM numbers(@given) AS given)';
const WAKE_GIVEN = `
  UPDATE webhook_progress SET wake_at = CASE WHEN ${IS_RUNNABLE} THEN ${wokenBy(NOW)} END
  WHERE ${IS_GIVEN} AND EXISTS (
    SELECT 1 FROM batch AS b WHERE b.webhook_number = webhook_progress.webhook_number AND b.lease_owner IS NOT NULL)`;
const RELEASE_GIVEN = `
  UPDATE batch SET lease_owner = NULL, next_attempt_at = least(next_attempt_at, ${NOW})
  WHERE lease_owner IS NOT NULL AND webhook_number IN (SELECT webhook_number FROM webhook_progress WHERE ${IS_GIVEN})`;
const GIVE_BACK = `
  UPDATE webhook_progress SET holder = NULL WHERE ${IS_GIVEN}`;
const GIVE_ALL_BACK = 'UPDATE webhook_progress SET holder = NULL WHERE holder = @number';
const EPOCH = 'SELECT epoch FROM webhook_progress WHERE webhook_number = @webhookNumber AND holder = @number';
// It locks the row, so no other instance takes the webhook before this transaction ends.
const GUARD = `
  SELECT 1 FROM webhook_progress WHERE webhook_number = @webhookNumber AND holder = @instance AND epoch = @epoch FOR NO KEY UPDATE`;

/** What this process holds. */
export type Leases = {
  readonly instances: InstanceStore;
  /** Whether no other instance is alive. */
  isAlone(): Promise<boolean>;
  /** The due webhooks that this instance holds, and due webhooks without a holder, which this call takes. */
  dueWebhooks(now: number, limit: number): Promise<number[]>;
  nextWakeAt(): Promise<number | null>;
  /** The hold that every write about the webhook's deliveries names, or null if this instance does not hold the webhook. */
  hold(webhookNumber: number): Promise<Hold | null>;
  /** A write was refused: the webhook may be held by another instance. The next `hold` reads who holds it. */
  forget(webhookNumber: number): void;
};

/** An instance holds a webhook in an epoch. */
export type Hold = { readonly webhookNumber: number; readonly instance: number; readonly epoch: number };

/** Refuses a transaction if the hold is over, and otherwise keeps it until the transaction ends. */
export function guardStatement({ webhookNumber, instance, epoch }: Hold): Statement {
  return { sql: GUARD, params: { webhookNumber, instance, epoch }, expectChanges: 1 };
}

export function createLeases(db: Database): Leases {
  let number: number | null = null;
  let most = Number.POSITIVE_INFINITY;
  /** The epoch of each webhook that this instance holds. */
  const epochs = new Map<number, number>();
  const joined = (): number => {
    if (number === null) throw new Error('this process has not joined the instances');
    return number;
  };

  const take = async (free: readonly Row[]): Promise<readonly Row[]> => {
    if (free.length === 0) return [];
    const wanted = JSON.stringify(free.map((row) => Number(row.webhook_number)));
    try {
      const [result] = await db.commit([{ sql: TAKE, params: { number: joined(), wanted } }]);
      for (const row of result?.rows ?? []) epochs.set(Number(row.webhook_number), Number(row.epoch));
      return result?.rows ?? [];
    } catch (error) {
      // Its own row is gone: the next renewal finds out.
      if (error instanceof ConstraintViolation) return [];
      throw error;
    }
  };

  const instances: InstanceStore = {
    join: async ({ name, version, address }, leaseMs) => {
      epochs.clear();
      const [result] = await db.commit([{ sql: JOIN, params: { name, version, address, leaseMs } }]);
      number = Number(result?.rows[0]?.number);
    },
    renew: async (leaseMs) => {
      const params = { number: joined(), leaseMs, webhooks: epochs.size };
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
        await db.commit([
          { sql: LOCK_EXPIRED, params, expectChanges: 1 },
          ...[RELEASE_BATCHES, RELEASE_WEBHOOKS, DELETE].map((sql) => ({ sql, params })),
        ]);
        return true;
      } catch (error) {
        if (error instanceof StaleWrite) return false;
        throw error;
      }
    },
    leave: async () => {
      if (number === null) return;
      const params = { number };
      await db.commit([RELEASE_BATCHES, GIVE_ALL_BACK, DELETE].map((sql) => ({ sql, params })));
      epochs.clear();
      number = null;
    },
    takeDuty: async (name) => {
      const params = { name, number: joined() };
      await db.commit([{ sql: TAKE_DUTY, params }]);
      return (await db.get(HAS_DUTY, params)) !== undefined;
    },
    held: () => epochs.size,
    limitTo: (webhooks) => {
      most = webhooks;
    },
    holding: (limit) => [...epochs.keys()].slice(0, limit),
    giveBack: async (webhookNumbers) => {
      for (const webhookNumber of webhookNumbers) epochs.delete(webhookNumber);
      const params = { number: joined(), given: JSON.stringify(webhookNumbers) };
      await db.commit([WAKE_GIVEN, RELEASE_GIVEN, GIVE_BACK].map((sql) => ({ sql, params })));
    },
    database: () => databaseStatus(db),
    list: async () =>
      (await db.all(LIST, {})).map((row) =>
        readRow<Instance>(row, {
          alive: { read: (value) => value === 1 },
          duties: { read: (value) => JSON.parse(String(value)) as readonly string[] },
        }),
      ),
  };

  return {
    instances,
    isAlone: async () => (await db.get(OTHER, { number: joined() })) === undefined,
    dueWebhooks: async (now, limit) => {
      if (number === null) return [];
      const rows = await db.all(DUE, { now, number, limit });
      const due = rows.filter(({ holder }) => holder !== null);
      // Also a webhook that it took without hearing so, because the connection broke.
      for (const row of due) epochs.set(Number(row.webhook_number), Number(row.epoch));
      // Any instance takes a webhook that nobody has taken for a while.
      const free = rows
        .filter(({ holder }) => holder === null)
        .filter(({ wake_at }, at) => epochs.size + at < most || now - Number(wake_at) > TAKEN_LATE_MS);
      return [...due, ...(await take(free))].map((row) => Number(row.webhook_number));
    },
    nextWakeAt: async () => {
      if (number === null) return null;
      const row = await db.get(NEXT_WAKE, { number });
      return row === undefined ? null : Number(row.wake_at);
    },
    hold: async (webhookNumber) => {
      if (number === null) return null;
      if (!epochs.has(webhookNumber)) {
        const row = await db.get(EPOCH, { webhookNumber, number });
        if (row === undefined) return null;
        epochs.set(webhookNumber, Number(row.epoch));
      }
      return { webhookNumber, instance: number, epoch: epochs.get(webhookNumber) ?? 0 };
    },
    forget: (webhookNumber) => void epochs.delete(webhookNumber),
  };
}
