/**
 * A simulation of order by key: a process with its memory of a webhook, the real claims and settlements, and a store of rows. Claims,
 * outcomes, crashes, replays and changes of the order come in any sequence.
 */
import assert from 'node:assert/strict';
import { claimWork } from '../../src/delivery/claim.ts';
import { SLOW_ATTEMPT_MS } from '../../src/delivery/limits.ts';
import { LOOK_NOW } from '../../src/delivery/scheduler.ts';
import { createSettlementWriter, noteSettled } from '../../src/delivery/settle.ts';
import type { WebhookLog } from '../../src/delivery/webhook-log.ts';
import { createWebhookLogs, hasWork } from '../../src/delivery/webhook-logs.ts';
import type { Batch, DeliveryTarget, Finished, Job, JobResult, Settlement } from '../../src/domain/batch.ts';
import type { Webhook, WebhookOrder } from '../../src/domain/webhook.ts';
import { type DispatchStore, type KeyedRecord, NEVER, type PendingBatch } from '../../src/store/port/dispatch.ts';
import { ConstraintViolation, StaleWrite } from '../../src/store/port/errors.ts';
import { beyond } from '../../src/store/shared/delivery/dispatch.ts';
import { answered, batchOf } from './attempts.ts';
import { webhookOf } from './scheduling.ts';
import { NOW } from './store.ts';

type Row = {
  first: number;
  last: number;
  id: string;
  state: 'pending' | 'delivered' | 'dead';
  attemptCount: number;
  contentRefusals: number;
  dueAt: number | null;
  orderKey: string | null;
  isLeased: boolean;
};

const SETTINGS = {
  heartbeatSeconds: 0,
  encryptionKeyName: null,
  retryPolicy: 'linear',
  retryDelaysSeconds: null,
} as const;

/** Rows by first offset, as the databases keep them. */
function createRows(recordOf: (offset: number) => KeyedRecord | undefined) {
  const rows = new Map<number, Row>();
  let reads = 0;
  const inOrder = (): Row[] => [...rows.values()].toSorted((one, other) => one.first - other.first);
  const pending = (): Row[] => inOrder().filter(({ state }) => state === 'pending');
  const batch = (row: Row): Batch =>
    batchOf(row.first, row.last, {
      id: row.id,
      attemptNumber: row.attemptCount + 1,
      contentRefusals: row.contentRefusals,
      isStored: true,
      orderKey: row.orderKey,
    });
  const waiting = (row: Row): PendingBatch => ({ batch: batch(row), dueAt: row.dueAt });
  const records = (from: number, limit: number): KeyedRecord[] => {
    const found = Array.from({ length: limit }, (_, n) => recordOf(from + n)).filter((one) => one !== undefined);
    reads += found.length;
    return found;
  };
  const due = (now: number, limit: number, held: readonly number[], isByKey: boolean) => {
    const isFirst = ({ orderKey, first }: Row): boolean =>
      !isByKey || orderKey === '' || !pending().some((other) => other.orderKey === orderKey && other.first < first);
    const free = pending().filter(
      ({ first, dueAt, orderKey }) => !held.includes(first) && (!isByKey || (dueAt !== null && orderKey !== null)),
    );
    const found = free.filter((row) => (row.dueAt ?? 0) <= now && isFirst(row));
    const later = pending().flatMap(({ dueAt }) => (dueAt !== null && dueAt > now ? [dueAt] : []));
    return { batches: found.slice(0, limit).map(batch), nextAt: Math.min(NEVER, ...later) };
  };
  const dispatch: Partial<DispatchStore> = {
    dueBatches: async (_number, now, limit, held) => due(now, limit, held, false),
    dueByKey: async (_number, now, limit, held) => due(now, limit, held, true),
    firstPending: async (_number, held) => {
      const row = pending().find(({ first }) => !held.includes(first));
      return row === undefined ? null : { batch: batch(row), dueAt: row.dueAt ?? 0 };
    },
    waiting: async (_number, from, limit) => records(from, limit),
    waitingKeys: async (_number, from, limit) => records(from, limit),
    unlabelled: async (_number, limit) =>
      pending()
        .filter(({ orderKey }) => orderKey === null)
        .slice(0, limit)
        .map(waiting),
    firstOfKeys: async (_number, queues) => {
      reads += queues.length;
      return queues.flatMap((orderKey) => pending().find((row) => row.orderKey === orderKey) ?? []).map(waiting);
    },
    keysAfter: async (_number, after, limit) =>
      [...new Set(pending().flatMap(({ orderKey }) => (orderKey !== null && orderKey > after ? [orderKey] : [])))]
        .toSorted()
        .slice(0, limit),
  };

  const insert = (row: Row): void => {
    const overlaps =
      rows.has(row.first) || [...rows.values()].some(({ first, last }) => first <= row.last && last >= row.first);
    if (overlaps) throw new ConstraintViolation('unique', ['batch']);
    rows.set(row.first, row);
  };
  const tried = ({ firstOffset, id, attemptNumber }: Batch): Row => {
    const row = rows.get(firstOffset);
    const isOpen =
      row?.id === id && row.state === 'pending' && row.attemptCount === attemptNumber - (row.isLeased ? 0 : 1);
    if (row === undefined || !isOpen) throw new StaleWrite('a row', 1, 0);
    return row;
  };
  const plain = { isLeased: false, contentRefusals: 0, attemptCount: 0 };
  const apply = ({ batches, slow, parked = [], labelled = [], now }: Settlement): void => {
    for (const { batch: sent, fate, runs } of batches) {
      if (sent === null || fate === null) continue;
      if (runs !== undefined) {
        if (sent.isStored) rows.delete(tried(sent).first);
        const attemptCount = fate.kind === 'retry' ? sent.attemptNumber : 0;
        for (const run of runs) insert({ ...plain, ...run, state: 'pending', attemptCount });
        continue;
      }
      const isPending = fate.kind === 'retry' || fate.kind === 'release';
      const row: Row = sent.isStored
        ? tried(sent)
        : {
            ...plain,
            first: sent.firstOffset,
            last: sent.lastOffset,
            id: sent.id,
            state: 'pending',
            dueAt: null,
            orderKey: null,
          };
      Object.assign(row, {
        state: isPending ? 'pending' : fate.kind,
        dueAt: isPending && 'at' in fate ? fate.at : null,
        attemptCount: fate.kind === 'release' ? sent.attemptNumber - 1 : sent.attemptNumber,
        isLeased: false,
        orderKey: isPending ? row.orderKey : null,
      });
      if (!sent.isStored) insert(row);
    }
    for (const one of slow) {
      const row: Row = one.isStored
        ? tried(one)
        : {
            ...plain,
            first: one.firstOffset,
            last: one.lastOffset,
            id: one.id,
            state: 'pending',
            dueAt: now,
            orderKey: one.orderKey ?? null,
          };
      Object.assign(row, { attemptCount: one.attemptNumber, isLeased: true });
      if (!one.isStored) insert(row);
    }
    for (const { firstOffset: first, lastOffset: last, id, orderKey = '' } of parked)
      insert({ ...plain, first, last, id, orderKey, state: 'pending', dueAt: null });
    for (const {
      batch: { firstOffset, attemptNumber },
      runs,
    } of labelled) {
      rows.delete(firstOffset);
      for (const run of runs) insert({ ...plain, ...run, state: 'pending', attemptCount: attemptNumber - 1 });
    }
  };
  return { rows, inOrder, pending, dispatch, apply, reads: () => reads };
}

/** `maxAttempts`: after them a batch is dead. */
export function createSimulation({
  maxBatchRecords,
  maxAttempts = 3,
}: {
  maxBatchRecords: number;
  maxAttempts?: number;
}) {
  let now = NOW;
  let covered = 0;
  let ordered: WebhookOrder = 'key';
  /** Whether the log was in order by key all the time, so that the order of every key can be checked. */
  const keys: (string | null)[] = [];
  const recordOf = (offset: number): KeyedRecord | undefined => {
    const key = keys[offset];
    return key === undefined ? undefined : { offset, bytes: 1, createdAt: NOW, key };
  };
  const store = createRows(recordOf);
  const { rows } = store;
  let logs = createWebhookLogs();
  let jobs: { job: Job; log: WebhookLog }[] = [];
  let ids = 0;
  /** The offsets of each key in the order in which they were settled, and repeats after a replay. */
  let replays = 0;

  const current = (): WebhookLog => logs.get(1) ?? assert.fail();
  const webhook = (): Webhook =>
    ({
      ...webhookOf(1, { maxBatchRecords }),
      ...SETTINGS,
      id: 'w',
      customerId: null,
      maxAttempts,
      ordered,
    }) as unknown as Webhook;
  const target = async (): Promise<DeliveryTarget> =>
    ({ webhook: webhook(), endpoint: { id: 'e', enabled: true, url: 'u' }, key: null }) as unknown as DeliveryTarget;
  const newId = (): string => {
    ids += 1;
    return `id ${ids}`;
  };

  const read = (): void => {
    const behind = store.inOrder().filter(({ first }) => first >= covered);
    const { next, gaps } = beyond(covered, behind);
    const dueAt = Math.min(NEVER, ...store.pending().map((row) => row.dueAt ?? 0));
    const position = {
      webhookNumber: 1,
      hold: null,
      coveredOffset: covered,
      next,
      end: keys.length,
      gaps,
      dueAt,
      sentAt: null,
    };
    logs.open(position, now);
  };

  /** No earlier record of the key is left. */
  const isFirst = (offset: number): boolean => {
    const key = keys[offset];
    for (let before = 0; before < offset; before += 1) {
      if (keys[before] !== key) continue;
      const row = store.inOrder().find(({ first, last }) => first <= before && last >= before);
      if (row === undefined || row.state === 'pending') return false;
    }
    return true;
  };

  /** `meanwhile` happens while the claim reads. */
  const claim = async (batches: number, meanwhile?: () => Promise<void>): Promise<void> => {
    const claimedIn = logs;
    const log = current();
    const room = { now, claimed: jobs.length, records: Number.POSITIVE_INFINITY, batches, next: LOOK_NOW };
    let isOver = meanwhile === undefined;
    const waitingKeys: DispatchStore['waitingKeys'] = async (...asked) => {
      const found = (await store.dispatch.waitingKeys?.(...asked)) ?? [];
      // Before it is awaited: a claim may read the records of several rows together.
      const isFirst = !isOver;
      isOver = true;
      if (isFirst) await meanwhile?.();
      return found;
    };
    const claimed = await claimWork(
      {
        store: { dispatch: { ...store.dispatch, waitingKeys, target } },
        clock: () => now,
        ids: { uuid: newId },
        scheduler: { room: () => room },
        logs,
      } as unknown as Parameters<typeof claimWork>[0],
      log,
    );
    if (claimedIn !== logs) return;
    for (const job of claimed?.jobs ?? []) {
      const batch = job.batch ?? assert.fail();
      for (let offset = batch.firstOffset; offset <= batch.lastOffset; offset += 1) {
        const key = keys[offset] ?? null;
        for (const { job: other } of jobs) {
          const { firstOffset: first, lastOffset: last } = other.batch ?? assert.fail();
          assert.ok(offset < first || offset > last, `record ${offset} is claimed twice`);
          const shares = key !== null && ordered === 'key' && keys.slice(first, last + 1).includes(key);
          assert.ok(!shares, `two batches with ${key}`);
        }
        const own = keys.slice(batch.firstOffset, offset).includes(key);
        if (ordered === 'key' && key !== null && !own && replays === 0)
          assert.ok(isFirst(offset), `record ${offset} overtakes another of ${key}`);
      }
      jobs.push({ job, log });
    }
  };

  /** Ends jobs, writes their outcomes, and goes on as the pipeline does. */
  const settle = async (pick: number, outcome: 'ok' | 'failed' | 'content' | 'release' | 'nothing'): Promise<void> => {
    const log = current();
    const ending = outcome === 'nothing' ? [] : jobs.splice(pick % Math.max(1, jobs.length), 1 + (pick % 3));
    const results: Record<string, JobResult> = Object.fromEntries(
      (['ok', 'failed', 'content'] as const).map((name) => {
        const sent = {
          startedAt: now,
          outcome: answered({ ok: 200, failed: 500, content: 413 }[name]),
          requestHeaders: {},
          bodyBytes: 0,
        };
        return [name, { kind: 'sent', sent, url: 'u' }];
      }),
    );
    const finished = ending.map(({ job }): Finished => ({ job, result: results[outcome] ?? { kind: 'release' } }));
    let refusals = 0;
    const settlements = {
      settle: async (settlement: Settlement) => {
        const before = structuredClone([...rows]);
        try {
          await null;
          store.apply(settlement);
        } catch (error) {
          rows.clear();
          for (const [first, row] of before) rows.set(first, row);
          refusals += 1;
          if (refusals > 10) writer.giveUp();
          throw error;
        }
        if (settlement.position !== null) covered = settlement.position.coveredOffset;
        check();
      },
      rowOf: async ({ firstOffset, id, isStored }: Batch) => {
        const row = rows.get(firstOffset);
        if (row === undefined) return isStored ? 'other' : 'none';
        return row.id === id && row.state === 'pending' ? 'open' : 'other';
      },
    };
    const writer = createSettlementWriter({
      store: { dispatch: { ...store.dispatch, target }, settlements },
      clock: () => now,
      checkClock: async () => undefined,
      ids: { uuid: newId },
      jitter: () => 0.5,
      log: { warn: () => undefined, error: () => undefined, info: () => undefined, isLevelEnabled: () => false },
      owner: 'this',
      logs,
      scheduler: { hold: () => undefined },
      observe: [],
    } as unknown as Parameters<typeof createSettlementWriter>[0]);
    const write = async (all: readonly Finished[], isApart: boolean): Promise<void> => {
      const settled = await writer.write(1, all, { isApart, isLast: false });
      assert.ok(refusals <= 10, 'an outcome is refused for ever');
      if (settled === 'refused') {
        for (const one of all) await write([one], true);
        return;
      }
      noteSettled(logs, log, all, settled, now);
      if (settled.finished.some(({ result }) => result.kind === 'lost')) log.dueAt = 0;
    };
    await write(finished, false);
  };

  const crash = (): void => {
    logs = createWebhookLogs();
    jobs = [];
    for (const row of rows.values()) if (row.isLeased) Object.assign(row, { isLeased: false, dueAt: now });
    read();
  };

  /** The position passes no record without a row. */
  const check = (): void => {
    let next = 0;
    for (const { first, last } of store.inOrder()) {
      assert.ok(first >= next, 'batches overlap');
      if (next < covered) assert.equal(first, next, `the position ${covered} passes record ${next}, which has no row`);
      next = last + 1;
    }
    assert.ok(next >= covered, `the position ${covered} passes record ${next}, which has no row`);
  };

  const isOver = (): boolean =>
    store.inOrder().reduce((sum, { first, last, state }) => sum + (state === 'pending' ? 0 : last - first + 1), 0) ===
    keys.length;

  const finish = async (): Promise<void> => {
    for (let round = 0; !isOver(); round += 1) {
      assert.ok(round < 2000, `a record is never sent: ${JSON.stringify(store.pending())}`);
      while (jobs.length > 0) await settle(0, 'ok');
      now += SLOW_ATTEMPT_MS;
      await settle(0, 'nothing');
      const log = current();
      assert.ok(
        isOver() || hasWork(log, now) || log.dueAt < NEVER || log.held.size > 0,
        'nothing says that a record waits',
      );
      await claim(8);
    }
  };

  read();
  return {
    publish: (added: readonly (string | null)[]): void => {
      keys.push(...added);
      logs.grew(1, keys.length);
    },
    wait: (ms: number): void => {
      now += ms;
    },
    replay: (pick: number): void => {
      for (const row of rows.values()) {
        if (row.state === 'pending' || (row.first + pick) % 3 !== 0) continue;
        Object.assign(row, { state: 'pending', attemptCount: 0, dueAt: now, orderKey: null });
        replays += 1;
      }
      read();
    },
    reorder: (to: WebhookOrder): void => {
      if (ordered === 'key' && to !== 'key')
        for (const row of store.pending()) Object.assign(row, { dueAt: row.dueAt ?? now, orderKey: null });
      if (to !== ordered) replays += 1;
      ordered = to;
      read();
    },
    log: current,
    jobs: () => jobs.length,
    read,
    claim,
    settle,
    crash,
    check,
    finish,
    store,
  };
}
