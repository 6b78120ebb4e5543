/** Publishing beside a customer whose filters take long: others are served meanwhile, and nothing about the result changes. */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { FILTER_PREVIEWS } from '../../src/webhooks/filter-preview.ts';
import { logs } from '../support/events.ts';
import { occupySlices } from '../support/occupied.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeEventType, openTestServices, type TestServices } from '../support/services.ts';

repeatsInSlowTier('postgres');

const TYPE = 'order.placed';
const FILTERS = 20;
const EVENTS = 300;

/** Fails at the last of its conditions, each at the end of a long path. */
const PATH = `data${'.a'.repeat(18)}`;
const SLOW = { $or: Array.from({ length: 45 }, (_, n) => ({ [`${PATH}.b${n}`]: { $lt: n } })) };
const DEEP = Array.from({ length: 18 }).reduce<object>(
  (inner) => ({ a: inner }),
  Object.fromEntries(Array.from({ length: 45 }, (_, n) => [`b${n}`, n])),
);

async function pullWebhook(s: TestServices, customerId: string, filter: object | null): Promise<string> {
  const name = `webhook ${Math.random()}`;
  const { id } = await s.webhooks.create(
    { customerId, name, mode: 'pull', eventTypes: [TYPE], filter } as never,
    ACTOR,
  );
  return id;
}

/** A customer with slow filters and a webhook of its own for a part of the events, and another customer. */
async function prepare(t: TestContext) {
  const s = await openTestServices(t);
  await makeEventType(s, TYPE);
  const slow = await s.customers.create({ name: 'slow' }, ACTOR);
  const other = await s.customers.create({ name: 'other' }, ACTOR);
  for (let n = 0; n < FILTERS; n += 1) await pullWebhook(s, slow.id, SLOW);
  const third = await pullWebhook(s, slow.id, { 'data.third': true });
  const numberOf = async (id: string): Promise<number> => (await s.webhooks.get(id)).progress.webhookNumber;
  const offsetsOf = async (id: string): Promise<number[]> =>
    ((await logs(s)).get(await numberOf(id)) ?? []).map(([offset]) => Number(offset));
  const events = Array.from({ length: EVENTS }, (_, n) => ({
    type: TYPE,
    customerId: slow.id,
    data: { ...DEEP, third: n % 3 === 0 },
  }));
  return { s, slow, other, third, events, offsetsOf };
}

describe('a request whose events are judged by slow filters', () => {
  it('lets a later request of another customer through, and takes gapless offsets', async (t) => {
    const { s, other, third, events, offsetsOf } = await prepare(t);
    const done: string[] = [];
    const note = (name: string) => () => void done.push(name);
    await Promise.all([
      s.publish({ events }, ACTOR).then(note('slow')),
      s.publish({ type: TYPE, data: {}, customerId: other.id }, ACTOR).then(note('other')),
      s.publish({ type: TYPE, data: {} }, ACTOR).then(note('operator')),
    ]);
    assert.equal(done.at(-1), 'slow');
    assert.deepEqual(
      await offsetsOf(third),
      Array.from({ length: EVENTS / 3 }, (_, n) => n),
    );
  });

  it('is judged again by a filter that changes in the meantime', async (t) => {
    const { s, third, events, offsetsOf } = await prepare(t);
    const publishing = s.publish({ events }, ACTOR);
    await s.webhooks.patch(third, { filter: { 'data.third': 'never' } }, ACTOR);
    await publishing;
    assert.deepEqual(await offsetsOf(third), []);
  });

  it('is refused with 429 while too much of the customer waits, counts, and keeps nothing', async (t) => {
    const { s, slow, other, third, offsetsOf } = await prepare(t);
    await s.customers.patch(slow.id, { limits: { eventsPerSecond: 1000 } }, ACTOR);
    const givenBack = t.mock.method(s.store.allowances, 'giveBack').mock;
    const release = occupySlices(slow.id);
    const event = { type: TYPE, data: { third: true }, customerId: slow.id };
    const refusal = await refused(() => s.publish(event, ACTOR), {
      code: 'too_many_requests',
      says: 'too many large requests',
    });
    assert.equal(refusal.headers['Retry-After'], '1');
    assert.equal((await s.publish({ ...event, customerId: other.id }, ACTOR)).accepted, 1);
    await release();
    assert.deepEqual(await offsetsOf(third), []);
    assert.equal(givenBack.callCount(), 0);
    assert.equal((await s.publish(event, ACTOR)).accepted, 1);
    assert.deepEqual(await offsetsOf(third), [0]);
  });
});

describe('previews of filters', () => {
  it('are few at a time for each customer, and let others through', async (t) => {
    const { s, slow, other, third, events } = await prepare(t);
    await s.publish({ events }, ACTOR);
    const own = await pullWebhook(s, other.id, null);
    const done: string[] = [];
    const preview = async (id: string, name: string): Promise<void> => {
      await s.webhooks.previewFilter(id, { filter: SLOW, limit: 1000 });
      done.push(name);
    };
    const few = Array.from({ length: FILTER_PREVIEWS }, () => preview(third, slow.name));
    await refused(() => preview(third, slow.name), { code: 'too_many_requests' });
    await preview(own, other.name);
    assert.deepEqual(done, [other.name]);
    await Promise.all(few);
    await preview(third, slow.name);
  });
});
