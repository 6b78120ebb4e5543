/**
 * The memory of a webhook's log in the process that sends for it: where the next batch begins, how far the log reaches, which batches
 * are claimed, and when to look again. All of it can be read from the store again, so a crash loses nothing. No I/O; times are in
 * epoch milliseconds.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Batch, Hold, LogPosition, Position } from '../domain/batch.ts';
import { laterOf } from '../domain/judge.ts';
import type { WebhookOrder } from '../domain/webhook.ts';
import { NEVER } from '../store/port/dispatch.ts';
import { createKeyQueues, examineAgain, hasQueueWork, occupy, type Parked, park } from './key-queues.ts';
import { POSITION_EVERY_MS, SLOW_ATTEMPT_MS } from './limits.ts';
import { endParked, parkedToWrite, returnParked } from './parked.ts';
import type { WebhookLog } from './webhook-log.ts';

export type WebhookLogs = {
  get(webhookNumber: number): WebhookLog | undefined;
  /** Begins with a webhook, or reads its position again. What it holds stays held, unless its hold is another one now. It is ready. */
  open(position: LogPosition, now: number): WebhookLog;
  /** The webhook no longer sends. It is forgotten once nothing of it is held. */
  close(webhookNumber: number): void;
  /** Another process may send for the webhook: claims of this process no longer count. */
  drop(webhookNumber: number): void;
  /** The same for a log that was read under the hold. */
  dropHeld(hold: Hold): void;
  /** These batches are settled. */
  settled(log: WebhookLog, batches: readonly Batch[]): void;
  numbers(): IterableIterator<number>;
  size(): number;
  /** Records were published up to `end`. */
  grew(webhookNumber: number, end: number): void;
  /** To be looked at now. */
  ready(webhookNumber: number): void;
  /** Looks at a webhook at `at` at the latest. */
  lookBy(log: WebhookLog, at: number): void;
  /** Removes and returns up to `most` webhooks to look at, the longest waiting first. */
  takeReady(now: number, most: number): readonly number[];
  /** The time of the next look; null: there is none. */
  nextLookAt(): number | null;
  /** Up to `most` webhooks whose ends to ask for, in turns. */
  nextInTurn(most: number): readonly number[];
  /** Batches were claimed. */
  hold(log: WebhookLog, batches: readonly Batch[], now: number): void;
  /** Batches were passed over. */
  park(log: WebhookLog, parked: readonly Parked[], now: number): void;
  /** Parked batches have rows, or their rows could not be written. */
  parkedWritten(log: WebhookLog, batches: readonly Batch[], isWritten: boolean): void;
  /** The webhooks whose position or slow attempts are to be written. */
  unwritten(now: number): readonly number[];
};

export function createWebhookLogs(): WebhookLogs {
  const logs = new Map<number, WebhookLog>();
  const { ready, ...looks } = createLooks(logs);
  const { forget, ...moves } = createMoves(logs);

  const drop = (webhookNumber: number): void => {
    ready.delete(webhookNumber);
    forget(webhookNumber);
  };
  return {
    get: (webhookNumber) => logs.get(webhookNumber),
    open: (position, now) => {
      const { webhookNumber, hold } = position;
      const known = logs.get(webhookNumber);
      const log = known !== undefined && isDeepStrictEqual(known.hold, hold) ? known : newLog(position, now);
      advance(log, position, now);
      logs.set(webhookNumber, log);
      ready.add(webhookNumber);
      return log;
    },
    close: (webhookNumber) => {
      const log = logs.get(webhookNumber);
      ready.delete(webhookNumber);
      if (log === undefined) return;
      returnParked(log);
      log.isClosing = true;
      if (log.held.size === 0) forget(webhookNumber);
    },
    drop,
    dropHeld: (hold) => {
      if (isDeepStrictEqual(logs.get(hold.webhookNumber)?.hold, hold)) drop(hold.webhookNumber);
    },
    numbers: () => logs.keys(),
    size: () => logs.size,
    grew: (webhookNumber, end) => {
      const log = logs.get(webhookNumber);
      if (log === undefined || end <= log.end) return;
      log.end = end;
      if (!log.isClosing) ready.add(webhookNumber);
    },
    ready: (webhookNumber) => {
      if (logs.get(webhookNumber)?.isClosing === false) ready.add(webhookNumber);
    },
    ...looks,
    ...moves,
  };
}

type Logs = Map<number, WebhookLog>;

/** Which webhooks to look at, and when. */
function createLooks(
  logs: Logs,
): Pick<WebhookLogs, 'lookBy' | 'takeReady' | 'nextLookAt' | 'nextInTurn'> & { readonly ready: Set<number> } {
  const ready = new Set<number>();
  const alarms = createAlarms();
  let turn: IterableIterator<number> | null = null;

  const setAlarm = (log: WebhookLog): void => {
    if (log.lookAt >= log.alarmAt) return;
    log.alarmAt = log.lookAt;
    alarms.set(log.webhookNumber, log.lookAt);
  };
  const ring = (now: number): void => {
    for (const { webhookNumber, at } of alarms.due(now)) {
      const log = logs.get(webhookNumber);
      if (log === undefined || log.alarmAt !== at) continue;
      log.alarmAt = NEVER;
      if (log.lookAt > now) setAlarm(log);
      else if (!log.isClosing) ready.add(webhookNumber);
    }
  };
  return {
    ready,
    lookBy: (log, at) => {
      log.lookAt = Math.min(log.lookAt, at);
      setAlarm(log);
    },
    takeReady: (now, most) => {
      ring(now);
      const taken: number[] = [];
      for (const webhookNumber of ready) {
        if (taken.length === most) break;
        ready.delete(webhookNumber);
        const log = logs.get(webhookNumber);
        if (log === undefined) continue;
        log.lookAt = NEVER;
        taken.push(webhookNumber);
      }
      return taken;
    },
    nextLookAt: () => (ready.size > 0 ? 0 : alarms.next()),
    nextInTurn: (most) => {
      const found: number[] = [];
      while (found.length < Math.min(most, logs.size)) {
        turn ??= logs.keys();
        const { value, done } = turn.next();
        if (done === true) turn = null;
        else found.push(value);
      }
      return found;
    },
  };
}

/** Claimed batches, and the webhooks that moved since their position was written or have claimed ones. */
function createMoves(logs: Logs): Pick<WebhookLogs, 'settled' | 'hold' | 'park' | 'parkedWritten' | 'unwritten'> & {
  forget(webhookNumber: number): void;
} {
  const moved = new Set<number>();

  const forget = (webhookNumber: number): void => {
    logs.delete(webhookNumber);
    moved.delete(webhookNumber);
  };
  /** Fewer batches of it are held. It may have been dropped since they were claimed, and read again as another log. */
  const released = (log: WebhookLog): void => {
    const { webhookNumber, isClosing, held } = log;
    if (logs.get(webhookNumber) !== log) return;
    if (isClosing && held.size === 0) forget(webhookNumber);
    else moved.add(webhookNumber);
  };
  return {
    forget,
    settled: (log, batches) => {
      // A batch of the same offset may have been claimed again since this log was dropped.
      for (const batch of batches)
        if (log.held.get(batch.firstOffset)?.batch === batch) log.held.delete(batch.firstOffset);
      released(log);
    },
    hold: (log, batches, now) => {
      for (const batch of batches) {
        log.held.set(batch.firstOffset, { batch, at: now, isStored: batch.isStored, isMarked: false, isParked: false });
      }
      if (log.queues !== null) occupy(log.queues, batches);
      if (batches.length > 0) moved.add(log.webhookNumber);
    },
    park: (log, parked, now) => {
      if (log.queues === null || parked.length === 0) return;
      for (const one of parked) {
        const { batch } = one;
        log.held.set(batch.firstOffset, { batch, at: now, isStored: false, isMarked: false, isParked: true });
        park(log.queues, one);
      }
      moved.add(log.webhookNumber);
    },
    parkedWritten: (log, batches, isWritten) => {
      endParked(log, batches, isWritten);
      released(log);
    },
    unwritten: (now) => {
      const found: number[] = [];
      for (const webhookNumber of moved) {
        const log = logs.get(webhookNumber);
        const isStill =
          log === undefined || (log.held.size === 0 && positionToWrite(log, now, { isLast: true }) === null);
        if (isStill) moved.delete(webhookNumber);
        else if (positionToWrite(log, now) !== null || hasRowsToWrite(log, now)) found.push(webhookNumber);
      }
      return found;
    },
  };
}

function newLog(
  { webhookNumber, hold, coveredOffset, next, end, gaps, dueAt, sentAt }: LogPosition,
  now: number,
): WebhookLog {
  return {
    webhookNumber,
    hold,
    next,
    end,
    gaps,
    dueAt,
    lookAt: NEVER,
    alarmAt: NEVER,
    isClosing: false,
    sentAt,
    order: null,
    queues: null,
    writing: new Set(),
    held: new Map(),
    written: { coveredOffset, sentAt },
    writtenAt: now,
  };
}

/** Its position was read again. Not its gaps: later ones may be held here, or were settled since they were read. */
function advance(log: WebhookLog, { next, end, dueAt, sentAt }: LogPosition, now: number): void {
  log.next = Math.max(log.next, next);
  log.end = Math.max(log.end, end);
  // A batch may have become due earlier since the position was read.
  log.dueAt = Math.min(log.dueAt, dueAt);
  // The clock may have been set back since.
  const sent = laterOf(log.sentAt, sentAt);
  log.sentAt = sent === null ? null : Math.min(sent, now);
  log.isClosing = false;
  if (log.queues !== null) examineAgain(log.queues);
}

/** Every record below it is in a batch of the store, once `settling` are. */
function coveredOffset(log: WebhookLog, settling: ReadonlySet<number>): number {
  let covered = Math.min(log.next, log.gaps[0]?.first ?? log.next);
  for (const [first, { isStored }] of log.held)
    if (!isStored && first < covered && !settling.has(first)) covered = first;
  return covered;
}

const NONE: ReadonlySet<number> = new Set();

/**
 * The position of a log if it has moved and was not written lately; null otherwise. The first attempt is written immediately, so that no
 * webhook that runs seems to have sent nothing. `settling`: the first offsets of batches that the same transaction gives a row. `isLast`:
 * nobody writes it later.
 */
export function positionToWrite(
  log: WebhookLog,
  now: number,
  { settling = NONE, isLast = false }: { readonly settling?: ReadonlySet<number>; readonly isLast?: boolean } = {},
): Position | null {
  const elapsed = now - log.writtenAt;
  const { written } = log;
  const isFirst = written.sentAt === null && log.sentAt !== null;
  if (!isLast && !isFirst && elapsed < POSITION_EVERY_MS && elapsed >= 0) return null;
  const position = { coveredOffset: coveredOffset(log, settling), sentAt: log.sentAt };
  return written.sentAt === position.sentAt && written.coveredOffset === position.coveredOffset ? null : position;
}

/** Claimed batches that have had no row for long. */
export function slowOf(log: WebhookLog, now: number): readonly Batch[] {
  const slow: Batch[] = [];
  for (const { batch, at, isStored, isMarked, isParked } of log.held.values()) {
    if (isMarked || isParked || at > now - SLOW_ATTEMPT_MS) continue;
    // A row has one key. The position waits for the attempt, and a crash repeats it.
    if (batch.keys !== undefined && batch.orderKey == null) continue;
    slow.push(isStored === batch.isStored ? batch : { ...batch, isStored });
  }
  return slow;
}

function hasRowsToWrite(log: WebhookLog, now: number): boolean {
  return slowOf(log, now).length > 0 || (log.queues !== null && parkedToWrite(log, now).length > 0);
}

/**
 * Claims under another order begin. False: not yet, because batches of unknown keys are in progress, or batches that ignored keys, or rows
 * are being written that wait for their keys.
 */
export function takeOrder(log: WebhookLog, order: WebhookOrder): boolean {
  if (log.order === order) return true;
  const isByKey = order === 'key' || log.order === 'key';
  const isBusy = log.writing.size > 0 || [...log.held.values()].some(({ isParked }) => !isParked);
  if (isByKey && isBusy) return false;
  // Rows that waited for their keys have no time.
  if (log.order === 'key') log.dueAt = 0;
  if (log.queues !== null) returnParked(log);
  log.order = order;
  log.queues = order === 'key' ? createKeyQueues() : null;
  return true;
}

/** Whether work waits that no claim has taken. */
export function hasWork(log: WebhookLog, now: number): boolean {
  const isInLog = log.gaps.length > 0 || log.next < log.end || log.dueAt <= now;
  return isInLog || (log.queues !== null && hasQueueWork(log.queues));
}

type Alarm = { readonly webhookNumber: number; readonly at: number };

/** Times by webhook, the earliest first (a binary heap). A webhook may have several; the caller skips the ones that no longer hold. */
function createAlarms(): {
  set(webhookNumber: number, at: number): void;
  due(now: number): readonly Alarm[];
  next(): number | null;
} {
  const heap: Alarm[] = [];
  const swap = (one: number, other: number): void => {
    [heap[one], heap[other]] = [heap[other] as Alarm, heap[one] as Alarm];
  };
  const atOf = (place: number): number => heap[place]?.at ?? Number.POSITIVE_INFINITY;
  const pop = (): Alarm => {
    const first = heap[0] as Alarm;
    const last = heap.pop() as Alarm;
    if (heap.length === 0) return first;
    heap[0] = last;
    for (let place = 0; ; ) {
      const left = 2 * place + 1;
      const least = atOf(left + 1) < atOf(left) ? left + 1 : left;
      if (atOf(least) >= atOf(place)) return first;
      swap(place, least);
      place = least;
    }
  };
  return {
    set: (webhookNumber, at) => {
      heap.push({ webhookNumber, at });
      for (let place = heap.length - 1; place > 0; ) {
        const parent = (place - 1) >> 1;
        if (atOf(parent) <= atOf(place)) break;
        swap(place, parent);
        place = parent;
      }
    },
    due: (now) => {
      const found: Alarm[] = [];
      while (atOf(0) <= now) found.push(pop());
      return found;
    },
    next: () => heap[0]?.at ?? null,
  };
}
