import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createErasures } from '../../src/events/erase.ts';
import { createIds, randomBytes } from '../../src/kernel/ids.ts';
import { createLog } from '../../src/observe/log.ts';
import { readingServices, type UntypedServices } from '../../src/program-services.ts';
import { createServices } from '../../src/services/services.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { logs } from '../support/events.ts';
import {
  ACTOR,
  actingAs,
  makeCaller,
  makeEventType,
  makeWebhook,
  openTestServices,
  type TestServices,
} from '../support/services.ts';
import { egressOf, LOOPBACK, loopbackTransport } from '../support/transport.ts';

const order = { type: 'order.placed', data: {} };

/** A second process on the same database whose row keys begin where the first one's do: the worst that chance can bring. */
function secondProcess(t: TestContext, s: TestServices): UntypedServices {
  const ids = createIds(s.clock, (size) => (size === 2 ? new Uint8Array(2) : randomBytes(size)));
  const transport = loopbackTransport(t, { egress: LOOPBACK, caPem: null });
  const store = createSqliteStore(s.sqlite, s.vault, ids);
  const log = createLog('silent');
  const services = createServices({
    store,
    clock: s.clock,
    ids,
    random: randomBytes,
    vault: s.vault,
    egress: egressOf(LOOPBACK),
    transport,
    log,
    wake: () => {},
    erasures: createErasures({ store, clock: s.clock, ids, log }),
  });
  return readingServices(services);
}

/** Lays an event under each of the first row keys of this millisecond. */
function takeRowKeys({ sqlite: database, clock }: TestServices, howMany: number): void {
  const insert = database.connection.prepare(
    "INSERT INTO event (key, id, type, data, correlation_id, created_at) VALUES (?, ?, 'x.y', '{}', '', 0)",
  );
  for (let n = 0; n < howMany; n++) insert.run(clock() * 2048 + n, `taken ${n}`);
}

describe('a row key that another process took in the same millisecond', () => {
  it('is replaced by publishing, and every event arrives once', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.placed');
    await makeWebhook(s, ['order.*']);
    const other = secondProcess(t, s);
    takeRowKeys(s, 20);
    const { events } = await other.publish({ events: [{ ...order, idempotencyKey: 'k' }, order] }, actingAs('me'));
    assert.deepEqual(
      events.map(({ duplicate }) => duplicate),
      [false, false],
    );
    assert.deepEqual([...(await logs(s)).values()], [events.map(({ id }, n) => [n, id])]);
    assert.deepEqual((await s.publish({ ...order, idempotencyKey: 'k' }, actingAs('me'))).events, [
      { id: events[0]?.id, duplicate: true },
    ]);
  });

  it('is replaced by a change that emits an event', async (t) => {
    const s = await openTestServices(t);
    const caller = await makeCaller(s, ['employees:view']);
    const { id } = await makeWebhook(s, ['employee.*'], { key: true });
    const other = secondProcess(t, s);
    takeRowKeys(s, 20);
    const ada = { userName: 'ada', firstName: 'Ada', lastName: 'L', email: 'ada@example.com', division: 'x' };
    const { userId } = await other.employees.create(ada, caller);
    await other.employees.patch(userId, { division: 'y' }, caller);
    await other.webhooks.start(id, ACTOR);
    assert.deepEqual(
      [...(await logs(s)).values()].map((log) => log.length),
      [2],
    );
    assert.equal((await s.webhooks.get(id)).progress.state, 'started');
  });
});
