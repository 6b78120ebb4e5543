/** What the dispatcher reads and claims. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { RECORD_OVERHEAD_BYTES } from '../../src/kernel/limits/delivery.ts';
import { StaleWrite } from '../../src/store/errors.ts';
import { batchOf } from '../support/attempts.ts';
import { claimNext } from '../support/batches.ts';
import { openDispatching } from '../support/dispatching.ts';

it('of the records that wait the bytes are read, as they were published, also where the log is older than that they are kept', async (t) => {
  const d = await openDispatching(t);
  const { number } = await d.connect();
  // In one request and alone.
  await d.publishMany(2, { text: 'é'.repeat(100) });
  await d.publishMany(1);
  const bytes = async (cursor = 0): Promise<number[]> =>
    (await d.store.dispatch.waiting(number, cursor, 10)).map((record) => record.bytes - RECORD_OVERHEAD_BYTES);
  const published = [0, 1].map((n) => Buffer.byteLength(JSON.stringify({ n, text: 'é'.repeat(100) })));
  const all = [...published, Buffer.byteLength(JSON.stringify({ n: 0 }))];
  assert.deepEqual(await bytes(), all);
  assert.deepEqual(await bytes(1), all.slice(1));

  const { connection } = d.database;
  const kept = connection.prepare('SELECT data_bytes FROM outbox ORDER BY record_offset').pluck().all();
  assert.deepEqual(kept, all);
  connection.exec('UPDATE outbox SET data_bytes = NULL WHERE record_offset = 1');
  assert.deepEqual(await bytes(), all);

  connection.exec('UPDATE event SET data = NULL, erased_at = 1');
  assert.deepEqual(await bytes(), [all[0], 0, all[2]]);
});

it('of two claims of the same records the second is a stale write, and takes nothing', async (t) => {
  const d = await openDispatching(t);
  const { number: webhookNumber } = await d.connect();
  await d.publishMany(3);
  const first = await claimNext(d, webhookNumber, 2);
  const now = d.clock();
  const second = d.store.dispatch.claim({
    ...{ webhookNumber, now, owner: 'another', leaseExpiresAt: now + 1000, retries: [], notBefore: 0, idleAt: now },
    fresh: [batchOf(0, 1, { webhookNumber, id: d.ids.uuid() }), batchOf(2, 2, { webhookNumber, id: d.ids.uuid() })],
    ...{ cursorBefore: 0, cursorAfter: 3, session: { id: 'session', at: now } },
  });
  await assert.rejects(second, StaleWrite);
  assert.deepEqual(d.rows('SELECT id FROM batch'), [{ id: first.id }]);
  assert.deepEqual(d.rows('SELECT cursor_offset FROM webhook_progress'), [{ cursor_offset: 2 }]);
});
