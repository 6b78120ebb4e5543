/** Carries jobs out: reads what each needs as it is now, sends it, and says what came of it. */
import type { Clock, Ids } from '../ids.ts';
import { MESSAGE_OVERHEAD_BYTES, RECORD_OVERHEAD_BYTES } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Batch, LogRecord } from '../store/dispatch.ts';
import type { Route } from '../store/routes.ts';
import type { Store } from '../store/store.ts';
import { encryptionNeed } from '../webhooks/encryption-rule.ts';
import { isRunnable } from '../webhooks/lifecycle.ts';
import type { EnvelopeRecord } from '../wire/envelope.ts';
import { heavyTurns } from '../wire/turns.ts';
import { createDepartures } from './departures.ts';
import { attemptMs, type Job, type Result } from './job.ts';
import { stopReason } from './plan.ts';
import { createQuota } from './quota.ts';
import type { Send, Sent } from './send.ts';
import { stopByService } from './stop.ts';

/** Never throws. `signal` ends an attempt that is under way: it is kept as one, but does not count. */
export type Deliver = (job: Job, signal: AbortSignal) => Promise<Result>;

type Dependencies = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly send: Send;
  readonly log: Log;
  /** How many requests were answered by now. */
  readonly answeredRequests: () => number;
  /** Told of what goes out, in the moment it does. */
  readonly onStart: (job: Job, route: Route, now: number) => void;
};

type Departure = { readonly job: Job; readonly signal: AbortSignal; readonly end: (result: Result) => void };

const RELEASED: Result = { kind: 'release' };

export function createDeliver({ store, clock, ids, send, log, answeredRequests, onStart }: Dependencies): Deliver {
  /** Sends what may be sent; answers the bytes that it took to read, 0 where nothing was sent. */
  const depart = async ({ job, signal, end }: Departure, reading: Reading): Promise<number> => {
    const { batch, webhookNumber } = job;
    const now = clock();
    const route = signal.aborted ? null : await reading.route(webhookNumber);
    if (route === null || !mayBeSent(job, route, now)) {
      end(RELEASED);
      return 0;
    }
    const { webhook, endpoint, key } = route;
    // Read now and not at the claim: what was erased since does not go out, and memory holds what is under way alone.
    const records = batch === null ? [] : await recordsOf(store, batch);
    if (batch !== null && records.length === 0) {
      end({ kind: 'discarded' });
      return 0;
    }
    if (key === null && (await reading.mustBeEncrypted(records))) {
      await stopByService({ store, ids, log }, route, 'encryption_key_missing', now);
      end(RELEASED);
      return 0;
    }
    onStart(job, route, now);
    const sending = send(
      {
        webhook,
        endpoint,
        key,
        sessionId: webhook.progress.sessionId ?? ids.uuid(),
        batchId: batch?.id ?? ids.uuid(),
        attemptNumber: batch?.attemptNumber ?? 1,
        records,
      },
      signal,
    );
    void sending.then((sent) => end({ kind: isCutOff(sent, signal) ? 'cut off' : 'sent', sent }));
    return bytesOf(records);
  };

  const { add } = createDepartures<Departure>(
    createQuota(answeredRequests, () => performance.now()),
    heavyTurns,
    () => {
      const reading = createReading(store);
      return async (departure) => {
        const { job, end } = departure;
        try {
          return await depart(departure, reading);
        } catch (error) {
          log.error({ webhookNumber: job.webhookNumber, batchId: job.batch?.id, err: error }, 'a delivery broke off');
          end(RELEASED);
          return 0;
        }
      };
    },
  );

  return (job, signal) => new Promise((end) => add({ job, signal, end }));
}

/** Much may have changed since the claim: an administrator stopped it, its key expired, the wait outlasted its lease. */
function mayBeSent({ leaseExpiresAt }: Job, route: Route, now: number): boolean {
  const { state } = route.webhook.progress;
  return isRunnable(state) && stopReason(route, now) === null && now + attemptMs(route) <= leaseExpiresAt;
}

/** The service is stopping and waits no longer. */
function isCutOff({ outcome }: Sent, signal: AbortSignal): boolean {
  return signal.aborted && !outcome.ok && outcome.errorClass === 'internal';
}

/** What all that departs in one turn shares: read anew in the next. */
type Reading = {
  route(webhookNumber: number): Promise<Route | null>;
  /**
   * Whether one of the records may not go out in clear. What a webhook subscribes to is checked when it is set up; its log may be
   * older than that, from when it had a key.
   */
  mustBeEncrypted(records: readonly EnvelopeRecord[]): Promise<boolean>;
};

function createReading(store: Store): Reading {
  const routes = new Map<number, Promise<Route | null>>();
  const needs = new Map<string, boolean>();
  return {
    route: (webhookNumber) => {
      const route = routes.get(webhookNumber) ?? store.dispatch.route(webhookNumber);
      routes.set(webhookNumber, route);
      return route;
    },
    mustBeEncrypted: async (records) => {
      for (const { eventType } of records) {
        const types = [eventType];
        const need =
          needs.get(eventType) ?? encryptionNeed(types, await store.eventTypes.requiringEncryption(types)) !== null;
        needs.set(eventType, need);
        if (need) return true;
      }
      return false;
    },
  };
}

/** The records of a batch without those that were erased since. */
async function recordsOf(
  store: Store,
  { webhookNumber, firstOffset, lastOffset }: Batch,
): Promise<readonly EnvelopeRecord[]> {
  const records = await store.dispatch.records(webhookNumber, firstOffset, lastOffset);
  return records.filter((record): record is LogRecord & { dataJson: string } => record.dataJson !== null);
}

function bytesOf(records: readonly EnvelopeRecord[]): number {
  return records.reduce((sum, { dataJson }) => sum + dataJson.length + RECORD_OVERHEAD_BYTES, MESSAGE_OVERHEAD_BYTES);
}
