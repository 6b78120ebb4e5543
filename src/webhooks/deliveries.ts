/** Deliveries as resources (contract §4.2): reading and replaying them. */
import { z } from 'zod';
import type { Acting } from '../domain/acting.ts';
import { type AuditEntry, auditEntry } from '../domain/audit.ts';
import type { AttemptRecord } from '../domain/batch.ts';
import { adviceForOwner, type ErrorClass, RESPONSE_KEPT_BYTES } from '../domain/outcome.ts';
import type { Delivery, Webhook, WebhookMode } from '../domain/webhook.ts';
import { isRunnable } from '../domain/webhook-states.ts';
import { type Clock, deliveryAddress, type Ids } from '../kernel/ids.ts';
import { Refusal, refuseBackwards } from '../kernel/refusal.ts';
import { id, instant, isoInstant } from '../kernel/schemas.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import type {
  DeliveryContent,
  DeliveryFilter,
  DeliveryPage,
  DeliveryVerbs,
  ReplayableState,
  ReplayRange,
} from '../store/port/deliveries.ts';
import type { Store } from '../store/port/store.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import { READ_AGAIN } from './endings.ts';
import { REPLAYABLE, type ReplayInput } from './webhook-schema.ts';

/** Attempts in a response for one delivery. */
export const ATTEMPTS_SHOWN = 200;

const milliseconds = z.number().nullable();

export const attemptView = z
  .object({
    id,
    kind: z.enum(['delivery', 'heartbeat', 'test']),
    attemptNumber: z.int(),
    startedAt: instant,
    batchId: z.string().nullable(),
    requestHeaders: z.record(z.string(), z.string()).meta({ description: 'As sent, secrets masked.' }),
    responseStatus: z.int().nullable(),
    responseHeaders: z.record(z.string(), z.string()).nullable(),
    responseBody: z
      .string()
      .nullable()
      .meta({ description: `The first ${RESPONSE_KEPT_BYTES / 1024} KiB.` }),
    responseProblem: z.string().nullable().meta({
      description: 'How the response violates HTTP, or why its rest could not be read. The status counts all the same.',
    }),
    delivered: z.boolean(),
    errorClass: z.string().nullable(),
    error: z.string().nullable(),
    advice: z.string().nullable().meta({ description: 'What to do about the error.' }),
    timings: z.object({
      dnsMs: milliseconds,
      connectMs: milliseconds,
      tlsMs: milliseconds,
      firstByteMs: milliseconds,
      totalMs: milliseconds,
    }),
  })
  .meta({ id: 'Attempt', description: 'One request to a receiver, and its outcome.' });
export type AttemptView = z.infer<typeof attemptView>;

export const deliveryView = z
  .object({
    id,
    webhookId: id,
    eventId: id,
    eventType: z.string(),
    orderingKey: z.string().nullable().meta({ description: 'Of the event; null without one, and once erased.' }),
    offset: z.int(),
    state: z.enum(['pending', 'delivered', 'dead', 'discarded']),
    attemptCount: z.int(),
    nextAttemptAt: instant.nullable(),
    settledAt: instant.nullable(),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Delivery', description: "One event in a webhook's log, and whether it has arrived." });
export const deliveryWithAttempts = deliveryView
  .extend({ attempts: z.array(attemptView) })
  .meta({ id: 'DeliveryWithAttempts', description: 'A delivery with the requests that carried it.' });
export type DeliveryView = z.infer<typeof deliveryView>;

/** An unknown `webhookId` finds nothing. */
export type DeliverySearch = Omit<DeliveryFilter, 'webhookNumber' | 'webhookNumbers'> & {
  readonly webhookId?: string;
  /** Only deliveries of this customer's webhooks. */
  readonly customerId?: string;
};

type Attempted = { readonly delivery: Delivery; readonly attempts: readonly AttemptRecord[] };

export type Deliveries = {
  get(id: string): Promise<Attempted>;
  /** The event that it carries. */
  content(id: string): Promise<DeliveryContent>;
  /** Newest event first. `before` is the `next` of the previous page. */
  list(search: DeliverySearch, before: string | null, limit: number): Promise<DeliveryPage>;
  /**
   * Makes a delivered or dead delivery pending again, with the same message id, and a pending one due. The usual rules apply. One that is
   * being sent stays as it is.
   */
  replay(id: string, acting: Acting): Promise<Delivery>;
  /** Replays several deliveries and returns how many. Unknown, pending, discarded and erased ones are skipped. */
  replaySelected(ids: readonly string[], acting: Acting): Promise<{ readonly replayed: number }>;
  /** How many records `replay` of the webhook would send again with the same input. */
  countReplay(webhookId: string, input: ReplayRequest): Promise<number>;
};

/** With `cause`, only records that were given up for it (`FailureGroup`). Callers of the API cannot name a cause. */
export type ReplayRequest = ReplayInput & { readonly cause?: string };

type Dependencies = {
  readonly store: CustomerVerbs & DeliveryVerbs & WebhookVerbs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly wake: () => void;
};

export function createDeliveries({ store, clock, ids, wake }: Dependencies): Deliveries {
  const look = async (id: string): Promise<Delivery | null> => {
    const address = deliveryAddress(id);
    return address === null ? null : store.deliveries.get(address);
  };
  const find = async (id: string): Promise<Delivery> => {
    const delivery = await look(id);
    if (delivery === null) throw new Refusal('not_found', `there is no delivery ${id.slice(0, 64)}`);
    return delivery;
  };
  /** Replays consecutive records of one log. */
  const replayRun = async (run: readonly Delivery[], acting: Acting): Promise<number> => {
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined) return 0;
    const { webhookNumber, offset } = first;
    const now = clock();
    const { customerId } = first;
    const entry = { id: ids.uuid(), at: now, actor: acting.actor, customerId, ...replayEntry(first, last) };
    const range = { webhookNumber, first: offset, last: last.offset, states: REPLAYABLE, now, newId: ids.uuid };
    const replayed = await store.replays.replay(range, entry);
    wake();
    return replayed;
  };
  /** Makes a pending delivery due. */
  const hasten = async (delivery: Delivery, acting: Acting): Promise<void> => {
    const { id, webhookId, webhookNumber, offset, customerId, nextAttemptAt } = delivery;
    const now = clock();
    const { ordered } = (await store.webhooks.get(webhookId)) ?? { ordered: false as const };
    const entry: AuditEntry = auditEntry(ids, acting.actor, 'delivery.replay', `delivery:${id}`, {
      at: now,
      customerId,
      changes: { nextAttemptAt: { from: isoInstant(nextAttemptAt), to: isoInstant(now) } },
    });
    await store.replays.tryNow({ webhookNumber, offset, ordered, now }, entry);
    wake();
  };
  return {
    get: async (id) => {
      const delivery = await find(id);
      return {
        delivery,
        attempts: await store.attempts.ofRecord(delivery.webhookNumber, delivery.offset, ATTEMPTS_SHOWN),
      };
    },
    content: async (id) => {
      const { webhookNumber, offset } = await find(id);
      const content = await store.deliveries.content(webhookNumber, offset);
      if (content === null) throw new Refusal('not_found', `there is no delivery ${id}`);
      return content;
    },
    list: async ({ webhookId, customerId, ...asked }, before, limit) => {
      const ofCustomer = customerId === undefined ? null : await store.customers.webhookNumbers(customerId);
      const filter = ofCustomer === null ? asked : { ...asked, webhookNumbers: [...ofCustomer.keys()] };
      const webhook = webhookId === undefined ? undefined : await store.webhooks.get(webhookId);
      if (webhook === null) return { items: [], next: null };
      const scoped = webhook === undefined ? filter : { ...filter, webhookNumber: webhook.progress.webhookNumber };
      return store.deliveries.list(scoped, before === null ? null : deliveryAddress(before), limit);
    },
    replay: async (id, acting) => {
      const delivery = await find(id);
      refusePulledReplay(delivery.webhookMode);
      if (isReplayable(delivery)) await replayRun([delivery], acting);
      else if (delivery.state !== 'pending' || delivery.erasedAt !== null) throw notReplayable(delivery);
      else if (!isRunnable(delivery.webhookState)) throw waitsForStart(delivery);
      else if (isWaiting(delivery, clock())) await hasten(delivery, acting);
      return find(id);
    },
    replaySelected: async (selected, acting) => {
      const found = await Promise.all([...new Set(selected)].map(look));
      const replayable = found.filter((delivery) => delivery !== null && isReplayable(delivery));
      let replayed = 0;
      for (const run of runsOf(replayable as readonly Delivery[])) replayed += await replayRun(run, acting);
      return { replayed };
    },
    countReplay: async (webhookId, input) => {
      const webhook = await store.webhooks.get(webhookId);
      if (webhook === null) throw new Refusal('not_found', `there is no webhook ${webhookId.slice(0, 64)}`);
      refusePulledReplay(webhook.mode);
      const { range } = await askedReplay(store, webhook, input);
      return range === null ? 0 : store.replays.count(range);
    },
  };
}

function notReplayable({ state, erasedAt }: Delivery): Refusal {
  const why = `is ${state}: only a delivered, dead or pending one can be sent`;
  const isErased = erasedAt !== null && state !== 'discarded';
  return new Refusal('invalid_state', `the delivery ${isErased ? 'has no data any more, which was erased' : why}`);
}

function waitsForStart({ webhookState }: Delivery): Refusal {
  const why = webhookState === 'failed' ? 'has failed' : 'is stopped';
  return new Refusal('invalid_state', `the delivery is pending, and its webhook ${why}: start the webhook to send it`);
}

/** Whether a pending delivery waits for its time or for those before it: it is neither being sent nor due. */
export function isWaiting({ state, erasedAt, webhookMode, nextAttemptAt, isLeased }: Delivery, now: number): boolean {
  if (state !== 'pending' || erasedAt !== null || webhookMode !== 'push' || isLeased) return false;
  return nextAttemptAt === null || nextAttemptAt > now;
}

/** The audit entry: the former state of a single delivery, or the range of several records. */
function replayEntry(first: Delivery, last: Delivery): Pick<AuditEntry, 'action' | 'target' | 'changes'> {
  if (first === last) {
    const changes = { state: { from: first.state, to: 'pending' } };
    return { action: 'delivery.replay', target: `delivery:${first.id}`, changes };
  }
  const changes = { records: { from: null, to: { firstOffset: first.offset, lastOffset: last.offset } } };
  return { action: 'webhook.replay', target: `webhook:${first.webhookId}`, changes };
}

/** Groups deliveries into runs of consecutive records of one log. */
function runsOf(deliveries: readonly Delivery[]): Delivery[][] {
  const runs: Delivery[][] = [];
  for (const delivery of deliveries.toSorted((a, b) => a.webhookNumber - b.webhookNumber || a.offset - b.offset)) {
    const before = runs.at(-1)?.at(-1);
    const follows = before?.webhookNumber === delivery.webhookNumber && before.offset + 1 === delivery.offset;
    if (follows) runs.at(-1)?.push(delivery);
    else runs.push([delivery]);
  }
  return runs;
}

export function viewDelivery(delivery: Delivery): DeliveryView {
  const { id, webhookId, eventId, eventType, orderingKey, offset, state, attemptCount, createdAt, settledAt } =
    delivery;
  return {
    id,
    webhookId,
    eventId,
    eventType,
    orderingKey,
    offset,
    state,
    attemptCount,
    nextAttemptAt: isoInstant(delivery.nextAttemptAt),
    settledAt: isoInstant(settledAt),
    createdAt: isoInstant(createdAt),
    updatedAt: isoInstant(delivery.updatedAt),
  };
}

/** A delivery as reads of one return it. */
export function viewWithAttempts({ delivery, attempts }: Attempted): z.infer<typeof deliveryWithAttempts> {
  return { ...viewDelivery(delivery), attempts: attempts.map((one) => viewAttempt(one, delivery.customerId)) };
}

/** `customerId`: of the webhook. */
export function viewAttempt(attempt: AttemptRecord, customerId: string | null): AttemptView {
  const { id, kind, attemptNumber, batchId, responseStatus, responseBody, errorClass, errorMessage, timings } = attempt;
  return {
    id,
    kind,
    attemptNumber,
    startedAt: isoInstant(attempt.startedAt),
    batchId,
    requestHeaders: { ...attempt.requestHeaders },
    responseStatus,
    responseHeaders: attempt.responseHeaders === null ? null : { ...attempt.responseHeaders },
    responseBody: responseBody === null ? null : Buffer.from(responseBody).toString('utf8'),
    responseProblem: attempt.responseProblem,
    delivered: errorClass === null,
    errorClass,
    error: errorMessage,
    advice:
      errorClass === null
        ? null
        : adviceForOwner(customerId, errorClass as ErrorClass, attempt.responseStatus, errorMessage),
    timings: { ...timings },
  };
}

type AskedReplay = {
  /** Null if the log has no record of that time. */
  readonly range: ReplayRange | null;
  /** For the audit log. */
  readonly asked: {
    readonly since: string | null;
    readonly until: string | null;
    readonly states: readonly ReplayableState[];
    readonly cause?: string;
    readonly orderingKey?: string;
  };
};

/** Throws 409 in mode `pull`: nothing is sent, and readers can read acknowledged records again. */
export function refusePulledReplay(mode: WebhookMode): void {
  if (mode === 'push') return;
  throw new Refusal('invalid_state', 'the webhook is in mode pull, and nothing is sent again', { ending: READ_AGAIN });
}

/** Erased records have no data to send, and those of mode `pull` are not sent. */
export function isReplayable({
  state,
  erasedAt,
  webhookMode,
}: Pick<Delivery, 'state' | 'erasedAt' | 'webhookMode'>): boolean {
  return webhookMode === 'push' && erasedAt === null && (REPLAYABLE as readonly string[]).includes(state);
}

/** Throws 400 if `until` is not later than `since`. */
export async function askedReplay(
  { deliveries }: Pick<Store, 'deliveries'>,
  { progress: { webhookNumber } }: Webhook,
  { since, until, states: named, cause, orderingKey }: ReplayRequest,
): Promise<AskedReplay> {
  // Without a range, replaying delivered records would send the whole log again.
  const only = { ...(cause !== undefined && { cause }), ...(orderingKey !== undefined && { orderingKey }) };
  const states =
    cause !== undefined
      ? (['dead'] as const)
      : (named ?? (since === undefined && until === undefined ? ['dead' as const] : REPLAYABLE));
  const from = since === undefined ? 0 : Date.parse(since);
  // To the end of the log rather than to now: after the clock was set back, records may be later than now.
  const to = until === undefined ? null : Date.parse(until);
  refuseBackwards(from, to);
  const offsets = await deliveries.offsetsBetween(webhookNumber, { since: from, until: to });
  return {
    range: offsets === null ? null : { webhookNumber, ...offsets, states, ...only },
    asked: { since: since ?? null, until: until ?? null, states, ...only },
  };
}
