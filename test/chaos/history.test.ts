import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Arrival,
  FAULT_LASTS_MS,
  type FaultSpan,
  type History,
  type Publish,
  type Reading,
  type Violation,
  violations,
} from './history.ts';

const EVENTS = 4;
/** Published by this person, and erased in `RIGHT` before any of it went out. */
const ERASED = 2;

const publish = (n: number, more: Partial<Publish> = {}): Publish => ({
  key: `key-${n}`,
  subject: n === ERASED ? 'jane' : null,
  orderingKey: n === 1 ? null : `order-${n % 3}`,
  askedAt: 10 * n,
  acknowledgements: [{ at: 10 * n + 1, eventId: `event-${n}`, duplicate: false }],
  ...more,
});
const arrival = (webhook: string, offsets: readonly number[], more: Partial<Arrival> = {}): Arrival => ({
  webhook,
  attemptAtMs: 1000,
  accepted: true,
  records: offsets.map((offset) => ({ offset, messageId: `event-${offset}`, key: `key-${offset}` })),
  ...more,
});
const recordsAt = (offsets: readonly number[]): Arrival['records'] => arrival('', offsets).records;
/** A reply of the ordered webhook, which has the offsets 0 to 3. */
const reading = (offsets: readonly number[], throughOffset: number, more: Partial<Reading> = {}): Reading => ({
  webhook: 'ordered',
  askedAt: 0,
  throughOffset,
  newestOffset: EVENTS - 1,
  records: recordsAt(offsets),
  ...more,
});
const all = Array.from({ length: EVENTS }, (_, n) => n);
const kept = all.map((offset) => ({
  offset,
  eventId: `event-${offset}`,
  state: offset === ERASED ? 'discarded' : 'delivered',
}));
const webhooks = [
  { name: 'plain', ordered: false, kept },
  { name: 'ordered', ordered: true, kept },
  { name: 'keyed', ordered: 'key' as const, kept },
];

const tried = (askedAt: number, passed: boolean) => ({ askedAt, answeredAt: askedAt + 1, passed });

/** Repeats after a kill, a refusal, an acknowledgement that got lost, and an erasure: all of it is allowed. */
const RIGHT: History = {
  webhooks,
  publishes: [
    publish(0),
    publish(1, {
      acknowledgements: [
        { at: 12, eventId: 'event-1', duplicate: true },
        { at: 14, eventId: 'event-1', duplicate: true },
      ],
    }),
    publish(2),
    publish(3),
    publish(4, { acknowledgements: [] }),
  ],
  arrivals: [
    arrival('plain', [3]),
    arrival('plain', [0, 1]),
    arrival('plain', [0, 1]),
    arrival('ordered', [0], { accepted: false }),
    arrival('ordered', [0]),
    arrival('ordered', [1]),
    arrival('ordered', [1, ERASED], { attemptAtMs: 400 }),
    arrival('ordered', [1]),
    arrival('ordered', [3]),
    arrival('keyed', [1]),
    arrival('keyed', [0], { accepted: false }),
    arrival('keyed', [1]),
    arrival('keyed', [0]),
    arrival('keyed', [3]),
  ],
  erasures: [{ subject: 'jane', repliedAtMs: 500 }],
  readings: [
    reading([], -1, { newestOffset: -1 }),
    reading([0, 1], 1),
    reading([], ERASED),
    reading([3], 3),
    reading([], 3, { askedAt: 99 }),
  ],
  faults: [{ fromMs: 300, untilMs: 950 }],
  tokens: [
    { revocationAskedAt: null, revokedAt: null, tries: [tried(1, true), tried(90, true)] },
    {
      revocationAskedAt: 10,
      revokedAt: 20,
      tries: [tried(1, true), tried(11, true), tried(15, false), tried(21, false)],
    },
    { revocationAskedAt: 10, revokedAt: null, tries: [tried(11, true), tried(13, false)] },
  ],
};

/** When no fault can be the cause of a repeat any more. */
const CALM_MS = 950 + FAULT_LASTS_MS + 1;

const WRONG: readonly [what: string, kind: Violation['kind'], history: Partial<History>][] = [
  ['an acknowledged event that reached only one webhook', 'lost', { arrivals: RIGHT.arrivals.toSpliced(0, 1) }],
  [
    'an event that was sent and never accepted',
    'lost',
    { arrivals: RIGHT.arrivals.with(0, arrival('plain', [3], { accepted: false })) },
  ],
  ['an event that was discarded though nobody erased it', 'lost', { erasures: [] }],
  [
    'a number that was skipped',
    'gap',
    { webhooks: webhooks.map((webhook) => ({ ...webhook, kept: kept.filter(({ offset }) => offset !== 1) })) },
  ],
  [
    'an event that still waits at the end',
    'gap',
    {
      webhooks: webhooks.map((webhook) => ({
        ...webhook,
        kept: kept.map((one) => (one.offset === ERASED ? { ...one, state: 'pending' } : one)),
      })),
    },
  ],
  [
    'an ordered webhook that went on before its first record was accepted',
    'reordered',
    {
      arrivals: [
        ...RIGHT.arrivals.slice(0, 3),
        arrival('ordered', [1]),
        arrival('ordered', [0]),
        arrival('ordered', [3]),
      ],
    },
  ],
  [
    'an ordered webhook that sent a record again after a later one',
    'reordered',
    { arrivals: [...RIGHT.arrivals, arrival('ordered', [1])] },
  ],
  [
    'an ordered webhook whose delivery is not in order within itself',
    'reordered',
    { arrivals: [...RIGHT.arrivals.slice(0, 3), arrival('ordered', [1, 0]), arrival('ordered', [3])] },
  ],
  [
    'a webhook with order by key that sent a record of a key before the one before it was accepted',
    'reordered',
    { arrivals: [...RIGHT.arrivals.slice(0, -3), arrival('keyed', [3]), arrival('keyed', [0]), arrival('keyed', [1])] },
  ],
  [
    'a webhook with order by key that sent a record of a key again after a later one',
    'reordered',
    { arrivals: [...RIGHT.arrivals, arrival('keyed', [0])] },
  ],
  [
    'an ordered webhook that numbers events against the order of their acknowledgements',
    'reordered',
    { publishes: [publish(0, { askedAt: 35 }), publish(1, { askedAt: 5 }), publish(2), publish(3)] },
  ],
  [
    'a key that stands for two events',
    'duplicate',
    {
      publishes: RIGHT.publishes.with(
        0,
        publish(0, {
          acknowledgements: [
            { at: 1, eventId: 'event-0', duplicate: false },
            { at: 2, eventId: 'event-9', duplicate: true },
          ],
        }),
      ),
    },
  ],
  [
    'a key that was accepted as new twice',
    'duplicate',
    {
      publishes: RIGHT.publishes.with(
        0,
        publish(0, {
          acknowledgements: [
            { at: 1, eventId: 'event-0', duplicate: false },
            { at: 2, eventId: 'event-0', duplicate: false },
          ],
        }),
      ),
    },
  ],
  [
    'a key that arrives under two message ids',
    'duplicate',
    {
      arrivals: [
        ...RIGHT.arrivals,
        arrival('plain', [], { records: [{ offset: 0, messageId: 'event-9', key: 'key-0' }] }),
      ],
    },
  ],
  [
    'an event that has two offsets in one webhook',
    'duplicate',
    {
      arrivals: [
        ...RIGHT.arrivals,
        arrival('plain', [], { records: [{ offset: 1, messageId: 'event-0', key: 'key-0' }] }),
      ],
    },
  ],
  [
    'a record that goes out after its erasure was confirmed',
    'erased',
    { arrivals: [...RIGHT.arrivals, arrival('plain', [ERASED], { attemptAtMs: 501 })] },
  ],
  [
    'a record that came again though no fault happened since it was accepted',
    'repeated',
    {
      arrivals: [
        ...RIGHT.arrivals.filter(({ webhook }) => webhook === 'ordered'),
        ...[CALM_MS, CALM_MS + 1].map((attemptAtMs) => arrival('plain', all, { attemptAtMs })),
      ],
    },
  ],
  ['a record that came again before the first fault', 'repeated', { faults: [{ fromMs: 1001, untilMs: 2000 }] }],
  ['a reader that passed a record over', 'unread', { readings: [reading([0], 1), reading([3], 3)] }],
  ['a reader that got records in another order', 'unread', { readings: [reading([1, 0], 1), reading([3], 3)] }],
  ['a reader that got a record twice', 'unread', { readings: [reading([0, 1], 1), reading([1, 3], 3)] }],
  ['a reader that never came to the end', 'unread', { readings: [reading([0, 1], 1)] }],
  [
    'a reply that did not know of an event that was acknowledged before',
    'unread',
    { readings: [reading([0, 1], 1, { askedAt: 32, newestOffset: 1 }), reading([3], 3)] },
  ],
  [
    'a reader that got another event at an offset than the receiver',
    'duplicate',
    {
      readings: [reading([0, 1], 1), reading([], 3, { records: [{ offset: 3, messageId: 'event-0', key: 'key-0' }] })],
    },
  ],
  [
    'an event that was acknowledged by the primary alone, before another server took over',
    'lost',
    {
      publishes: [
        ...RIGHT.publishes,
        publish(9, { acknowledgements: [{ at: 95, eventId: 'event-9', duplicate: true }] }),
      ],
    },
  ],
  [
    'a token that passes again after its revocation was confirmed',
    'revoked',
    { tokens: [{ revocationAskedAt: 10, revokedAt: 20, tries: [tried(21, false), tried(60, true)] }] },
  ],
  [
    'a token that was issued by the primary alone, before another server took over',
    'refused',
    { tokens: [{ revocationAskedAt: 90, revokedAt: 91, tries: [tried(1, true), tried(60, false)] }] },
  ],
  [
    'a record that nobody published',
    'unknown',
    {
      arrivals: [
        ...RIGHT.arrivals,
        arrival('plain', [], { records: [{ offset: 0, messageId: 'event-0', key: 'forged' }] }),
      ],
    },
  ],
];

describe('the checker of the kill test', () => {
  it('finds nothing in a history in which every promise holds', () => {
    assert.deepEqual(violations(RIGHT), []);
  });

  it('allows a record on its way when its erasure was asked for, and one that carries it after an erasure without a reply', () => {
    const late = [...RIGHT.arrivals, arrival('plain', [ERASED], { attemptAtMs: 500 })];
    assert.deepEqual(violations({ ...RIGHT, arrivals: late }), []);
    const unconfirmed = { arrivals: [...RIGHT.arrivals, arrival('plain', [ERASED], { attemptAtMs: 900 })] };
    assert.deepEqual(violations({ ...RIGHT, ...unconfirmed, erasures: [{ subject: 'jane', repliedAtMs: null }] }), []);
  });

  it('allows a late repeat by an instance that was paused, and no first arrival out of order', () => {
    const repeat = [...RIGHT.arrivals, arrival('ordered', [1])];
    assert.deepEqual(violations({ ...RIGHT, arrivals: repeat, paused: true }), []);
    const overtaken = [...RIGHT.arrivals.slice(0, 3), ...[1, 0, 3].map((offset) => arrival('ordered', [offset]))];
    const kinds = violations({ ...RIGHT, arrivals: overtaken, paused: true }).map(({ kind }) => kind);
    assert.ok(kinds.includes('reordered'));
  });

  it('allows a repeat after a fault, and one of a record that was accepted while a fault was not over', () => {
    const lasting = [{ fromMs: 0, untilMs: 1000 - FAULT_LASTS_MS }];
    assert.deepEqual(violations({ ...RIGHT, faults: lasting }), []);
    assert.deepEqual(violations({ ...RIGHT, faults: [{ fromMs: 400, untilMs: 1000 }] }), []);
  });

  it('allows a repeat whose attempt began before a fault and arrived after the one that replaced it', () => {
    const arrivals = [
      ...RIGHT.arrivals.filter(({ webhook }) => webhook === 'ordered'),
      ...[CALM_MS + 6000, CALM_MS].map((attemptAtMs) => arrival('plain', all, { attemptAtMs })),
    ];
    const repeated = (fault: FaultSpan) =>
      violations({ ...RIGHT, arrivals, erasures: [], faults: [...(RIGHT.faults ?? []), fault] }).filter(
        ({ kind }) => kind === 'repeated',
      ).length;
    assert.equal(repeated({ fromMs: CALM_MS + 10, untilMs: CALM_MS + 5000 }), 0);
    assert.equal(repeated({ fromMs: CALM_MS + 6001, untilMs: CALM_MS + 7000 }), EVENTS);
  });

  for (const [what, kind, wrong] of WRONG) {
    it(`finds ${what}: ${kind}`, () => {
      const kinds = violations({ ...RIGHT, ...wrong }).map((violation) => violation.kind);
      assert.ok(kinds.includes(kind), kinds.join(', ') || 'found nothing');
    });
  }
});
