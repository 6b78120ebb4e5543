import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { NewEvent } from '../../src/domain/event.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { createVault } from '../../src/kernel/vault.ts';
import type { FoundEvent } from '../../src/store/port/terms.ts';
import { resealSettings } from '../../src/store/shared/settings.ts';
import { newEvent } from '../support/events.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, makeEventType, makeWebhook, openTestServices, type TestServices } from '../support/services.ts';
import { storeOn } from '../support/store.ts';

repeats('postgres');

const TYPE = 'order.placed';
const PATHS = ['data.orderId', 'data.customer.email', 'data.tags'];

async function opened(t: TestContext): Promise<TestServices> {
  const s = await openTestServices(t);
  await makeEventType(s, TYPE, { searchPaths: PATHS });
  await makeEventType(s, 'order.shipped');
  return s;
}

function published(s: TestServices, data: unknown, more: Partial<NewEvent> = {}): Promise<unknown> {
  return s.store.events.publish([newEvent(s, TYPE, { dataJson: JSON.stringify(data), ...more })]);
}

/** Does what housekeeping does some seconds later. */
async function kept(s: TestServices): Promise<void> {
  s.advance(5000);
  while (!(await s.store.terms.step(s.clock(), 7)).done);
}

async function forgotten(s: TestServices): Promise<number> {
  let rows = 0;
  for (let after: number | null = -1; after !== null; ) {
    const result = await s.store.terms.forget(after, 3);
    rows += result.rows;
    after = result.next;
  }
  return rows;
}

const find = (s: TestServices, text: string, customerId: string | null = null): Promise<FoundEvent[]> =>
  s.store.terms.find(text, customerId, 10);

describe('events by the values of their data', () => {
  it('are found at the paths of their type, whatever the case, some seconds after publishing', async (t) => {
    const s = await opened(t);
    await published(s, {
      orderId: 4711,
      customer: { email: ' Ada@Example.com ' },
      tags: ['urgent', 'gift'],
      note: 'hidden',
    });
    await published(s, { orderId: 'A-1', customer: null, tags: 'urgent' });
    await published(s, { orderId: 4712 }, { type: 'order.shipped' });
    assert.deepEqual(await find(s, '4711'), [], 'nothing is kept while it is published');
    await kept(s);
    for (const text of ['4711', 'ada@example.COM', 'gift']) {
      assert.deepEqual(
        (await find(s, text)).map(({ type }) => type),
        [TYPE],
        text,
      );
    }
    assert.deepEqual(
      (await find(s, 'urgent')).map(({ path }) => path),
      ['data.tags', 'data.tags'],
    );
    for (const text of ['hidden', '4712', '471', '', 'x'.repeat(300)]) assert.deepEqual(await find(s, text), [], text);
    const [newest, oldest] = await find(s, 'urgent');
    assert.ok((newest?.createdAt ?? 0) >= (oldest?.createdAt ?? 0));
    assert.deepEqual(await find(s, 'a-1'), [{ ...newest, path: 'data.orderId' }]);
    // Each event is read once.
    assert.deepEqual(await s.store.terms.step(s.clock(), 7).then(({ done, rows }) => [done, rows]), [true, 0]);
    await published(s, { orderId: 4711 });
    await kept(s);
    assert.equal((await find(s, '4711')).length, 2);
  });

  it('are kept without their values', async (t) => {
    const s = await opened(t);
    await published(s, { orderId: 'SECRET-4711' });
    await kept(s);
    const rows = JSON.stringify([
      await s.rows('SELECT * FROM event_term'),
      await s.rows('SELECT * FROM event_term_progress'),
    ]);
    assert.ok(rows.includes('data.orderId'));
    assert.doesNotMatch(rows.toLowerCase(), /secret-4711/);
  });

  it('are found after the master key was changed', async (t) => {
    const s = await opened(t);
    await published(s, { orderId: 1 });
    await kept(s);
    const next = createVault(randomBytes(32), randomBytes);
    await s.database.commit(await resealSettings(s.database, s.vault, next));
    assert.equal((await storeOn(s.database, next, s.ids).terms.find('1', null, 10)).length, 1);
  });

  it('are not found by another customer, nor those of types that customers do not get', async (t) => {
    const s = await opened(t);
    const [mine, other] = [
      await s.customers.create({ name: 'Mine' }, ACTOR),
      await s.customers.create({ name: 'Other' }, ACTOR),
    ];
    await published(s, { orderId: 1 }, { audience: mine.id });
    await published(s, { orderId: 1 }, { audience: '*' });
    await published(s, { orderId: 1 });
    await kept(s);
    assert.equal((await find(s, '1')).length, 3);
    assert.equal((await find(s, '1', mine.id)).length, 2);
    assert.equal((await find(s, '1', other.id)).length, 1);
    const [type] = (await s.store.eventTypes.all()).filter(({ name }) => name === TYPE);
    await s.eventTypes.patch(type?.id ?? '', { public: false }, ACTOR);
    assert.deepEqual([(await find(s, '1')).length, (await find(s, '1', mine.id)).length], [3, 0]);
  });

  it('are found no longer once they are erased, or their type has another path, and then nothing of them is kept', async (t) => {
    const s = await opened(t);
    await published(s, { orderId: 1, tags: ['x'] }, { subject: 'jane' });
    await published(s, { orderId: 2, tags: ['x'] });
    await kept(s);
    const id = s.ids.uuid();
    await s.store.erasures.begin({ id, subject: 'jane', actor: 'test', startedAt: s.clock() }, s.entry());
    await s.store.erasures.step((await s.store.erasures.get(id)) ?? assert.fail(), 10);
    assert.deepEqual([(await find(s, '1')).length, (await find(s, 'x')).length], [0, 1]);
    assert.equal((await s.rows('SELECT * FROM event_term')).length, 2);

    const [type] = (await s.store.eventTypes.all()).filter(({ name }) => name === TYPE);
    await s.eventTypes.patch(type?.id ?? '', { searchPaths: ['data.orderId', 'data.note'] }, ACTOR);
    assert.deepEqual([(await find(s, '2')).length, (await find(s, 'x')).length], [1, 0]);
    assert.equal(await forgotten(s), 1);
    // Another path finds the events that were published before.
    await s.eventTypes.patch(type?.id ?? '', { searchPaths: ['data.tags'] }, ACTOR);
    await kept(s);
    assert.equal((await find(s, 'x')).length, 1);
    await s.eventTypes.patch(type?.id ?? '', { searchPaths: [] }, ACTOR);
    await forgotten(s);
    assert.deepEqual(
      [await s.rows('SELECT * FROM event_term'), await s.rows('SELECT * FROM event_term_progress')],
      [[], []],
    );
  });

  it('are never of a type whose events must be encrypted, and a path is one below data', async (t) => {
    const s = await opened(t);
    const make = (more: object) => makeEventType(s, 'people.joined', { searchPaths: ['data.name'], ...more });
    await refused(() => make({ encryptionRequired: true }), { code: 'validation_failed', fields: ['searchPaths'] });
    for (const path of ['name', 'data', 'data..name', 'type', 'data.', `data.${'x'.repeat(200)}`]) {
      await refused(() => make({ searchPaths: [path] }), { code: 'validation_failed', fields: ['searchPaths[0]'] });
    }
    await refused(() => make({ searchPaths: ['data.a', 'data.a'] }), {
      code: 'validation_failed',
      fields: ['searchPaths[1]'],
    });
    await refused(() => make({ searchPaths: ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `data.${name}`) }), {
      code: 'validation_failed',
      fields: ['searchPaths'],
    });
    const [type] = (await s.store.eventTypes.all()).filter(({ name }) => name === TYPE);
    await refused(() => s.eventTypes.patch(type?.id ?? '', { encryptionRequired: true }, ACTOR), {
      code: 'validation_failed',
      fields: ['searchPaths'],
    });
  });

  it('lead to their deliveries, page by page, together with those of a subject, and within a webhook or a customer', async (t) => {
    const s = await opened(t);
    const [all, some] = [await makeWebhook(s, [TYPE]), await makeWebhook(s, [TYPE, 'order.shipped'])];
    for (let n = 0; n < 6; n += 1) {
      // Half have the value; the last one has the subject too.
      await published(s, { orderId: n % 2 === 0 ? 'A-1' : n }, { subject: n === 4 ? 'A-1' : null });
      s.advance(1000);
    }
    await published(s, {}, { type: 'order.shipped', subject: 'A-1' });
    await kept(s);
    const numberOf = async (id: string): Promise<number> =>
      (await s.store.webhooks.get(id))?.progress.webhookNumber ?? assert.fail();
    const [first, second] = [await numberOf(all.id), await numberOf(some.id)];
    const pages = async (filter: object): Promise<string[]> => {
      const places: string[] = [];
      for (let before: string | null = null; ; ) {
        const { items, next } = await s.deliveries.list({ text: 'A-1', ...filter }, before, 2);
        places.push(...items.map(({ webhookNumber, offset }) => `${webhookNumber} ${offset}`));
        if (next === null) return places;
        before = next;
      }
    };
    const both = [4, 2, 0].flatMap((offset) => [`${second} ${offset}`, `${first} ${offset}`]);
    assert.deepEqual(await pages({}), [`${second} 6`, ...both]);
    assert.deepEqual(await pages({ webhookId: all.id }), [`${first} 4`, `${first} 2`, `${first} 0`]);
    assert.deepEqual(await pages({ state: 'dead' }), []);
    assert.deepEqual(await pages({ text: 'nothing' }), []);
  });

  it('lead to a delivery behind hundreds of newer events with the value that the search does not want', async (t) => {
    const s = await opened(t);
    await makeEventType(s, 'order.other', { searchPaths: PATHS });
    const wanted = await makeWebhook(s, [TYPE]);
    await makeWebhook(s, ['order.other']);
    await published(s, { orderId: 'A-1' });
    s.advance(1000);
    await published(s, {}, { subject: 'A-1' });
    for (let n = 0; n < 6; n += 1) {
      const dataJson = JSON.stringify({ orderId: 'A-1' });
      await s.store.events.publish(Array.from({ length: 100 }, () => newEvent(s, 'order.other', { dataJson })));
      s.advance(1000);
    }
    await kept(s);
    const found = async (filter: object): Promise<number> => {
      let count = 0;
      for (let before: string | null = null; ; ) {
        const { items, next } = await s.deliveries.list({ text: 'A-1', ...filter }, before, 50);
        count += items.length;
        if (next === null) return count;
        before = next;
      }
    };
    assert.equal(await found({ webhookId: wanted.id }), 1);
    assert.equal(await found({ eventType: TYPE }), 2);
    assert.equal(await found({}), 602);
  });
});
