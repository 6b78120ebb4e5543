import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { startedProgress } from '../../src/domain/webhook-states.ts';
import { secret } from '../../src/kernel/secret.ts';
import type { Store } from '../../src/store/port/store.ts';
import { deferred } from '../support/deferred.ts';
import {
  type Connected,
  type Dispatching,
  isDrained,
  offsets,
  openDispatching,
  takeRecords,
  until,
} from '../support/dispatching.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';
import { storeOn } from '../support/store.ts';

repeats('postgres');

const DAY_MS = 86_400_000;

/** The progress of a webhook, as it is written. */
async function progress({ rows }: Dispatching, { number }: Connected) {
  const [row] = await rows(
    `SELECT state, state_reason, probe_at FROM webhook_progress WHERE webhook_number = ${number}`,
  );
  return row ?? assert.fail();
}

/** Waits until the only attempt of a webhook is settled, and the dispatcher has found nothing else to do for it now. */
async function rests(d: Dispatching, { number }: Connected): Promise<void> {
  const settled = `SELECT 1 FROM attempt WHERE webhook_number = ${number}`;
  await until('the attempt', async () => (await d.rows(settled)).length === 1);
  await d.looked();
}

const retryAt = async ({ rows }: Dispatching): Promise<number> =>
  Number(
    (await rows(`SELECT min(next_attempt_at) AS at FROM batch WHERE state = 'pending' AND lease_owner IS NULL`))[0]?.at,
  );

/** A dispatcher that only its poll wakes, so that it learns of a change from the database alone. */
async function open(t: TestContext): Promise<Dispatching> {
  const d = await openDispatching(t);
  await d.start();
  return d;
}

describe('a change of a running webhook takes effect immediately', () => {
  it('when an ordered webhook is made unordered', async (t) => {
    const d = await open(t);
    const connected = await d.connect({ webhook: { ordered: true, maxBatchRecords: 1 } });
    const { at, webhook } = connected;
    at.answer(({ records }) =>
      records[0]?.offset === 0 ? { status: 422, headers: { 'retry-after': '86400' } } : { status: 200 },
    );
    await d.publishMany(3);
    await at.next();
    await rests(d, connected);
    await d.webhooks.patch(webhook.id, { ordered: false }, ACTOR);
    d.advance(1);
    await takeRecords(at, 2);
    assert.deepEqual(offsets(at), [0, 1, 2]);
  });

  it('when heartbeats are switched on', async (t) => {
    const d = await open(t);
    const connected = await d.connect();
    await d.publishMany(1);
    await connected.at.next();
    await rests(d, connected);
    d.advance(70_000);
    await d.webhooks.patch(connected.webhook.id, { heartbeatSeconds: 60 }, ACTOR);
    d.advance(1);
    assert.deepEqual((await connected.at.next()).records, []);
  });

  it('when it gets another endpoint, which is disabled', async (t) => {
    const d = await open(t);
    const connected = await d.connect();
    const off = await d.endpoints.create({ name: 'off', url: connected.at.url, enabled: false }, ACTOR);
    await d.publishMany(1);
    await connected.at.next();
    await rests(d, connected);
    await d.webhooks.patch(connected.webhook.id, { endpointId: off.id }, ACTOR);
    d.advance(1);
    await until('stopped', async () => (await progress(d, connected)).state === 'stopped');
    assert.equal((await progress(d, connected)).state_reason, 'endpoint_disabled');
  });

  it('when a low rate is removed or raised', async (t) => {
    for (const maxRecordsPerSecond of [null, 1000]) {
      const d = await open(t);
      const connected = await d.connect({ webhook: { maxRecordsPerSecond: 0.01, maxBatchRecords: 1 } });
      await d.publishMany(3);
      await connected.at.next();
      await rests(d, connected);
      await d.webhooks.patch(connected.webhook.id, { maxRecordsPerSecond }, ACTOR);
      d.advance(10);
      await takeRecords(connected.at, 2);
    }
  });

  it('even if a look read the old settings before it and decides after it', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect();
    const { dispatch } = d.store;
    let patched: Promise<unknown> | undefined;
    const target: typeof dispatch.target = async (...asked) => {
      const found = await dispatch.target(...asked);
      patched ??= d.webhooks.patch(webhook.id, { heartbeatSeconds: 60 }, ACTOR);
      await patched;
      return found;
    };
    await d.start({ store: { ...d.store, dispatch: { ...dispatch, target } } });
    await until('the look', () => patched !== undefined);
    await d.looked();
    assert.equal(at.deliveries.length, 0);
    d.advance(60_000);
    assert.deepEqual((await at.next()).records, []);
  });
});

describe('a process that dies right after a change', () => {
  /** The store of a process that commits the change, and nothing after it. */
  const dying = (d: Dispatching): Store => {
    let commits = 0;
    const commit: typeof d.database.commit = async (...asked) => {
      commits += 1;
      if (commits > 1) throw new Error('killed');
      return d.database.commit(...asked);
    };
    return storeOn({ ...d.database, commit }, d.vault, d.ids);
  };
  const heldFor = async (t: TestContext): Promise<[Dispatching, Connected]> => {
    const d = await openDispatching(t);
    const connected = await d.connect();
    connected.at.answer(() => ({ status: 503, headers: { 'retry-after': '86400' } }));
    await d.publishMany(1);
    const first = await d.start();
    await connected.at.next();
    await rests(d, connected);
    await first.stop();
    return [d, connected];
  };

  it('that moved an endpoint sends waiting records to the new address at the next start', async (t) => {
    const [d, { webhook }] = await heldFor(t);
    const other = d.receiver.endpoint('/other');
    d.advance(1000);
    const before = await d.endpoints.get(webhook.endpointId);
    const moved = { ...before, url: other.url, secret: secret(other.secret), updatedAt: d.clock() };
    await assert.rejects(
      dying(d).endpoints.update({ ...moved, apiKey: secret(other.apiKey) }, before, d.entry()),
      /killed/,
    );
    await d.start();
    assert.equal((await other.next()).records.length, 1);
  });

  it('that started a webhook makes its retries due at the next start', async (t) => {
    const [d, { at, webhook }] = await heldFor(t);
    await d.webhooks.stop(webhook.id, ACTOR);
    at.answer(() => ({ status: 200 }));
    d.advance(1000);
    const stopped = await d.webhooks.get(webhook.id);
    const started = startedProgress(stopped, { sessionId: d.ids.uuid(), now: d.clock() });
    const { webhooks } = dying(d);
    await webhooks.setState({ progress: started, stateBefore: 'stopped', event: null }, d.entry());
    await assert.rejects(webhooks.resume(started.webhookNumber, d.clock()), /killed/);
    await d.start();
    assert.equal((await at.next()).records.length, 1);
    await until('all is done', () => isDrained(d));
    assert.deepEqual(await d.rows('SELECT 1 FROM webhook_progress WHERE resume_at IS NOT NULL'), []);
  });
});

describe('a receiver that asked for a pause of a day', () => {
  /** A webhook that rests for a day at its receiver's word, with more that waits. */
  async function held(t: TestContext, webhook: Readonly<Record<string, unknown>>): Promise<[Dispatching, Connected]> {
    const d = await open(t);
    const connected = await d.connect({ webhook: { maxBatchRecords: 1, ...webhook } });
    connected.at.answer(() => ({ status: 503, headers: { 'retry-after': '86400' } }));
    await d.publishMany(3);
    await connected.at.next();
    await rests(d, connected);
    assert.deepEqual(
      [(await progress(d, connected)).probe_at, await retryAt(d)],
      [d.clock() + DAY_MS, d.clock() + DAY_MS],
    );
    return [d, connected];
  }

  for (const ordered of [false, true]) {
    it(`does not delay a webhook that moves to another endpoint${ordered ? ', in order' : ''}`, async (t) => {
      const [d, connected] = await held(t, { ordered });
      const elsewhere = await d.connect();
      await d.webhooks.patch(connected.webhook.id, { endpointId: elsewhere.webhook.endpointId }, ACTOR);
      d.advance(1);
      await takeRecords(elsewhere.at, 3);
      await until('the end', () => isDrained(d));
      if (ordered) assert.deepEqual(offsets(elsewhere.at), [0, 1, 2]);
    });

    it(`does not delay an endpoint that gets another URL${ordered ? ', in order' : ''}`, async (t) => {
      const [d, connected] = await held(t, { ordered });
      const { secret, apiKey } = connected.at;
      const elsewhere = d.receiver.endpoint('/elsewhere', { secret, apiKey });
      await d.endpoints.patch(connected.webhook.endpointId, { url: elsewhere.url }, ACTOR);
      d.advance(1);
      await takeRecords(elsewhere, 3);
      await until('the end', () => isDrained(d));
      if (ordered) assert.deepEqual(offsets(elsewhere), [0, 1, 2]);
    });
  }

  for (const [what, status] of [
    ['asks for one', 503],
    ['says that it is gone', 410],
  ] as const)
    it(`is not heard of where it ${what} while the webhook is moved`, async (t) => {
      const d = await open(t);
      const connected = await d.connect({ webhook: { maxBatchRecords: 1, ordered: true } });
      const [asked, moved] = [deferred(), deferred()];
      connected.at.answer(async () => {
        asked.resolve();
        await moved.promise;
        return { status, headers: { 'retry-after': '86400' } };
      });
      await d.publishMany(2);
      await asked.promise;
      const elsewhere = await d.connect();
      await d.webhooks.patch(connected.webhook.id, { endpointId: elsewhere.webhook.endpointId }, ACTOR);
      moved.resolve();
      await takeRecords(elsewhere.at, 2);
      await until('the end', () => isDrained(d));
      assert.deepEqual(offsets(elsewhere.at), [0, 1]);
      assert.equal((await progress(d, connected)).state, 'running');
    });

  it('is obeyed if anything else changes', async (t) => {
    const [d, connected] = await held(t, {});
    const other = await d.connect();
    await d.webhooks.patch(connected.webhook.id, { name: 'another name', maxBatchRecords: 2 }, ACTOR);
    await d.endpoints.patch(connected.webhook.endpointId, { name: 'another name' }, ACTOR);
    d.advance(1);
    await d.publishMany(1);
    await other.at.next();
    await d.looked();
    assert.equal(connected.at.deliveries.length, 1);
  });
});

describe('a webhook that starts again sends the next records', () => {
  /** Sends two events, with a stop and a start in between, and then one more. */
  const check = async (d: Dispatching, { at }: Connected, store: Store): Promise<void> => {
    await d.publishMany(2);
    await d.start({ store });
    await until('the second', () => offsets(at).includes(1));
    await d.publishMany(1);
    await until('the third', () => offsets(at).includes(2));
  };

  it('after an outcome was written that found it stopped', async (t) => {
    const d = await openDispatching(t);
    const connected = await d.connect({ webhook: { ordered: true, maxBatchRecords: 1 } });
    const { at, webhook } = connected;
    let hasStopped = false;
    let hasStarted = false;
    at.answer(async () => {
      if (!hasStopped) await d.webhooks.stop(webhook.id, ACTOR);
      hasStopped = true;
      return { status: 200 };
    });
    const { settlements } = d.store;
    const settle: typeof settlements.settle = async (settlement) => {
      await settlements.settle(settlement);
      if (!hasStopped || hasStarted) return;
      hasStarted = true;
      await d.webhooks.start(webhook.id, ACTOR);
      await d.looked();
    };
    await check(d, connected, { ...d.store, settlements: { ...settlements, settle } });
    assert.equal(hasStarted, true);
  });

  it('after a claim that found it stopped', async (t) => {
    const d = await openDispatching(t);
    const connected = await d.connect({ webhook: { ordered: true, maxBatchRecords: 1 } });
    const { id } = connected.webhook;
    const { dispatch, settlements } = d.store;
    let hasStopped = false;
    let hasStarted = false;
    const settle: typeof settlements.settle = async (settlement) => {
      await settlements.settle(settlement);
      if (!hasStopped) await d.webhooks.stop(id, ACTOR);
      hasStopped = true;
    };
    // Of the claim that follows the outcome. Looks go on meanwhile, as it is not one of theirs.
    const target: typeof dispatch.target = async (webhookNumber) => {
      const found = await dispatch.target(webhookNumber);
      if (found?.webhook.progress.state !== 'stopped' || hasStarted) return found;
      hasStarted = true;
      await d.webhooks.start(id, ACTOR);
      await d.looked();
      return found;
    };
    const store = { ...d.store, dispatch: { ...dispatch, target }, settlements: { ...settlements, settle } };
    await check(d, connected, store);
    assert.equal(hasStarted, true);
  });
});
