/** Work that was scheduled while the clock was two days ahead. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RETRY_AFTER_MAX_MS, SCHEDULE_DELAY_MAX_SECONDS } from '../../src/domain/retry.ts';
import { type Connected, type Dispatching, openDispatching, until } from '../support/dispatching.ts';
import { DAY_MS, housekeepingFor } from '../support/housekeeping.ts';
import { repeats } from '../support/repeats.ts';
import { execute } from '../support/store.ts';

repeats('postgres');

const AHEAD_MS = 2 * DAY_MS;

const attempts = async ({ rows }: Dispatching, { number }: Connected): Promise<number> =>
  (await rows(`SELECT 1 FROM attempt WHERE webhook_number = ${number}`)).length;
const dueAt = async ({ rows }: Dispatching, { number }: Connected): Promise<unknown> =>
  (await rows(`SELECT next_attempt_at FROM batch WHERE webhook_number = ${number}`))[0]?.next_attempt_at;

/** A webhook with a record that waits because its receiver sent Retry-After. */
async function delayByReceiver(d: Dispatching, seconds: number): Promise<Connected> {
  const connected = await d.connect();
  connected.at.answer(() => ({ status: 503, headers: { 'retry-after': String(seconds) } }));
  await d.publishMany(1);
  const dispatcher = await d.start();
  await connected.at.next();
  await until('the failure', async () => (await attempts(d, connected)) === 1);
  await dispatcher.stop();
  connected.at.answer(() => ({ status: 204 }));
  return connected;
}

describe('after the clock was set back', () => {
  it('retries are due after their pause, counted from the next start', async (t) => {
    const d = await openDispatching(t);
    const connected = await delayByReceiver(d, 60);
    d.advance(-AHEAD_MS);
    await d.start();
    assert.equal(Number(await dueAt(d, connected)) - d.clock(), 60_000);
    d.advance(60_000);
    assert.equal((await connected.at.next()).records.length, 1);
  });

  it('retries are also due after their pause in a running service, for any number of batches', async (t) => {
    const d = await openDispatching(t);
    const connected = await d.connect({ webhook: { maxBatchRecords: 1 } });
    const dispatcher = await d.start();
    await d.publishMany(100);
    dispatcher.wake();
    for (let taken = 0; taken < 100; taken += 1) await connected.at.next();
    await until('all is settled', async () => (await attempts(d, connected)) === 100);
    await execute(d, `UPDATE batch SET state = 'pending', settled_at = NULL, next_attempt_at = ${d.clock() + 60_000}`);
    d.advance(-AHEAD_MS);
    const house = housekeepingFor(d, {}, { wake: dispatcher.wake });
    await house.runOnce();
    for (let taken = 0; taken < 100; taken += 1) await connected.at.next();
    const [corrected, ...more] = house.logged
      .filter(({ job }) => job === 'clock-set-back')
      .map(({ rows }) => Number(rows));
    assert.deepEqual(more, []);
    // The batches and their webhook, and its position if that is written meanwhile.
    assert.ok(corrected === 101 || corrected === 102, `corrected ${corrected}`);
  });

  it('heartbeats, session renewals and giving up happen after their normal intervals', async (t) => {
    const d = await openDispatching(t);
    const connected = await d.connect({ webhook: { heartbeatSeconds: 300 } });
    const dispatcher = await d.start();
    await d.publishMany(1);
    dispatcher.wake();
    await connected.at.next();
    await until('the delivery', async () => (await attempts(d, connected)) === 1);
    await execute(d, `UPDATE webhook_progress SET failing_since_at = ${d.clock()}`);
    d.advance(-AHEAD_MS);
    await housekeepingFor(d, {}, { wake: dispatcher.wake }).runOnce();
    const { stateAt, sessionAt, failingSinceAt } = (await d.webhooks.get(connected.webhook.id)).progress;
    assert.deepEqual(
      [stateAt, sessionAt, failingSinceAt],
      Array.from({ length: 3 }, () => d.clock()),
    );
    await d.looked();
    d.advance(300_000);
    dispatcher.wake();
    assert.deepEqual((await connected.at.next()).records, []);
  });

  it('pauses within the allowed limits stay, for example a Retry-After of a day', async (t) => {
    const d = await openDispatching(t);
    const connected = await delayByReceiver(d, RETRY_AFTER_MAX_MS / 1000);
    const before = await d.rows('SELECT * FROM webhook_progress');
    await housekeepingFor(d).runOnce();
    assert.equal(await dueAt(d, connected), d.clock() + RETRY_AFTER_MAX_MS);
    assert.deepEqual(await d.rows('SELECT * FROM webhook_progress'), before);
  });

  it('pauses of a schedule stay too, up to a week', async (t) => {
    const d = await openDispatching(t);
    const connected = await delayByReceiver(d, 60);
    const week = SCHEDULE_DELAY_MAX_SECONDS * 1000;
    await execute(d, "UPDATE webhook SET retry_policy = 'schedule', retry_delays_seconds = '[604800]'");
    await execute(d, `UPDATE batch SET next_attempt_at = ${d.clock() + week}`);
    await housekeepingFor(d).runOnce();
    assert.equal(await dueAt(d, connected), d.clock() + week);
    await execute(d, `UPDATE batch SET next_attempt_at = ${d.clock() + 2 * week}`);
    await housekeepingFor(d).runOnce();
    assert.equal(await dueAt(d, connected), d.clock());
  });

  it('batches that are being sent are not changed', async (t) => {
    const d = await openDispatching(t);
    const connected = await delayByReceiver(d, 60);
    await execute(d, "UPDATE batch SET lease_owner = 'somebody'");
    const before = await dueAt(d, connected);
    d.advance(-AHEAD_MS);
    await housekeepingFor(d).runOnce();
    assert.equal(await dueAt(d, connected), before);
  });
});
