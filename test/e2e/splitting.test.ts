import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from '../support/client.ts';
import { succeeded } from '../support/client.ts';
import {
  connect,
  deliveriesOf,
  deliveryOf,
  makeEventType,
  only,
  publish,
  readWebhook,
  startJourney,
} from '../support/journey.ts';
import type { LoggedAttempt } from '../support/log-reader.ts';
import type { Delivery } from '../support/receiver.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import type { ServiceInProcess } from '../support/service.ts';

repeatsInSlowTier('postgres');

const TYPE = 'order.placed';

describe('a batch that is too large, or has a record that the receiver cannot process', () => {
  it('is halved after a 413 without a pause, until every part is accepted', async (t) => {
    const journey = await startJourney(t);
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE], { webhook: { ordered: true } });
    at.answer(({ records }) => ({ status: records.length > 3 ? 413 : 204 }));
    const ids = await publish(admin, TYPE, ...numbered(10));
    const attempts = await settle(service, webhook, 10);
    assert.deepEqual(
      attempts.map(({ firstOffset, lastOffset, fate }) => `${firstOffset}-${lastOffset} ${fate}`),
      ['0-9 halve', '0-4 halve', '0-2 delivered', '3-4 delivered', '5-9 halve', '5-7 delivered', '8-9 delivered'],
    );
    assert.deepEqual(takenBy(at.deliveries, 3), ids);
    assert.equal((await readWebhook(admin, webhook)).state, 'running');
  });

  it('is halved after the second 4xx about its content, until only the bad record remains and dies', async (t) => {
    const journey = await startJourney(t);
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE], { webhook: { retry: { maxAttempts: 3 } } });
    const poison = ({ records }: Delivery): boolean => records.some(({ data }) => (data as { n: number }).n === 5);
    at.answer((delivery) => ({ status: poison(delivery) ? 422 : 204 }));
    const ids = await publish(admin, TYPE, ...numbered(8));
    const attempts = await settle(service, webhook, 8);
    assert.deepEqual(
      attempts.slice(0, 3).map(({ firstOffset, lastOffset, fate }) => `${firstOffset}-${lastOffset} ${fate}`),
      ['0-7 retry', '0-7 halve', '0-3 delivered'],
    );
    const alone = attempts.filter(({ firstOffset, lastOffset }) => firstOffset === 5 && lastOffset === 5);
    assert.deepEqual(
      alone.map(({ attemptNumber, fate }) => `${attemptNumber} ${fate}`),
      ['1 retry', '2 retry', '3 dead'],
    );
    const states = (await deliveriesOf(admin, webhook)).map(({ state }) => state);
    assert.deepEqual(
      states,
      ids.map((_, offset) => (offset === 5 ? 'dead' : 'delivered')),
    );
    const taken = at.deliveries.filter((delivery) => !poison(delivery)).flatMap(({ records }) => records);
    assert.deepEqual(
      taken.map(({ messageId }) => messageId).sort(),
      ids.filter((_, offset) => offset !== 5).sort(),
      'each of the others once',
    );
    const dead = await succeeded<Page<{ eventId: string }>>(admin.get(`deliveries?webhookId=${webhook.id}&state=dead`));
    assert.equal(only(dead.items).eventId, ids[5]);
  });

  it('is not halved after other 4xx', async (t) => {
    const journey = await startJourney(t);
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE]);
    const statuses = [401, 403, 404, 408, 425, 429, 500];
    at.answer(({ envelope }) => ({ status: statuses[envelope.attemptNumber - 1] ?? 204 }));
    await publish(admin, TYPE, ...numbered(4));
    const attempts: LoggedAttempt[] = [];
    for (const _ of [...statuses, 204]) {
      attempts.push(await service.log.nextAttempt(webhook.id));
      service.advance(320_000);
    }
    assert.deepEqual(
      attempts.map(({ firstOffset, lastOffset, fate }) => `${firstOffset}-${lastOffset} ${fate}`),
      [...statuses.map(() => '0-3 retry'), '0-3 delivered'],
    );
  });
});

describe('a retry', () => {
  it('waits as long as Retry-After asks', async (t) => {
    const journey = await startJourney(t);
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    await makeEventType(admin, 'other.type');
    const { at, webhook } = await connect(journey, [TYPE]);
    const other = await connect(journey, ['other.type']);
    at.answer(() => ({ status: 503, headers: { 'retry-after': '120' } }));
    const [id = ''] = await publish(admin, TYPE, {});
    await at.next();
    await service.log.nextAttempt(webhook.id);
    const { nextAttemptAt } = await deliveryOf(admin, webhook, id);
    const waitMs = Date.parse(nextAttemptAt ?? '') - service.clock();
    assert.ok(waitMs > 100_000 && waitMs <= 120_000, String(waitMs));

    service.advance(60_000);
    await publish(admin, 'other.type', {});
    await other.at.next();
    assert.equal(at.deliveries.length, 1);
    at.answer(() => ({ status: 204 }));
    service.advance(61_000);
    await at.next();
  });

  it('waits for a date, but at most a day', async (t) => {
    const journey = await startJourney(t);
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    for (const [retryAfter, leastMs, mostMs] of [
      [new Date(service.clock() + 600_000).toUTCString(), 590_000, 600_000],
      ['9999999', 86_390_000, 86_400_000],
      ['soon', 0, 5000],
    ] as const) {
      const { at, webhook } = await connect(journey, [TYPE]);
      at.answer(() => ({ status: 429, headers: { 'retry-after': retryAfter } }));
      const [id = ''] = await publish(admin, TYPE, {});
      const before = service.clock();
      await service.log.nextAttempt(webhook.id);
      const { nextAttemptAt } = await deliveryOf(admin, webhook, id);
      const waitMs = Date.parse(nextAttemptAt ?? '') - before;
      assert.ok(waitMs > leastMs && waitMs <= mostMs + 5000, `${retryAfter}: ${waitMs}`);
    }
  });

  it('of an ordered webhook delays later batches until it is delivered or dead', async (t) => {
    const journey = await startJourney(t);
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE], {
      webhook: { ordered: true, maxBatchRecords: 1, retry: { maxAttempts: 2 } },
    });
    at.answer(({ records, envelope }) => {
      const { offset } = only(records);
      return { status: offset === 2 || (offset === 0 && envelope.attemptNumber === 1) ? 500 : 204 };
    });
    await publish(admin, TYPE, ...numbered(4));
    await settle(service, webhook, 4);
    assert.deepEqual(
      at.deliveries.map(({ records, envelope }) => `${only(records).offset} ${envelope.attemptNumber}`),
      ['0 1', '0 2', '1 1', '2 1', '2 2', '3 1'],
    );
    assert.deepEqual(
      (await deliveriesOf(admin, webhook)).map(({ state }) => state),
      ['delivered', 'delivered', 'dead', 'delivered'],
    );
  });
});

/** Advances the clock until so many records are delivered or dead. Returns the attempts. */
async function settle(
  service: ServiceInProcess,
  webhook: { readonly id: string },
  records: number,
): Promise<LoggedAttempt[]> {
  const attempts: LoggedAttempt[] = [];
  let settled = 0;
  while (settled < records) {
    const attempt = await service.log.nextAttempt(webhook.id);
    attempts.push(attempt);
    const { fate, firstOffset, lastOffset } = attempt;
    if (fate === 'delivered' || fate === 'dead') settled += (lastOffset ?? 0) - (firstOffset ?? 0) + 1;
    service.advance(20_000);
  }
  return attempts;
}

function numbered(count: number): { n: number }[] {
  return Array.from({ length: count }, (_, n) => ({ n }));
}

/** The message ids of requests with at most so many records. */
function takenBy(deliveries: readonly Delivery[], most: number): string[] {
  return deliveries
    .filter(({ records }) => records.length <= most)
    .flatMap(({ records }) => records.map(({ messageId }) => messageId));
}
