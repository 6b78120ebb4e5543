/**
 * Order by key (`ordered: "key"`): what the process that sends for a webhook remembers of its keys, and how records are cut into batches so
 * that no two claimed batches have a key in common. No I/O.
 *
 * A record whose key is busy or has failed is passed over: it is parked. After a while a parked batch gets a pending row without a due
 * time, so that neither memory nor the position of the webhook waits for its key. When the batches before it have ended, its key is freed,
 * and the first row of the key is claimed.
 */
import type { Batch, BatchFate, Finished, Labelled, Run, SettledBatch } from '../domain/batch.ts';
import { isPending } from '../domain/judge.ts';
import { BATCH_BYTES } from '../domain/limits.ts';
import { batchId } from '../kernel/ids.ts';
import type { KeyedRecord, PendingBatch } from '../store/port/dispatch.ts';

export type KeyQueues = {
  /** The keys of claimed batches, each with the first offset of its batch. */
  readonly busy: Map<string, number>;
  /** Batches that were passed over and have no row yet, by key and in order. */
  readonly parked: Map<string, Batch[]>;
  parkedBatches: number;
  /** Those of them whose keys wait for a row: they get rows immediately. */
  readonly blocked: Set<Batch>;
  /** Keys whose first waiting batch may be claimed. */
  readonly freed: Set<string>;
  /** Rows are examined from the key after this one on; null: all were. */
  sweep: string | null;
  /** Whether rows may be there that were not looked at for their keys, and such rows that are to be written. */
  isUnlabelled: boolean;
  labels: readonly Labelled[];
  isLabelling: boolean;
  /** New records wait for the end of a batch. */
  isWaiting: boolean;
  /** Whether keys may have rows. `rows` grows with each that is added. */
  hasRows: boolean;
  rows: number;
  /** Keys that ceased to be busy during the claim in progress: what it read of them may be out of date. */
  readonly released: Set<string>;
};

export function createKeyQueues(): KeyQueues {
  return {
    busy: new Map(),
    parked: new Map(),
    parkedBatches: 0,
    blocked: new Set(),
    freed: new Set(),
    sweep: null,
    isUnlabelled: true,
    labels: [],
    isLabelling: false,
    isWaiting: false,
    hasRows: true,
    rows: 0,
    released: new Set(),
  };
}

/** Something outside the dispatcher changed the webhook: all its rows are examined again. */
export function examineAgain(queues: KeyQueues): void {
  Object.assign(queues, { isUnlabelled: true });
  rowsAdded(queues);
  for (const key of queues.parked.keys()) queues.freed.add(key);
}

export function rowsAdded(queues: KeyQueues): void {
  queues.hasRows = true;
  queues.rows += 1;
}

/** The keys of a batch, each once. */
function keysOf({ keys, orderKey }: Batch): readonly string[] {
  if (keys === undefined) return orderKey == null || orderKey === '' ? [] : [orderKey];
  return [...new Set(keys.filter((key) => key !== null))];
}

export function occupy({ busy }: KeyQueues, batches: readonly Batch[]): void {
  for (const batch of batches) for (const key of keysOf(batch)) busy.set(key, batch.firstOffset);
}

export function park(queues: KeyQueues, { batch, isBlocked }: Parked): void {
  const orderKey = batch.orderKey ?? '';
  const waiting = queues.parked.get(orderKey) ?? [];
  queues.parked.set(orderKey, waiting);
  // Records that returned to the log may come before others of their key.
  const later = waiting.findIndex(({ firstOffset }) => firstOffset > batch.firstOffset);
  waiting.splice(later === -1 ? waiting.length : later, 0, batch);
  queues.parkedBatches += 1;
  if (isBlocked) queues.blocked.add(batch);
}

/** The batch has a row now, or is claimed. */
export function unpark(queues: KeyQueues, batch: Batch): void {
  const orderKey = batch.orderKey ?? '';
  const waiting = queues.parked.get(orderKey) ?? [];
  const at = waiting.indexOf(batch);
  if (at === -1) return;
  waiting.splice(at, 1);
  if (waiting.length === 0) queues.parked.delete(orderKey);
  queues.parkedBatches -= 1;
  queues.blocked.delete(batch);
}

/** The batch is no longer in progress. `isOver`: nothing of it is left to be sent. */
function release(queues: KeyQueues, batch: Batch, isOver: boolean): void {
  for (const key of keysOf(batch)) {
    if (queues.busy.get(key) === batch.firstOffset) queues.busy.delete(key);
    queues.released.add(key);
    if (isOver && (queues.hasRows || queues.parked.has(key))) queues.freed.add(key);
  }
}

/** Outcomes are written: batches that waited for completely finished ones may be sent. `settled` has an entry for each outcome. */
export function endInQueues(queues: KeyQueues, finished: readonly Finished[], settled: readonly SettledBatch[]): void {
  for (const [at, { job, result }] of finished.entries()) {
    if (job.batch === null) continue;
    const { fate = null, runs } = settled[at] ?? {};
    const isOver = runs === undefined && !isPending(fate);
    if (!isOver) {
      rowsAdded(queues);
      // The batches that wait for it in memory now have to wait for long.
      for (const key of keysOf(job.batch))
        for (const parked of queues.parked.get(key) ?? []) queues.blocked.add(parked);
    }
    // Another process may have left rows of its keys, or this one by a commit that was not answered.
    if (result.kind === 'lost') examineAgain(queues);
    release(queues, job.batch, result.kind === 'lost' || (fate !== null && isOver));
  }
}

/** Whether something waits for the end of the batch, so that its outcome is written immediately. */
export function isAwaited(queues: KeyQueues, batch: Batch): boolean {
  return queues.isWaiting || batch.isStored || keysOf(batch).some((key) => queues.parked.has(key));
}

/** Whether anything waits that does not depend on the log. */
export function hasQueueWork({ isUnlabelled, sweep, freed, labels }: KeyQueues): boolean {
  return labels.length === 0 && (isUnlabelled || sweep !== null || freed.size > 0);
}

/** `isBlocked`: the key waits for a row, however long that takes. */
export type Parked = { readonly batch: Batch; readonly isBlocked: boolean };

/** Whether a record at an offset of the key may go now: not while the key is `busy` for a short time, or `blocked`. */
export type KeyState = 'free' | 'busy' | 'blocked';

type Bounds = {
  readonly webhookNumber: number;
  readonly maxRecords: number;
  readonly maxBatches: number;
  readonly recordsAllowed: number;
  /** Batches that may be parked. */
  readonly maxParked: number;
};

export type KeyCut = {
  readonly batches: readonly Batch[];
  readonly parked: readonly Parked[];
  /** The last record that is in one of them. */
  readonly through: number | null;
  /** Why it ended before the end of the records. */
  readonly stopped: 'room' | 'busy' | 'parked' | null;
};

type Growing = { first: number; last: number; bytes: number; createdAt: number; keys: (string | null)[] };

/**
 * Cuts records into batches without a common key. With several records a batch, the first record of a busy key ends the cut: passing it
 * over would leave ever smaller batches, because the records of a batch are consecutive. With one record a batch it is passed over.
 */
export function cutByKey(
  records: readonly KeyedRecord[],
  stateOf: (key: string, offset: number) => KeyState,
  bounds: Bounds,
): KeyCut {
  const { webhookNumber } = bounds;
  const cut = createCut(stateOf, bounds);
  let through: number | null = null;
  let stopped: KeyCut['stopped'] = null;
  for (const record of records) {
    stopped = cut.add(record);
    if (stopped !== null) break;
    through = record.offset;
  }
  return {
    batches: cut.batches.map((batch) => batchOf(webhookNumber, batch)),
    parked: cut.parked.map(({ run, isBlocked }) => ({ batch: batchOf(webhookNumber, run), isBlocked })),
    through,
    stopped,
  };
}

type Cut = {
  readonly batches: readonly Growing[];
  readonly parked: readonly { readonly run: Growing; readonly isBlocked: boolean }[];
  /** Adds the next record to a batch, or parks it. Otherwise returns why the cut ends before it. */
  add(record: KeyedRecord): KeyCut['stopped'];
};

function createCut(
  stateOf: (key: string, offset: number) => KeyState,
  { maxRecords, maxBatches, recordsAllowed, maxParked }: Bounds,
): Cut {
  const batches: Growing[] = [];
  const parked: { run: Growing; isBlocked: boolean }[] = [];
  /** The batch of this cut that has the key, and whether a key that was passed over is blocked. */
  const taken = new Map<string, Growing>();
  const passed = new Map<string, boolean>();
  /** The batch of the record before, if it was not passed over. */
  let current: Growing | null = null;
  let allowed = recordsAllowed;

  const take = (record: KeyedRecord, open: Growing | null): KeyCut['stopped'] => {
    if (allowed <= 0 || (open === null && batches.length >= maxBatches)) return 'room';
    allowed -= 1;
    current = open ?? begin(record);
    if (open === null) batches.push(current);
    else grow(open, record);
    if (record.key !== null) taken.set(record.key, current);
    return null;
  };

  const pass = (record: KeyedRecord, key: string, isBlocked: boolean): KeyCut['stopped'] => {
    const before = parked.at(-1)?.run;
    if (before !== undefined && before.keys[0] === key && fits(before, record, maxRecords)) grow(before, record);
    else if (parked.length >= maxParked) return 'parked';
    else parked.push({ run: begin(record), isBlocked });
    passed.set(key, isBlocked);
    current = null;
    return null;
  };

  const add = (record: KeyedRecord): KeyCut['stopped'] => {
    const { offset, key } = record;
    const open = current !== null && fits(current, record, maxRecords) ? current : null;
    if (key === null) return take(record, open);
    const isBlocked = passed.get(key);
    if (isBlocked !== undefined) return pass(record, key, isBlocked);
    const own = taken.get(key);
    if (own !== undefined && own === open) return take(record, open);
    const state = own === undefined ? stateOf(key, offset) : 'busy';
    if (state === 'free') return take(record, open);
    return state === 'busy' && maxRecords > 1 ? 'busy' : pass(record, key, state === 'blocked');
  };
  return { batches, parked, add };
}

function begin({ offset, bytes, createdAt, key }: KeyedRecord): Growing {
  return { first: offset, last: offset, bytes, createdAt, keys: [key] };
}

function fits(batch: Growing, { offset, bytes }: KeyedRecord, maxRecords: number): boolean {
  return offset === batch.last + 1 && batch.keys.length < maxRecords && batch.bytes + bytes <= BATCH_BYTES;
}

function grow(batch: Growing, { offset, bytes, key }: KeyedRecord): void {
  batch.last = offset;
  batch.bytes += bytes;
  batch.keys.push(key);
}

function batchOf(webhookNumber: number, { first, last, bytes, createdAt, keys }: Growing): Batch {
  const id = batchId({ createdAt, webhookNumber, first, last });
  const plain = {
    webhookNumber,
    id,
    firstOffset: first,
    lastOffset: last,
    bytes,
    attemptNumber: 1,
    contentRefusals: 0,
  };
  return { ...plain, isStored: false, orderKey: orderKeyOf(keys), keys };
}

function orderKeyOf(keys: readonly (string | null)[]): string | null {
  const [first = null] = keys;
  return keys.every((key) => key === first) ? (first ?? '') : null;
}

/**
 * Consecutive records of one key each. The first run of a key is due at `dueAt`; the later ones wait for it. Runs without a key wait for
 * nothing.
 */
function runsOf(
  { firstOffset, keys }: { readonly firstOffset: number; readonly keys: readonly (string | null)[] },
  dueAt: number | null,
  newId: () => string,
): Run[] {
  const runs: { first: number; last: number; id: string; orderKey: string; dueAt: number | null }[] = [];
  const seen = new Set<string>();
  for (const [at, key] of keys.entries()) {
    const orderKey = key ?? '';
    const offset = firstOffset + at;
    const before = runs.at(-1);
    if (before?.orderKey === orderKey) {
      before.last = offset;
      continue;
    }
    runs.push({ first: offset, last: offset, id: newId(), orderKey, dueAt: seen.has(orderKey) ? null : dueAt });
    if (orderKey !== '') seen.add(orderKey);
  }
  return runs;
}

/** The keys of a row that was not looked at. Rows with keys wait until the first row of each key is claimed. */
export function labelled(
  { batch, dueAt }: PendingBatch,
  keys: readonly (string | null)[],
  newId: () => string,
): Labelled {
  const runs = runsOf({ firstOffset: batch.firstOffset, keys }, dueAt, newId);
  return { batch, runs: runs.map((run) => ({ ...run, dueAt: run.orderKey === '' ? dueAt : null })) };
}

/**
 * An outcome with order by key. A failed batch of several keys leaves a row for each run of them, so that each key waits only for its own
 * records. A batch without a row that is given back leaves none: its records return to the log.
 */
export function outcomeByKey(settled: SettledBatch, newId: () => string): SettledBatch {
  const { batch, fate, attempt, bytes } = settled;
  if (batch === null || fate === null) return settled;
  const { firstOffset, lastOffset, orderKey, keys, isStored } = batch;
  if (isReturned(batch, fate)) return { batch: null, fate: null, attempt, ...(bytes !== undefined && { bytes }) };
  if (fate.kind === 'halve') {
    if (orderKey == null)
      return keys === undefined ? settled : { ...settled, runs: runsOf({ firstOffset, keys }, fate.at, newId) };
    const middle = firstOffset + Math.floor((lastOffset - firstOffset) / 2);
    const [left, right] = fate.halfIds;
    const dueAt = orderKey === '' ? fate.at : null;
    const runs = [
      { first: firstOffset, last: middle, id: left, orderKey, dueAt: fate.at },
      { first: middle + 1, last: lastOffset, id: right, orderKey, dueAt },
    ];
    return { ...settled, runs };
  }
  if (fate.kind !== 'retry' || isStored || keys === undefined) return settled;
  const runs = orderKey == null ? runsOf({ firstOffset, keys }, fate.at, newId) : null;
  const own = [{ first: firstOffset, last: lastOffset, id: batch.id, orderKey: orderKey ?? '', dueAt: fate.at }];
  return { ...settled, runs: runs ?? own };
}

/** Whether the records of the batch return to the log: it has no row, and the log has everything that is known about it. */
export function isReturned({ keys, isStored }: Batch, fate: BatchFate | null): boolean {
  return fate?.kind === 'release' && keys !== undefined && !isStored;
}
