/**
 * The loop that carries the outbox out: a poll and a wake-up, claims that go around the webhooks, a bounded number of
 * requests under way, and an outcome written for each. It holds nothing that is not in the store too: killed at any
 * point, the next start goes on from there.
 */
import type { Clock } from '../ids.ts';
import {
  DELIVERIES_IN_FLIGHT,
  DELIVERIES_IN_FLIGHT_PER_ENDPOINT,
  DRAIN_MS,
  POLL_MS,
  WEBHOOKS_PER_ROUND,
} from '../limits.ts';
import type { Log } from '../log.ts';
import { StaleWrite } from '../store/database.ts';
import type { LogRecord, Route } from '../store/dispatch.ts';
import type { Store } from '../store/store.ts';
import type { EnvelopeRecord } from '../wire/envelope.ts';
import type { ClaimWork, Job } from './claim.ts';
import type { Load } from './plan.ts';
import { createRateLimiter } from './rate.ts';
import type { Send } from './send.ts';
import type { Settle } from './settle.ts';

export type Dispatcher = {
  start(): Promise<void>;
  /** There may be work: looks at once instead of at the next poll. */
  wake(): void;
  /** Takes nothing new and waits for what is under way, 10 s at most; what is not done by then is given back untried. */
  stop(): Promise<void>;
  /** Whether the loop has come around lately; false tells `/readyz` that it has died. */
  isAlive(): boolean;
};

export type DispatcherOptions = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly claimWork: ClaimWork;
  readonly send: Send;
  readonly settle: Settle;
  readonly newId: () => string;
  /** Names this process in leases. */
  readonly owner: string;
  readonly inFlight?: number;
  readonly inFlightPerEndpoint?: number;
  readonly pollMs?: number;
};

/** A round that takes longer than this has died. */
const ROUND_LIMIT_MS = 30_000;

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, clock, log, claimWork, send, settle, newId, owner } = options;
  const {
    inFlight = DELIVERIES_IN_FLIGHT,
    inFlightPerEndpoint = DELIVERIES_IN_FLIGHT_PER_ENDPOINT,
    pollMs = POLL_MS,
  } = options;
  const rates = createRateLimiter();
  const perEndpoint = new Map<string, number>();
  const perWebhook = new Map<number, number>();
  const underWay = new Set<Promise<void>>();
  const abandon = new AbortController();
  let timer: NodeJS.Timeout | null = null;
  let running = false;
  let round: Promise<void> | null = null;
  let again = false;
  let roundAt = clock();

  const loadOf = ({ webhook, endpoint }: Route, now: number): Load => {
    const { webhookNumber } = webhook.progress;
    const { records, nextAt } = rates.allowance(webhookNumber, webhook.maxRecordsPerSecond, now);
    const freeHere = inFlightPerEndpoint - (perEndpoint.get(endpoint.id) ?? 0);
    const freePlaces = Math.min(inFlight - underWay.size, freeHere);
    return { now, freePlaces, underWay: perWebhook.get(webhookNumber) ?? 0, records, nextRecordAt: nextAt };
  };

  const look = async (): Promise<void> => {
    while (running && underWay.size < inFlight) {
      roundAt = clock();
      const due = await store.dispatch.dueWebhooks(roundAt, WEBHOOKS_PER_ROUND);
      if (due.length === 0) return;
      for (const webhookNumber of due) {
        if (!running || underWay.size >= inFlight) return;
        try {
          for (const job of await claimWork(webhookNumber, owner, loadOf)) begin(job);
        } catch (error) {
          // The webhook changed under the claim: the next look sees it as it is now.
          if (!(error instanceof StaleWrite)) throw error;
        }
      }
    }
  };

  const wake = (): void => {
    if (!running) return;
    if (round !== null) {
      again = true;
      return;
    }
    round = look()
      .catch((error: unknown) => {
        again = false;
        log.error({ err: error }, 'the dispatcher could not look for work');
      })
      .finally(() => {
        round = null;
        if (again) {
          again = false;
          wake();
        }
      });
  };

  const begin = (job: Job): void => {
    const { endpoint, webhook } = job.route;
    const { webhookNumber } = webhook.progress;
    const records = job.batch === null ? 0 : job.batch.lastOffset - job.batch.firstOffset + 1;
    rates.spend(webhookNumber, webhook.maxRecordsPerSecond, records, clock());
    count(perEndpoint, endpoint.id, 1);
    count(perWebhook, webhookNumber, 1);
    const delivery = deliver(job)
      .catch((error: unknown) =>
        log.error({ webhookId: webhook.id, batchId: job.batch?.id, err: error }, 'a delivery broke off'),
      )
      .finally(() => {
        underWay.delete(delivery);
        count(perEndpoint, endpoint.id, -1);
        count(perWebhook, webhookNumber, -1);
        wake();
      });
    underWay.add(delivery);
  };

  const deliver = async (job: Job): Promise<void> => {
    const { route, batch, sessionId } = job;
    const records =
      batch === null ? [] : await recordsOf(store, batch.webhookNumber, batch.firstOffset, batch.lastOffset);
    if (batch !== null && records.length === 0) return settle.discard(job, owner);
    const parts = {
      webhook: route.webhook,
      endpoint: route.endpoint,
      key: route.key,
      sessionId,
      batchId: batch?.id ?? newId(),
      attemptNumber: batch?.attemptNumber ?? 1,
      records,
    };
    const sent = await send(parts, abandon.signal);
    if (abandon.signal.aborted && !sent.outcome.ok && sent.outcome.errorClass === 'internal')
      return settle.release(job, owner);
    return settle.settle(job, sent, owner);
  };

  return {
    wake,
    start: async () => {
      await store.dispatch.releaseAll(clock());
      running = true;
      timer = setInterval(wake, pollMs);
      wake();
    },
    stop: async () => {
      running = false;
      if (timer !== null) clearInterval(timer);
      await round;
      const drained = Promise.all(underWay);
      const deadline = setTimeout(() => abandon.abort(), DRAIN_MS);
      await drained;
      clearTimeout(deadline);
    },
    isAlive: () => running && (round === null || underWay.size >= inFlight || clock() - roundAt < ROUND_LIMIT_MS),
  };
}

/** The records of a batch without those that were erased since. */
async function recordsOf(store: Store, webhookNumber: number, first: number, last: number): Promise<EnvelopeRecord[]> {
  const records = await store.dispatch.records(webhookNumber, first, last);
  return records.filter((record): record is LogRecord & { dataJson: string } => record.dataJson !== null);
}

function count<Key>(counts: Map<Key, number>, key: Key, change: number): void {
  const next = (counts.get(key) ?? 0) + change;
  if (next === 0) counts.delete(key);
  else counts.set(key, next);
}
