/**
 * Six days of life in a few seconds: the real service publishes and delivers to real receivers, by a clock that leaps from one moment to
 * the next as soon as nothing is in progress.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { EMBEDDING_PROGRAM } from '../../src/domain/acting.ts';
import type { WebhookState } from '../../src/domain/webhook.ts';
import { readEvents } from '../../src/events/event-input.ts';
import { eventsText } from '../../src/events/publish.ts';
import type { Services } from '../../src/services/services.ts';
import { type Cast, dataOf, type EventName } from './cast.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
export const LIFE_DAYS = 6;
export const LIFE_MS: number = LIFE_DAYS * DAY_MS;

/** A clock that runs, and can leap forward. */
export type LeapingClock = { readonly now: () => number; leapTo(at: number): void };

export function createLeapingClock(start: number): LeapingClock {
  let [at, since] = [start, performance.now()];
  const now = (): number => Math.round(at + performance.now() - since);
  return {
    now,
    leapTo: (later) => {
      [at, since] = [Math.max(later, now()), performance.now()];
    },
  };
}

/** A number in [0, 1). The same numbers in every run. */
export type Chance = () => number;

export function createChance(seed: number): Chance {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** Lives until `end`, or until the demo is stopped. Returns how many events were published. */
export async function liveSixDays(
  services: Services,
  {
    clock,
    cast,
    chance,
    end,
    isStopped,
    dayEnds,
  }: {
    readonly clock: LeapingClock;
    readonly cast: Cast;
    readonly chance: Chance;
    readonly end: number;
    readonly isStopped: () => boolean;
    /** Is told how many days are over, and how many events they had. */
    readonly dayEnds: (days: number, published: number) => void;
  },
): Promise<number> {
  let published = 0;
  let days = 0;
  for (const at of momentsUntil(end, chance)) {
    if (isStopped()) break;
    for (; at >= end - LIFE_MS + (days + 1) * DAY_MS; days += 1) dayEnds(days + 1, published);
    clock.leapTo(at);
    const count = eventsAt(at, chance);
    await publishOrders(services, cast, chance, { first: published, count });
    published += count;
    await quiet(services);
  }
  clock.leapTo(end);
  if (!isStopped()) dayEnds(LIFE_DAYS, published);
  return published;
}

/** Every hour and a half or so, in the last day more often, and in the last hour every minute or two: each costs a wait for the service. */
function momentsUntil(end: number, chance: Chance): readonly number[] {
  const moments: number[] = [];
  const lastHour = end - HOUR_MS;
  for (let at = end - LIFE_MS + HOUR_MS; at < end; ) {
    moments.push(Math.round(at));
    const minutes = end - at > DAY_MS ? 90 : at < lastHour ? 40 : 1.5;
    const next = at + minutes * MINUTE_MS * (0.5 + chance());
    at = at < lastHour ? Math.min(next, lastHour) : next;
  }
  return moments;
}

/** Most by day, few at night. */
function eventsAt(at: number, chance: Chance): number {
  const hour = new Date(at).getHours();
  const busy = Math.max(0, Math.sin(((hour - 6) / 16) * Math.PI));
  return 1 + Math.round(chance() * 3 + busy * 8);
}

/** Publishes orders of the customers: most are new, some ship, are paid or are cancelled. */
export async function publishOrders(
  services: Services,
  { customers }: Cast,
  chance: Chance,
  { first, count }: { readonly first: number; readonly count: number },
): Promise<void> {
  const events = Array.from({ length: count }, (_, at) => {
    const type = TYPES[Math.floor(chance() * TYPES.length)] ?? 'order.created';
    const customer = customers[Math.floor(chance() * customers.length)];
    const data = dataOf(type, 1000 + first + at, Math.round(20 + chance() * 480));
    return { type, customerId: customer?.id, subject: `buyer-${Math.floor(chance() * 60)}`, data };
  });
  await services.publish(readEvents(eventsText({ events })), EMBEDDING_PROGRAM);
}

/** By how often each happens. */
const TYPES: readonly EventName[] = [
  ...(['order.created', 'order.created', 'order.created', 'order.created', 'order.shipped', 'order.shipped'] as const),
  ...(['order.shipped', 'invoice.paid', 'invoice.paid', 'order.cancelled'] as const),
];

/** The dispatcher looks for work at most every ten milliseconds. */
const LOOK_EVERY_MS = 12;
/** The newest: just published deliveries are among them, and failing ones are mostly older. */
const PENDING_LOOKED_AT = 30;
const PATIENCE_MS = 1000;

/** Waits until no request is in progress and no working webhook has anything to send. What fails waits for the next leap. */
async function quiet({ deliveries }: Services): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until) {
    await pause(LOOK_EVERY_MS);
    const { items } = await deliveries.list({ state: 'pending' }, null, PENDING_LOOKED_AT);
    if (!items.some(({ isLeased, webhookState }) => isLeased || WORKING.includes(webhookState))) return;
  }
}

const WORKING: readonly WebhookState[] = ['started', 'running'];
