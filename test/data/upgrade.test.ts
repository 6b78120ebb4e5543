/** An installation of schema version 1 whose receivers were down: after the upgrade, everything is delivered, and nothing twice. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { completeConfig } from '../../src/config/config.ts';
import { migrateDatabase } from '../../src/data/postgres.ts';
import { firstRowKeyAt } from '../../src/kernel/ids.ts';
import { SCHEMA_VERSION } from '../../src/store/postgres/schema.ts';
import { messageIds, TYPE, until } from '../support/dispatching.ts';
import { toEarlierSchema } from '../support/earlier-schema.ts';
import { connect, makeEventType, publish, readWebhook, startJourney } from '../support/journey.ts';
import { repeats } from '../support/repeats.ts';
import { databaseUrlOf, openBeside, startService } from '../support/service.ts';
import { sharedCertificates } from '../support/tls.ts';

repeats('postgres');

/** Batches as version 1 left them: one waits for its next attempt, and one was being sent by a process that was killed. */
const CLAIMED = (number: number, later: number): string => `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, lease_owner)
  VALUES (${number}, 1, 1, 'retried', 'pending', 1, 0, 1, NULL), (${number}, 2, 3, 'sent', 'pending', 1, 0, ${later}, 'killed')`;

it('deliveries of version 1 go on after the upgrade', async (t) => {
  const { service, admin, receiver } = await startJourney(t);
  await makeEventType(admin, TYPE);
  await makeEventType(admin, 'order.other');
  const { at, webhook } = await connect({ admin, receiver }, [TYPE], { webhook: { maxBatchRecords: 1 } });
  const { at: idle, webhook: other } = await connect({ admin, receiver }, ['order.other']);
  const delivered = await publish(admin, TYPE, { n: 0 });
  await publish(admin, 'order.other', { n: 0 });
  await Promise.all([at.next(), idle.next()]);
  await until('both are settled', async () => {
    const [one, two] = [await readWebhook(admin, webhook), await readWebhook(admin, other)];
    return one.state === 'running' && two.state === 'running';
  });
  await service.stop();
  const before = await openBeside(t, service);
  const { number } = (await before.get('SELECT number FROM webhook WHERE id = @id', { id: webhook.id })) ?? {};
  await before.close();

  await toEarlierSchema(t, service, 1);
  const old = await openBeside(t, service);
  const now = Date.now();
  const records = [1, 2, 3, 4].map((offset) => ({
    offset,
    key: firstRowKeyAt(now + offset),
    id: `0193a1f0-0000-7000-8000-00000000000${offset}`,
  }));
  await old.commit(
    [
      ...records.flatMap(({ offset, key, id }) => [
        `INSERT INTO event (key, id, type, data, correlation_id, created_at)
         VALUES (${key}, '${id}', '${TYPE}', '{"n":${offset}}', 'c', ${now})`,
        `INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes) VALUES (${number}, ${offset}, ${key}, 7)`,
      ]),
      CLAIMED(Number(number), now + 60_000),
      `UPDATE webhook_progress SET next_offset = 5, cursor_offset = 4, pending_records = 3 WHERE webhook_number = ${number}`,
      // Retention deleted all that the other webhook had.
      `DELETE FROM outbox WHERE webhook_number <> ${number}`,
      `DELETE FROM batch WHERE webhook_number <> ${number}`,
      `UPDATE webhook_progress SET next_offset = 7, cursor_offset = 7 WHERE webhook_number <> ${number}`,
    ].map((sql) => ({ sql, params: {} })),
  );
  await old.close();

  const databaseUrl = databaseUrlOf(service.dataDir);
  if (databaseUrl !== null)
    assert.deepEqual(await migrateDatabase(completeConfig({ dataDir: service.dataDir, databaseUrl }), Date.now()), {
      from: 1,
      to: SCHEMA_VERSION,
    });
  const after = await startService(t, { after: service, ca: sharedCertificates().ca });
  const later = await publish(after.admin, TYPE, { n: 5 });
  await publish(after.admin, 'order.other', { n: 1 });
  const wanted = [...delivered, ...records.map(({ id }) => id), ...later];
  await until('all deliveries', () => messageIds(at).length === wanted.length);
  assert.deepEqual(messageIds(at).toSorted(), wanted.toSorted());
  await idle.next();
  const beside = await openBeside(t, after);
  const offsets = await beside.all(
    'SELECT webhook_number, max(record_offset) AS newest FROM outbox GROUP BY webhook_number',
    {},
  );
  assert.deepEqual(offsets.map(({ webhook_number, newest }) => [webhook_number === number, newest]).sort(), [
    [false, 7],
    [true, 5],
  ]);
});
