/** Replaying a part of a webhook's log: from the request to the range of records. */
import { refuseBackwards } from '../kernel/refusal.ts';
import type { ReplayableState, ReplayRange } from '../store/deliveries.ts';
import type { Store } from '../store/store.ts';
import type { Delivery } from './delivery.ts';
import type { Webhook } from './webhook.ts';
import { REPLAYABLE, type ReplayInput } from './webhook-schema.ts';

export type AskedReplay = {
  /** Null if the log has no record of that time. */
  readonly range: ReplayRange | null;
  /** For the audit log. */
  readonly asked: {
    readonly since: string | null;
    readonly until: string | null;
    readonly states: readonly ReplayableState[];
  };
};

/** Erased records have no data to send. */
export function isReplayable({ state, erasedAt }: Pick<Delivery, 'state' | 'erasedAt'>): boolean {
  return erasedAt === null && (REPLAYABLE as readonly string[]).includes(state);
}

/** Throws 400 if `until` is not later than `since`. */
export async function askedReplay(
  { deliveries }: Pick<Store, 'deliveries'>,
  { progress: { webhookNumber } }: Webhook,
  { since, until, states: named }: ReplayInput,
): Promise<AskedReplay> {
  // Without a range, replaying delivered records would send the whole log again.
  const states = named ?? (since === undefined && until === undefined ? ['dead' as const] : REPLAYABLE);
  const from = since === undefined ? 0 : Date.parse(since);
  // To the end of the log rather than to now: after the clock was set back, records may be later than now.
  const to = until === undefined ? null : Date.parse(until);
  refuseBackwards(from, to);
  const offsets = await deliveries.offsetsBetween(webhookNumber, { since: from, until: to });
  return {
    range: offsets === null ? null : { webhookNumber, ...offsets, states },
    asked: { since: since ?? null, until: until ?? null, states },
  };
}
