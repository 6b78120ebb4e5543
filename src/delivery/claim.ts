/** Takes work for one webhook: due retries first, then new records from the cursor, else a heartbeat that is due. */
import { SERVICE } from '../audit.ts';
import type { Clock, Ids } from '../ids.ts';
import { LEASE_MARGIN_MS, WAITING_READ_MAX } from '../limits.ts';
import type { Log } from '../log.ts';
import { type Batch, NEVER, type Route } from '../store/dispatch.ts';
import type { Store } from '../store/store.ts';
import { isRunnable, SESSION_MS, type StopReason, stoppedProgress } from '../webhooks/lifecycle.ts';
import { stateChange } from '../webhooks/status-event.ts';
import { capacity, cutBatches, idleAt, type Load, stopReason } from './plan.ts';

/** One request to be sent. `batch` is null for a heartbeat. */
export type Job = {
  readonly route: Route;
  readonly sessionId: string;
  readonly batch: Batch | null;
  /** No outcome is written after this: the lease has ended and another may hold the batch. */
  readonly leaseExpiresAt: number;
};

export type ClaimWork = (
  webhookNumber: number,
  owner: string,
  loadOf: (route: Route, now: number) => Load,
) => Promise<Job[]>;

type Dependencies = { readonly store: Store; readonly clock: Clock; readonly ids: Ids; readonly log: Log };

/** Throws `StaleWrite` when the webhook changed under the claim; the next look begins anew. */
export function createClaimWork({ store, clock, ids, log }: Dependencies): ClaimWork {
  return async (webhookNumber, owner, loadOf) => {
    const route = await store.dispatch.route(webhookNumber);
    if (route === null) return [];
    const { webhook } = route;
    const { progress } = webhook;
    if (!isRunnable(progress.state)) {
      await store.dispatch.sleep(webhookNumber);
      return [];
    }
    const now = clock();
    const reason = stopReason(route, now);
    if (reason !== null) {
      await stopByService(store, ids, route, reason, now);
      log.warn({ webhookId: webhook.id, reason }, 'webhook stopped');
      return [];
    }
    const load = loadOf(route, now);
    const room = capacity(webhook, progress, load);
    const { retries, fresh, notBefore } = await work(store, ids, route, room, load);
    const { heartbeatAt: silentUntil, renewAt } = idleAt(webhook, progress);
    // While something is under way the webhook is not silent; its outcome wakes the webhook.
    const heartbeatAt = load.underWay > 0 ? NEVER : silentUntil;
    const cursorAfter = fresh.at(-1)?.lastOffset ?? progress.cursorOffset - 1;
    const nothing = retries.length + fresh.length === 0;
    const heartbeat = nothing && room.batches > 0 && heartbeatAt <= now;
    const leaseExpiresAt = now + leaseMs(route);
    const session =
      renewAt <= now
        ? { id: ids.uuid(), at: now }
        : { id: progress.sessionId ?? ids.uuid(), at: progress.sessionAt ?? now };
    await store.dispatch.claim({
      webhookNumber,
      owner,
      now,
      leaseExpiresAt,
      retries,
      fresh,
      cursorBefore: progress.cursorOffset,
      cursorAfter: cursorAfter + 1,
      notBefore,
      idleAt: heartbeat ? leaseExpiresAt : Math.min(heartbeatAt, session.at + SESSION_MS),
      session,
    });
    const batches: (Batch | null)[] = heartbeat ? [null] : [...retries, ...fresh];
    return batches.map((batch) => ({ route, sessionId: session.id, batch, leaseExpiresAt }));
  };
}

type Room = ReturnType<typeof capacity>;
type Work = { readonly retries: readonly Batch[]; readonly fresh: readonly Batch[]; readonly notBefore: number };

async function work(store: Store, ids: Ids, { webhook }: Route, room: Room, { now, records }: Load): Promise<Work> {
  const { progress } = webhook;
  const { webhookNumber, cursorOffset, nextOffset } = progress;
  if (room.batches === 0) return { retries: [], fresh: [], notBefore: room.notBefore };
  let retries: readonly Batch[];
  if (webhook.ordered) {
    // Nothing overtakes the first pending batch, due or not.
    const first = await store.dispatch.firstPending(webhookNumber);
    if (first !== null && first.dueAt > now) return { retries: [], fresh: [], notBefore: first.dueAt };
    retries = first === null ? [] : [first.batch];
  } else {
    retries = await store.dispatch.dueBatches(webhookNumber, now, room.batches);
  }
  const maxBatches = room.batches - retries.length;
  if (maxBatches === 0 || cursorOffset >= nextOffset) return { retries, fresh: [], notBefore: 0 };
  const maxRecords = Math.min(webhook.maxBatchRecords, records);
  const waiting = await store.dispatch.waiting(
    webhookNumber,
    cursorOffset,
    Math.min(maxBatches * maxRecords, records, WAITING_READ_MAX),
  );
  const fresh = cutBatches(waiting, { maxRecords, maxBatches }).map((stretch) => ({
    ...stretch,
    webhookNumber,
    id: ids.uuid(),
    attemptNumber: 1,
    contentRefusals: 0,
  }));
  return { retries, fresh, notBefore: 0 };
}

/** An attempt may ask for a token twice and post twice; a lease outlasts that. */
function leaseMs({ webhook }: Route): number {
  return webhook.timeoutSeconds * 2000 + LEASE_MARGIN_MS;
}

/** Stops a webhook for a reason that the service found, and says so in the audit log. */
async function stopByService(
  store: Store,
  ids: Ids,
  { webhook }: Route,
  reason: StopReason,
  now: number,
): Promise<void> {
  const after = stoppedProgress(webhook.progress, 'stop', reason, now);
  await store.webhooks.setState(stateChange(webhook, after, ids), {
    id: ids.uuid(),
    at: now,
    actor: SERVICE,
    action: 'webhook.stop',
    target: `webhook:${webhook.id}`,
    changes: { state: { from: webhook.progress.state, to: after.state }, stateReason: { from: null, to: reason } },
  });
}
