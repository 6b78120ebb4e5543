/**
 * The history of a kill test as seen from outside, and the checker that names broken promises. Pure: it reads the replies that publishers
 * got and the deliveries that receivers got, and knows nothing of the service.
 */

import { reordered } from './order.ts';

/** Orders all that was seen: a publish with a smaller `at` was seen earlier. Not a time. */
export type Sequence = number;

/** One idempotency key: first asked for at `askedAt`, then again until it was acknowledged. */
export type Publish = {
  readonly key: string;
  readonly subject: string | null;
  /** Absent: the event has none. */
  readonly orderingKey?: string | null;
  readonly askedAt: Sequence;
  readonly acknowledgements: readonly {
    readonly at: Sequence;
    readonly eventId: string;
    readonly duplicate: boolean;
  }[];
};

type ArrivedRecord = {
  readonly offset: number;
  readonly messageId: string;
  /** The idempotency key that the event carries in its data. */
  readonly key: string;
};

/** One delivery that a receiver verified, in the order in which it answered. `accepted`: it answered with 2xx. */
export type Arrival = {
  readonly webhook: string;
  /** When the service began the attempt, by its own clock: epoch milliseconds. */
  readonly attemptAtMs: number;
  readonly accepted: boolean;
  readonly records: readonly ArrivedRecord[];
};

/** `repliedAtMs` is null where no reply came. */
export type Erasure = { readonly subject: string; readonly repliedAtMs: number | null };

/** A delivery that the service lists at the end. */
export type Kept = { readonly offset: number; readonly eventId: string; readonly state: string };

/**
 * One reply to a receiver that reads the records of a webhook again, from the first one on: each of its requests asks for what comes after
 * the reply before.
 */
export type Reading = {
  readonly webhook: string;
  readonly askedAt: Sequence;
  readonly throughOffset: number;
  readonly newestOffset: number;
  readonly records: readonly ArrivedRecord[];
};

/** A token that was issued, what was asked about it, and how it was answered. */
export type TokenLife = {
  /** When its revocation was asked for first; null if never. */
  readonly revocationAskedAt: Sequence | null;
  /** When a revocation was confirmed. */
  readonly revokedAt: Sequence | null;
  readonly tries: readonly { readonly askedAt: Sequence; readonly answeredAt: Sequence; readonly passed: boolean }[];
};

/** A fault from its beginning until all that was stopped by it runs again. Epoch milliseconds. */
export type FaultSpan = { readonly fromMs: number; readonly untilMs: number };

/**
 * After a fault has ended, instances connect again and leases of those that are gone end. Longer than a lease and than an answer may take.
 */
export const FAULT_LASTS_MS = 12_000;

export type History = {
  readonly webhooks: readonly {
    readonly name: string;
    readonly ordered: boolean | 'key';
    readonly kept: readonly Kept[];
  }[];
  readonly publishes: readonly Publish[];
  readonly arrivals: readonly Arrival[];
  readonly erasures: readonly Erasure[];
  readonly readings?: readonly Reading[];
  readonly tokens?: readonly TokenLife[];
  /** Every fault, so that a repeat without one is a broken promise. Without it, repeats are not judged. */
  readonly faults?: readonly FaultSpan[];
  /** Instances were paused while others went on. What one was about to send may arrive late, as a repeat. */
  readonly paused?: boolean;
};

export type Violation = {
  readonly kind:
    | 'lost'
    | 'reordered'
    | 'gap'
    | 'duplicate'
    | 'erased'
    | 'unknown'
    | 'repeated'
    | 'unread'
    | 'revoked'
    | 'refused';
  readonly detail: string;
};

/** Every promise that the history breaks; none where all hold. */
export function violations(history: History): Violation[] {
  return [
    ...twice(history),
    ...strangers(history),
    ...lost(history),
    ...gaps(history),
    ...reordered(history),
    ...sentErased(history),
    ...repeated(history),
    ...unread(history),
    ...misjudged(history),
  ];
}

/** An idempotency key belongs to one event, and an event has one offset in each webhook. */
function* twice({ publishes, arrivals, webhooks, readings = [] }: History): Generator<Violation> {
  const ids = new Map<string, Set<string>>();
  const add = (key: string, id: string): void => void (ids.get(key) ?? ids.set(key, new Set()).get(key))?.add(id);
  for (const { key, acknowledgements } of publishes) {
    for (const { eventId } of acknowledgements) add(key, eventId);
    const first = acknowledgements.filter(({ duplicate }) => !duplicate).length;
    if (first > 1) yield { kind: 'duplicate', detail: `${key} was accepted as new ${first} times` };
  }
  const offsets = new Map<string, Set<number>>();
  for (const { webhook, records } of [...arrivals, ...readings]) {
    for (const { key, messageId, offset } of records) {
      add(key, messageId);
      const place = `${messageId} of ${webhook}`;
      (offsets.get(place) ?? offsets.set(place, new Set()).get(place))?.add(offset);
    }
  }
  for (const { name, kept } of webhooks) {
    for (const { eventId, offset } of kept) {
      const place = `${eventId} of ${name}`;
      (offsets.get(place) ?? offsets.set(place, new Set()).get(place))?.add(offset);
    }
  }
  for (const [key, all] of ids) {
    if (all.size > 1)
      yield { kind: 'duplicate', detail: `${key} stands for ${all.size} events: ${[...all].join(', ')}` };
  }
  for (const [place, all] of offsets) {
    if (all.size > 1) yield { kind: 'duplicate', detail: `event ${place} has the offsets ${[...all].join(', ')}` };
  }
}

/** Every delivered event was published. */
function* strangers({ publishes, arrivals, readings = [] }: History): Generator<Violation> {
  const keys = new Set(publishes.map(({ key }) => key));
  for (const { webhook, records } of [...arrivals, ...readings]) {
    for (const { key, offset } of records) {
      if (!keys.has(key))
        yield { kind: 'unknown', detail: `offset ${offset} of ${webhook} holds ${key}, which nobody published` };
    }
  }
}

/** The receiver of every webhook accepted each acknowledged event, unless its erasure was requested. */
function* lost({ webhooks, publishes, arrivals, erasures }: History): Generator<Violation> {
  const erased = new Set(erasures.map(({ subject }) => subject));
  const accepted = new Map(webhooks.map(({ name }) => [name, new Set<string>()]));
  for (const { webhook, records, accepted: ok } of arrivals) {
    if (ok) for (const { messageId } of records) accepted.get(webhook)?.add(messageId);
  }
  for (const { key, subject, acknowledgements } of publishes) {
    const eventId = acknowledgements[0]?.eventId;
    if (eventId === undefined || (subject !== null && erased.has(subject))) continue;
    for (const [name, ids] of accepted) {
      if (!ids.has(eventId))
        yield { kind: 'lost', detail: `${key} (${eventId}) was acknowledged and never reached ${name}` };
    }
  }
}

/** Offsets run from 0 without gaps; one that no receiver accepted was discarded by an erasure. */
function* gaps({ webhooks, arrivals }: History): Generator<Violation> {
  for (const { name, kept } of webhooks) {
    const arrived = new Set<number>();
    for (const { webhook, records, accepted } of arrivals) {
      if (webhook === name && accepted) for (const { offset } of records) arrived.add(offset);
    }
    const states = new Map(kept.map(({ offset, state }) => [offset, state]));
    const end = [...states.keys(), ...arrived].reduce((last, offset) => Math.max(last, offset), -1);
    for (let offset = 0; offset <= end; offset += 1) {
      const state = states.get(offset);
      if (state === undefined) yield { kind: 'gap', detail: `${name} has no offset ${offset}` };
      else if (!arrived.has(offset) && state !== 'discarded') {
        yield { kind: 'gap', detail: `offset ${offset} of ${name} is ${state} and was never accepted` };
      }
    }
  }
}

/** No attempt that begins after the reply to an erasure carries that person's events. */
function* sentErased({ publishes, arrivals, erasures }: History): Generator<Violation> {
  const subjects = new Map(publishes.map(({ key, subject }) => [key, subject]));
  const erasedAt = new Map<string, number>();
  for (const { subject, repliedAtMs } of erasures) {
    if (repliedAtMs !== null) erasedAt.set(subject, Math.min(repliedAtMs, erasedAt.get(subject) ?? repliedAtMs));
  }
  for (const { webhook, attemptAtMs, records } of arrivals) {
    for (const { key, offset } of records) {
      const at = erasedAt.get(subjects.get(key) ?? '');
      if (at !== undefined && attemptAtMs > at) {
        yield {
          kind: 'erased',
          detail: `offset ${offset} of ${webhook} went out ${attemptAtMs - at} ms after its erasure`,
        };
      }
    }
  }
}

/** A record that was accepted goes out again only if a fault may have kept its outcome from being recorded. */
function* repeated({ arrivals, faults }: History): Generator<Violation> {
  if (faults === undefined) return;
  const acceptedAt = new Map<string, number>();
  for (const { webhook, attemptAtMs, accepted, records } of arrivals) {
    for (const { offset } of records) {
      const place = `offset ${offset} of ${webhook}`;
      const before = acceptedAt.get(place);
      // An attempt that a fault held up arrives after the later one that repeats it.
      const [first, second] = [Math.min(before ?? 0, attemptAtMs), Math.max(before ?? 0, attemptAtMs)];
      const mayRepeat = ({ fromMs, untilMs }: FaultSpan): boolean =>
        fromMs <= second && first <= untilMs + FAULT_LASTS_MS;
      if (before !== undefined && !faults.some(mayRepeat)) {
        const detail = `${place} came again ${attemptAtMs - before} ms after it was accepted, with no fault between`;
        yield { kind: 'repeated', detail };
      }
      if (accepted) acceptedAt.set(place, attemptAtMs);
    }
  }
}

/**
 * A reader of a webhook from its first record on gets each record once, in order, and skips none. A reply knows every event that
 * was acknowledged before it was asked for, and the last one reaches the end.
 */
function* unread({ webhooks, publishes, readings = [] }: History): Generator<Violation> {
  const byWebhook = Map.groupBy(readings, ({ webhook }) => webhook);
  for (const { name, kept } of webhooks) {
    const replies = byWebhook.get(name);
    if (replies === undefined) continue;
    const discarded = new Set(kept.filter(({ state }) => state === 'discarded').map(({ offset }) => offset));
    let through = -1;
    for (const { throughOffset, records } of replies) {
      const expected = offsetsBetween(through, throughOffset).filter((offset) => !discarded.has(offset));
      const read = records.map(({ offset }) => offset).filter((offset) => !discarded.has(offset));
      if (read.join() !== expected.join()) {
        const detail = `${name} was read from ${through} to ${throughOffset}: [${read.join()}] and not [${expected.join()}]`;
        yield { kind: 'unread', detail };
      }
      through = Math.max(through, throughOffset);
    }
    const end = kept.reduce((last, { offset }) => Math.max(last, offset), -1);
    if (through < end)
      yield { kind: 'unread', detail: `${name} was read to ${through}, and its last record is ${end}` };
    yield* behind(name, kept, publishes, replies);
  }
}

function offsetsBetween(after: number, through: number): number[] {
  return Array.from({ length: Math.max(0, through - after) }, (_, at) => after + 1 + at);
}

/** Replies that do not know of an event that was acknowledged before they were asked for. */
function* behind(
  name: string,
  kept: readonly Kept[],
  publishes: readonly Publish[],
  replies: readonly Reading[],
): Generator<Violation> {
  const offsets = new Map(kept.map(({ eventId, offset }) => [eventId, offset]));
  const acknowledged = publishes
    .flatMap(({ acknowledgements: [first] }) =>
      first === undefined ? [] : [{ at: first.at, offset: offsets.get(first.eventId) ?? -1 }],
    )
    .sort((a, b) => a.at - b.at);
  let next = 0;
  let highest = -1;
  for (const { askedAt, newestOffset } of replies) {
    for (let one = acknowledged[next]; one !== undefined && one.at < askedAt; one = acknowledged[++next])
      highest = Math.max(highest, one.offset);
    if (newestOffset < highest) {
      const detail = `${name}: a reply knew offsets to ${newestOffset}, after offset ${highest} had been acknowledged`;
      yield { kind: 'unread', detail };
    }
  }
}

/** A token passes from its issue until its revocation is asked for, and never again after the revocation was confirmed. */
function* misjudged({ tokens = [] }: History): Generator<Violation> {
  for (const [n, { revocationAskedAt, revokedAt, tries }] of tokens.entries()) {
    for (const { askedAt, answeredAt, passed } of tries) {
      if (passed && revokedAt !== null && askedAt > revokedAt) {
        yield { kind: 'revoked', detail: `token ${n} was revoked at ${revokedAt}, and passed at ${askedAt}` };
      }
      if (!passed && (revocationAskedAt === null || answeredAt < revocationAskedAt)) {
        yield { kind: 'refused', detail: `token ${n} was refused at ${answeredAt}, and nobody had revoked it` };
      }
    }
  }
}
