/** Sending a stretch of a webhook's log again: what is asked for, and which records that means. */
import { refuseBackwards } from '../kernel/refusal.ts';
import type { ReplayableState, ReplayRange } from '../store/deliveries.ts';
import type { Store } from '../store/store.ts';
import type { Delivery } from './delivery.ts';
import type { Webhook } from './webhook.ts';
import { REPLAYABLE, type ReplayInput } from './webhook-schema.ts';

export type AskedReplay = {
  /** Null: nothing happened then. */
  readonly range: ReplayRange | null;
  /** As the audit log tells it. */
  readonly asked: {
    readonly since: string | null;
    readonly until: string | null;
    readonly states: readonly ReplayableState[];
  };
};

/** Of what was erased there is nothing to send. */
export function isReplayable({ state, erasedAt }: Pick<Delivery, 'state' | 'erasedAt'>): boolean {
  return erasedAt === null && (REPLAYABLE as readonly string[]).includes(state);
}

/** Throws 400, naming the field, for what makes no sense. */
export async function askedReplay(
  { deliveries }: Pick<Store, 'deliveries'>,
  { progress: { webhookNumber } }: Webhook,
  { since, until, states: named }: ReplayInput,
): Promise<AskedReplay> {
  // Without a range, everything ever delivered would go out again.
  const states = named ?? (since === undefined && until === undefined ? ['dead' as const] : REPLAYABLE);
  const from = since === undefined ? 0 : Date.parse(since);
  // To the end of the log, and not to now: after the clock was set back there are records from later than that.
  const to = until === undefined ? null : Date.parse(until);
  refuseBackwards(from, to);
  const offsets = await deliveries.offsetsBetween(webhookNumber, from, to);
  return {
    range: offsets === null ? null : { webhookNumber, ...offsets, states },
    asked: { since: since ?? null, until: until ?? null, states },
  };
}
