/** Carries one job out: reads what it needs as it is now, sends it, and says what came of it. */
import type { Clock, Ids } from '../ids.ts';
import { DELIVERY_BYTES_PER_TURN, RECORD_OVERHEAD_BYTES } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Batch, LogRecord } from '../store/dispatch.ts';
import type { Route } from '../store/routes.ts';
import type { Store } from '../store/store.ts';
import { encryptionNeed } from '../webhooks/encryption-rule.ts';
import { isRunnable } from '../webhooks/lifecycle.ts';
import type { EnvelopeRecord } from '../wire/envelope.ts';
import { heavyTurns } from '../wire/turns.ts';
import { attemptMs, type Job, type Result } from './job.ts';
import { createPace } from './pace.ts';
import { stopReason } from './plan.ts';
import type { Send } from './send.ts';
import { stopByService } from './stop.ts';

/** Never throws. `signal` ends an attempt that is under way; it counts as not made then. */
export type Deliver = (job: Job, signal: AbortSignal) => Promise<Result>;

type Dependencies = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly send: Send;
  readonly log: Log;
  /** Told of what goes out, in the moment it does. */
  readonly onStart: (job: Job, route: Route, now: number) => void;
};

const RELEASED: Result = { kind: 'release' };

export function createDeliver({ store, clock, ids, send, log, onStart }: Dependencies): Deliver {
  const { paced } = createPace(DELIVERY_BYTES_PER_TURN, heavyTurns);
  const attempt = async (job: Job, signal: AbortSignal): Promise<Result> => {
    const { batch, webhookNumber } = job;
    const now = clock();
    const route = await store.dispatch.route(webhookNumber);
    if (route === null || !mayBeSent(job, route, now)) return RELEASED;
    const { webhook, endpoint, key } = route;
    // Read now and not at the claim: what was erased since does not go out, and memory holds what is under way alone.
    const records = batch === null ? [] : await paced(() => recordsOf(store, batch), bytesOf);
    if (batch !== null && records.length === 0) return { kind: 'discarded' };
    if (key === null && (await mustBeEncrypted(store, records))) {
      await stopByService({ store, ids, log }, route, 'encryption_key_missing', now);
      return RELEASED;
    }
    onStart(job, route, now);
    const sent = await send(
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
    const givenUp = signal.aborted && !sent.outcome.ok && sent.outcome.errorClass === 'internal';
    return givenUp ? RELEASED : { kind: 'sent', sent };
  };

  return async (job, signal) => {
    try {
      return signal.aborted ? RELEASED : await attempt(job, signal);
    } catch (error) {
      log.error({ webhookNumber: job.webhookNumber, batchId: job.batch?.id, err: error }, 'a delivery broke off');
      return RELEASED;
    }
  };
}

/** Much may have changed since the claim: an administrator stopped it, its key expired, the wait outlasted its lease. */
function mayBeSent({ leaseExpiresAt }: Job, route: Route, now: number): boolean {
  const { state } = route.webhook.progress;
  return isRunnable(state) && stopReason(route, now) === null && now + attemptMs(route) <= leaseExpiresAt;
}

/**
 * Whether one of the records may not go out in clear. What a webhook subscribes to is checked when it is set up; its log may be
 * older than that, from when it had a key.
 */
async function mustBeEncrypted(store: Store, records: readonly EnvelopeRecord[]): Promise<boolean> {
  const types = [...new Set(records.map(({ eventType }) => eventType))];
  return encryptionNeed(types, await store.eventTypes.requiringEncryption(types)) !== null;
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
  return records.reduce((sum, { dataJson }) => sum + dataJson.length, records.length * RECORD_OVERHEAD_BYTES);
}
