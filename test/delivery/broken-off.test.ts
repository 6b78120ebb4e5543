import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isDrained, offsets, openDispatching, takeRecords, until } from '../support/dispatching.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { execute } from '../support/store.ts';

repeatsInSlowTier('postgres');

it(
  'a record that cannot be read fails the attempt without counting against the endpoint, is retried later, ' +
    'and delays no other webhook',
  async (t) => {
    const d = await openDispatching(t);
    const { at, webhook, number } = await d.connect({ webhook: { maxBatchRecords: 1 } });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    let unreadable = true;
    let reads = 0;
    const { records } = d.store.dispatch;
    const store = {
      ...d.store,
      dispatch: {
        ...d.store.dispatch,
        records: async (...asked: Parameters<typeof records>) => {
          if (asked[1] !== 3) return records(...asked);
          reads += 1;
          if (unreadable) throw new Error('database disk image is malformed');
          return records(...asked);
        },
      },
    };
    await d.publishMany(10);
    const dispatcher = await d.start({ store });
    await takeRecords(at, 9);
    const attempts = () =>
      d.rows(
        `SELECT kind, first_offset, attempt_number, error_class, error_message FROM attempt WHERE error_class IS NOT NULL`,
      );
    await until('the attempt', async () => (await attempts()).length === 1);
    assert.deepEqual(await attempts(), [
      {
        kind: 'delivery',
        first_offset: 3,
        attempt_number: 1,
        error_class: 'internal',
        error_message: 'the delivery broke off: database disk image is malformed',
      },
    ]);
    // Looks that others ask for change nothing of it.
    for (let more = 0; more < 5; more += 1) {
      await d.publishMany(1);
      dispatcher.wake();
      await takeRecords(at, 1);
    }
    assert.equal(reads, 1);
    const { state, failureStreak, failingSinceAt } = (await d.webhooks.get(webhook.id)).progress;
    assert.deepEqual([state, failureStreak, failingSinceAt], ['running', 0, null]);
    const [batch] = await d.rows(
      `SELECT attempt_count, next_attempt_at > ${d.clock()} AS later FROM batch WHERE first_offset = 3`,
    );
    assert.deepEqual(batch, { attempt_count: 1, later: 1 });
    assert.equal(d.log.lines().filter(({ msg }) => msg === 'a delivery broke off').length, 1);
    unreadable = false;
    d.advance(10_000);
    await until('the end', () => isDrained(d));
    assert.equal(offsets(at).at(-1), 3);
    assert.equal((await d.rows(`SELECT 1 FROM attempt WHERE webhook_number = ${number}`)).length, 16);
  },
);

it('a heartbeat that breaks off is not repeated before the next one is due', async (t) => {
  const d = await openDispatching(t);
  const { at, number, webhook } = await d.connect({ webhook: { heartbeatSeconds: 60 } });
  const other = await d.connect({ webhook: { maxBatchRecords: 1 } });
  let made = 0;
  let ill = true;
  const dispatcher = await d.start({
    send: async (parts, cancellation) => {
      if (parts.endpoint.id !== webhook.endpointId) return d.send(parts, cancellation);
      made += 1;
      if (ill) throw new Error('no memory');
      return d.send(parts, cancellation);
    },
  });
  d.advance(60_000);
  await execute(d, `DELETE FROM subscription WHERE webhook_number = ${number}`);
  dispatcher.wake();
  await until(
    'the attempt',
    async () => (await d.rows(`SELECT 1 FROM attempt WHERE webhook_number = ${number}`)).length === 1,
  );
  for (let more = 0; more < 5; more += 1) {
    await d.publishMany(1);
    dispatcher.wake();
    await other.at.next();
  }
  assert.equal(made, 1);
  assert.deepEqual(await d.rows('SELECT kind, error_class FROM attempt WHERE error_class IS NOT NULL'), [
    { kind: 'heartbeat', error_class: 'internal' },
  ]);
  ill = false;
  d.advance(60_000);
  assert.deepEqual((await at.next()).records, []);
});
