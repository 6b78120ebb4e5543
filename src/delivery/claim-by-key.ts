/**
 * Claims the next work of a webhook with order by key (`key-queues.ts`): due retries, the first rows of freed keys, then new records. It
 * reads first. Then it chooses without a pause, by the state of each key at that moment.
 */
import type { Batch, NextLook, Room } from '../domain/batch.ts';
import type { Webhook } from '../domain/webhook.ts';
import { type DispatchStore, type KeyedRecord, NEVER, type PendingBatch } from '../store/port/dispatch.ts';
import { cutByKey, type KeyCut, type KeyQueues, type KeyState, labelled, type Parked, unpark } from './key-queues.ts';
import {
  KEYS_AT_ONCE,
  LABELLED_AT_ONCE,
  PARKED_PER_WEBHOOK,
  POLL_MS,
  SLOW_ATTEMPT_MS,
  UNCLAIMABLE_PAUSE_MS,
  WAITING_READ_MAX,
} from './limits.ts';
import { LOOK_NOW, recordsOf, WHEN_SETTLED } from './scheduler.ts';
import type { WebhookLog } from './webhook-log.ts';

/**
 * `through`: the last record that is claimed or passed over; null if the log does not move. `parked`: batches that were passed over.
 */
export type ClaimedWork = {
  readonly batches: readonly Batch[];
  readonly next: NextLook;
  readonly through: number | null;
  readonly parked?: readonly Parked[];
};

type Reading = {
  readonly store: { readonly dispatch: DispatchStore };
  readonly newId: () => string;
};

/** The result of a claim's reads. */
type Found = {
  readonly due: readonly Batch[];
  /** Keys whose next work can be claimed: they were freed, or their rows were examined. */
  readonly keys: readonly string[];
  /** The first rows of keys. */
  readonly rows: ReadonlyMap<string, PendingBatch>;
  readonly isSwept: boolean;
  readonly records: readonly KeyedRecord[];
};

export async function selectByKey(
  { store, newId }: Reading,
  webhook: Webhook,
  log: WebhookLog,
  queues: KeyQueues,
  room: Room,
): Promise<ClaimedWork> {
  const { now } = room;
  const later: ClaimedWork = { batches: [], next: { kind: 'not before', at: now + POLL_MS }, through: null };
  if (queues.labels.length > 0 || (await label(store.dispatch, log, queues, newId))) return later;
  const rowsBefore = queues.rows;
  queues.released.clear();
  const { gaps } = log;
  const found = await read(store.dispatch, webhook, log, queues, room);
  // From here on nothing is awaited.
  if (log.queues !== queues) return later;
  // Records returned to the log during the read. They come before the records that were read.
  if (log.gaps !== gaps) {
    for (const key of found.keys) queues.freed.add(key);
    if (found.due.length > 0) log.dueAt = Math.min(log.dueAt, now);
    return { ...later, next: LOOK_NOW };
  }
  const chosen = createChoice(log, queues, room);
  for (const batch of found.due) chosen.due(batch);
  for (const key of found.keys) chosen.first(key, found.rows.get(key));
  if (found.isSwept) endSweep(queues, found, rowsBefore);
  const cut = cutFresh(webhook, log, queues, room, found, chosen);
  const batches = [...chosen.batches(), ...cut.batches];
  queues.isWaiting = cut.stopped === 'busy';
  const next = nextLook(log, queues, room, { batches, cut, found, waits: chosen.waits() });
  return { batches, next, through: cut.through, parked: cut.parked };
}

/** Reads the keys of rows that were not looked at, to be written. Returns whether there were any. */
async function label(
  dispatch: DispatchStore,
  { webhookNumber }: WebhookLog,
  queues: KeyQueues,
  newId: () => string,
): Promise<boolean> {
  if (!queues.isUnlabelled) return false;
  // Before the read: it may be set again in the meantime.
  queues.isUnlabelled = false;
  const rows = await dispatch.unlabelled(webhookNumber, LABELLED_AT_ONCE).catch((error: unknown) => {
    queues.isUnlabelled = true;
    throw error;
  });
  if (rows.length === 0) {
    queues.sweep = '';
    return false;
  }
  queues.isUnlabelled = true;
  const keys = await Promise.all(
    rows.map(({ batch }) => dispatch.waitingKeys(webhookNumber, batch.firstOffset, recordsOf({ batch }))),
  );
  queues.labels = rows.map((row, n) => labelled(row, keys[n]?.map(({ key }) => key) ?? [], newId));
  return true;
}

async function read(
  dispatch: DispatchStore,
  { maxBatchRecords }: Webhook,
  log: WebhookLog,
  queues: KeyQueues,
  room: Room,
): Promise<Found> {
  const { webhookNumber } = log;
  const isBehind = log.gaps.length > 0;
  const due = log.dueAt > room.now ? [] : await readDue(dispatch, log, room);
  const wanted = new Set<string>();
  // What lies before the rows goes first.
  if (!isBehind) {
    for (const key of queues.freed) {
      if (queues.busy.has(key)) queues.freed.delete(key);
      else if (wanted.size < KEYS_AT_ONCE) wanted.add(key);
    }
  }
  // Rows are left only where a time is due, or a batch is in progress: otherwise the last one has gone.
  const isQuiet = log.dueAt === NEVER && queues.parkedBatches === 0 && wanted.size === 0;
  if (queues.hasRows && isQuiet) queues.sweep ??= '';
  const isSwept = !isBehind && queues.sweep !== null;
  const swept = isSwept ? await dispatch.keysAfter(webhookNumber, queues.sweep ?? '', KEYS_AT_ONCE) : [];
  for (const key of swept) wanted.add(key);
  const records = await readRecords(dispatch, maxBatchRecords, log, queues, room);
  const keys = [...wanted];
  const asked = new Set(keys);
  for (const { key } of records) if (key !== null && !queues.busy.has(key)) asked.add(key);
  const rows = queues.hasRows ? await dispatch.firstOfKeys(webhookNumber, [...asked]) : [];
  // Last: keys whose rows could not be read are read again.
  if (isSwept) queues.sweep = swept.length < KEYS_AT_ONCE ? null : (swept.at(-1) ?? null);
  return { due, keys, rows: new Map(rows.map((row) => [row.batch.orderKey ?? '', row])), isSwept, records };
}

async function readDue(dispatch: DispatchStore, log: WebhookLog, { now, batches }: Room): Promise<readonly Batch[]> {
  // Before the read: an outcome that is written, or a change that is read, during it may make a batch due earlier.
  log.dueAt = NEVER;
  const held = [...log.held.values()].flatMap(({ batch, isStored }) => (isStored ? [batch.firstOffset] : []));
  const due = await dispatch.dueByKey(log.webhookNumber, now, batches, held);
  log.dueAt = Math.min(log.dueAt, due.batches.length < batches ? due.nextAt : now);
  return due.batches;
}

/** Claims new records, unless many already wait in memory for their keys. Looks farther ahead if keys have rows. */
async function readRecords(
  dispatch: DispatchStore,
  maxRecords: number,
  log: WebhookLog,
  queues: KeyQueues,
  room: Room,
): Promise<readonly KeyedRecord[]> {
  const [gap] = log.gaps;
  const from = gap?.first ?? log.next;
  const through = gap?.last ?? log.end - 1;
  if (from > through || room.records <= 0 || queues.parkedBatches > PARKED_PER_WEBHOOK / 2) return [];
  const ahead = queues.hasRows || queues.parkedBatches > 0 ? PARKED_PER_WEBHOOK : 0;
  const most = Math.min(Math.max(room.batches * maxRecords, ahead), WAITING_READ_MAX, through - from + 1);
  const records = await dispatch.waitingKeys(log.webhookNumber, from, most);
  const inside = records.filter(({ offset }) => offset <= through);
  // Never past a record that was not read. The next look asks for the end again, unless the log grew during the read.
  if (inside.length === 0 && gap === undefined && log.end === through + 1) log.end = log.next;
  return inside;
}

/** All rows were examined. If there were none, nothing asks for them until one is added. */
function endSweep(queues: KeyQueues, { rows }: Found, rowsBefore: number): void {
  if (queues.sweep === null && rows.size === 0 && queues.rows === rowsBefore) queues.hasRows = false;
}

type Choice = {
  due(batch: Batch): void;
  /** Claims the first waiting batch of the key, if the key is free. */
  first(key: string, row: PendingBatch | undefined): void;
  has(key: string): boolean;
  records(): number;
  /** Whether a due batch waits for its key or for records before it. */
  waits(): boolean;
  batches(): readonly Batch[];
};

function createChoice(log: WebhookLog, queues: KeyQueues, { now, batches: most, records: allowed }: Room): Choice {
  const batches: Batch[] = [];
  const keys = new Set<string>();
  let records = 0;
  let isWaiting = false;
  const isFull = (): boolean => batches.length >= most || records >= allowed;
  const isTaken = (key: string): boolean => keys.has(key) || queues.busy.has(key) || queues.released.has(key);
  const take = (batch: Batch): void => {
    batches.push(batch);
    if (batch.orderKey != null && batch.orderKey !== '') keys.add(batch.orderKey);
    records += recordsOf({ batch });
  };
  return {
    due: (batch) => {
      const { orderKey } = batch;
      const waits =
        orderKey == null || isTaken(orderKey) || (orderKey !== '' && (log.gaps[0]?.first ?? NEVER) < batch.firstOffset);
      if (!isFull() && !waits && !log.held.has(batch.firstOffset)) return take(batch);
      log.dueAt = Math.min(log.dueAt, now);
      isWaiting ||= waits;
    },
    first: (key, row) => {
      if (isFull()) return void queues.freed.add(key);
      if (queues.released.has(key)) return;
      queues.freed.delete(key);
      if (isTaken(key)) return;
      const parked = queues.parked.get(key)?.[0];
      if (parked !== undefined && (row === undefined || parked.firstOffset < row.batch.firstOffset)) {
        // Its row is being written. The key is freed again afterwards.
        if (log.writing.has(parked)) return;
        unpark(queues, parked);
        take(parked);
      } else if (row !== undefined && (row.dueAt === null || row.dueAt <= now)) {
        if (!log.held.has(row.batch.firstOffset)) take(row.batch);
      } else if (row?.dueAt != null) log.dueAt = Math.min(log.dueAt, row.dueAt);
    },
    has: (key) => keys.has(key),
    records: () => records,
    waits: () => isWaiting,
    batches: () => batches,
  };
}

function cutFresh(
  { maxBatchRecords: maxRecords }: Webhook,
  log: WebhookLog,
  queues: KeyQueues,
  room: Room,
  { records, rows }: Found,
  chosen: Choice,
): KeyCut {
  const { now } = room;
  const parkedState: KeyState = maxRecords > 1 ? 'blocked' : 'busy';
  const stateOf = (key: string, offset: number): KeyState => {
    const busyAt = queues.busy.get(key);
    if (busyAt !== undefined) return isLong(log.held.get(busyAt)?.at, now) ? 'blocked' : 'busy';
    const row = rows.get(key);
    if (row !== undefined && row.batch.firstOffset < offset) return 'blocked';
    if ((queues.parked.get(key)?.[0]?.firstOffset ?? NEVER) < offset) return parkedState;
    return queues.released.has(key) || chosen.has(key) ? 'busy' : 'free';
  };
  return cutByKey(records, stateOf, {
    webhookNumber: log.webhookNumber,
    maxRecords,
    maxBatches: room.batches - chosen.batches().length,
    recordsAllowed: room.records - chosen.records(),
    maxParked: PARKED_PER_WEBHOOK - queues.parkedBatches,
  });
}

/** Whether a batch has been in progress for so long that others do not wait for it. */
function isLong(at: number | undefined, now: number): boolean {
  return at !== undefined && at <= now - SLOW_ATTEMPT_MS;
}

type Selected = {
  readonly batches: readonly Batch[];
  readonly cut: KeyCut;
  readonly found: Found;
  readonly waits: boolean;
};

function nextLook(log: WebhookLog, queues: KeyQueues, room: Room, { batches, cut, found, waits }: Selected): NextLook {
  const { now } = room;
  if (batches.length >= room.batches) return WHEN_SETTLED;
  if (queues.released.size > 0) return LOOK_NOW;
  const isAtEnd = log.gaps.length === 0 && log.next >= log.end;
  if (found.records.length === 0 && !isAtEnd && queues.parkedBatches <= PARKED_PER_WEBHOOK / 2)
    return room.records > 0 ? { kind: 'not before', at: now + UNCLAIMABLE_PAUSE_MS } : LOOK_NOW;
  // The next outcome, or row, is always followed by a look.
  const isWaiting = cut.stopped === 'busy' || cut.stopped === 'parked' || queues.parkedBatches > PARKED_PER_WEBHOOK / 2;
  if (isWaiting) return { kind: 'not before', at: now + SLOW_ATTEMPT_MS };
  return waits ? { kind: 'not before', at: now + POLL_MS } : LOOK_NOW;
}
