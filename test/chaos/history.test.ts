import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Arrival, type History, type Publish, type Violation, violations } from './history.ts';

const EVENTS = 4;
/** Published by this person, and erased in `RIGHT` before any of it went out. */
const ERASED = 2;

const publish = (n: number, more: Partial<Publish> = {}): Publish => ({
  key: `key-${n}`,
  subject: n === ERASED ? 'jane' : null,
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
const all = Array.from({ length: EVENTS }, (_, n) => n);
const kept = all.map((offset) => ({
  offset,
  eventId: `event-${offset}`,
  state: offset === ERASED ? 'discarded' : 'delivered',
}));
const webhooks = [
  { name: 'plain', ordered: false, kept },
  { name: 'ordered', ordered: true, kept },
];

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
  ],
  erasures: [{ subject: 'jane', repliedAtMs: 500 }],
};

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

  for (const [what, kind, wrong] of WRONG) {
    it(`finds ${what}: ${kind}`, () => {
      const kinds = violations({ ...RIGHT, ...wrong }).map((violation) => violation.kind);
      assert.ok(kinds.includes(kind), kinds.join(', ') || 'found nothing');
    });
  }
});
