/** Publishes for the kill test until the service is killed. After its restart, publishes unacknowledged events again. */
import { EDGE } from '../support/client.ts';
import { ANSWERED_WITHIN_MS, unanswered } from './answers.ts';
import type { Publish, Sequence } from './history.ts';

/** Where the service is in this life, and a token that it accepts. */
export type Door = { readonly url: string; readonly token: string };

export type Publisher = {
  readonly publishes: readonly Publish[];
  /** The next place in the order of all that is seen. */
  next(): Sequence;
  /** Publishes with some requests at once until `signal` ends it or the service is gone. */
  publishUntil(door: Door, signal: AbortSignal): Promise<void>;
  /** Publishes every unacknowledged event again. */
  finish(door: Door): Promise<void>;
  /** A subject whose events are all published, and who gets no further ones; null without one. */
  retireSubject(): string | null;
  /** Replies that no publisher should ever get. */
  readonly faults: readonly string[];
};

type Accepted = { readonly events: readonly { readonly id: string; readonly duplicate: boolean }[] };
type Asked = { -readonly [Name in keyof Publish]: Publish[Name] } & {
  readonly body: Readonly<Record<string, unknown>>;
};

const REQUESTS_AT_ONCE = 4;
const EVENTS_PER_REQUEST_MAX = 12;
const EVENTS_PER_LIFE_MAX = 120;
const SUBJECTS_AT_ONCE = 6;
const ORDERS = 8;
const PAYLOAD_MAX_LENGTH = 400;

export function createPublisher(type: string, random: () => number): Publisher {
  const publishes: Asked[] = [];
  const faults: string[] = [];
  const subjects: string[] = [];
  let sequence: Sequence = 0;
  let made = 0;
  let lastSubject = 0;
  const below = (end: number): number => Math.floor(random() * end);

  const make = (): Asked => {
    while (subjects.length < SUBJECTS_AT_ONCE) subjects.push(`person-${lastSubject++}`);
    const key = `key-${made++}`;
    const subject = below(2) === 0 ? (subjects[below(subjects.length)] ?? null) : null;
    const data = { key, filling: 'x'.repeat(below(PAYLOAD_MAX_LENGTH)) };
    const orderingKey = below(4) === 0 ? null : `order-${below(ORDERS)}`;
    const body = { type, data, idempotencyKey: key, orderingKey, ...(subject === null ? {} : { subject }) };
    const asked = { key, subject, orderingKey, askedAt: sequence++, acknowledgements: [], body };
    publishes.push(asked);
    return asked;
  };

  /** Answers whether the service replied. */
  const send = async ({ url, token }: Door, events: readonly Asked[]): Promise<boolean> => {
    const response = await fetch(`${url}${EDGE}/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ events: events.map(({ body }) => body) }),
      signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
    }).catch(unanswered('publishing', faults));
    const text = await response?.text().catch(unanswered('publishing', faults));
    if (response == null || text == null) return false;
    if (response.status !== 202) {
      if (response.status !== 503) faults.push(`publishing was answered with ${response.status}: ${text}`);
      return response.status !== 503;
    }
    const at = sequence++;
    for (const [n, { id: eventId, duplicate }] of (JSON.parse(text) as Accepted).events.entries()) {
      const asked = events[n];
      if (asked !== undefined) asked.acknowledgements = [...asked.acknowledgements, { at, eventId, duplicate }];
    }
    return true;
  };

  const open = (): Asked[] => publishes.filter(({ acknowledgements }) => acknowledgements.length === 0);

  return {
    publishes,
    faults,
    next: () => sequence++,
    publishUntil: async (door, signal) => {
      const again = open();
      let left = EVENTS_PER_LIFE_MAX;
      const work = async (): Promise<void> => {
        while (!signal.aborted && left > 0) {
          const count = 1 + below(EVENTS_PER_REQUEST_MAX);
          left -= count;
          const events = again.length > 0 ? again.splice(0, count) : Array.from({ length: count }, make);
          if (!(await send(door, events))) return;
        }
      };
      await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, work));
    },
    finish: async (door) => {
      for (const asked of open()) await send(door, [asked]);
    },
    retireSubject: () => {
      const waiting = new Set(open().map(({ subject }) => subject));
      const at = subjects.findIndex((subject) => !waiting.has(subject));
      return at === -1 ? null : (subjects.splice(at, 1)[0] ?? null);
    },
  };
}
