/** The lists and the overview of the portal in the store. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { WebhookFilter } from '../../src/store/port/directory.ts';
import { claimNext, publishMany, run, settleBatch, settleNext } from '../support/batches.ts';
import { subscribe } from '../support/events.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';
import {
  ACTOR,
  makeApplication,
  makeEndpoint,
  makeEventType,
  makeKey,
  makeUser,
  makeWebhook,
  openTestServices,
} from '../support/services.ts';
import { NOW, onSqlite, openTestStore, type TestStore } from '../support/store.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

async function openDirectory(t: TestContext) {
  const s = await openTestServices(t);
  await makeEventType(s, 'order.placed');
  const shop = await makeEndpoint(s, { name: 'Shop', url: 'https://shop.example/in' });
  const erp = await makeEndpoint(s, { name: 'ERP 100%', url: 'https://erp.example/hooks', enabled: false });
  const key = await makeKey(s);
  const fields = { endpointId: shop.id };
  const orders = await makeWebhook(s, ['order.placed'], { ...fields, name: 'Orders' });
  const people = await makeWebhook(s, ['employee.*'], { ...fields, name: 'people', encryptionKeyName: key.name });
  const archive = await makeWebhook(s, ['order.*'], { endpointId: erp.id, name: 'ORDERS, archived' });
  await s.webhooks.start(orders.id, ACTOR);
  return { s, shop, erp, key, orders, people, archive };
}

describe('the directory of webhooks', () => {
  it('lists the newest first, with the endpoint and the pending records', async (t) => {
    const { s, orders, people, archive } = await openDirectory(t);
    await s.publish({ events: [1, 2].map((n) => ({ type: 'order.placed', data: { n } })) }, ACTOR);
    const listed = await s.store.directory.webhooks({}, null, 10);
    assert.deepEqual(
      listed.map(({ webhook, ...beside }) => [webhook.id, beside]),
      [
        [archive.id, { endpointName: 'ERP 100%', endpointEnabled: false, pendingRecords: 2 }],
        [people.id, { endpointName: 'Shop', endpointEnabled: true, pendingRecords: 0 }],
        [orders.id, { endpointName: 'Shop', endpointEnabled: true, pendingRecords: 2 }],
      ],
    );
    assert.deepEqual(listed[1]?.webhook, await s.webhooks.get(people.id));
    assert.deepEqual(await s.store.directory.webhook(archive.id), listed[0]);
    const waits = (at: number) => s.store.directory.oldestWaitingAt(listed[at]?.webhook.progress.webhookNumber ?? 0);
    assert.deepEqual([await waits(0), await waits(1), await waits(2)], [s.clock(), null, s.clock()]);
    assert.equal(await s.store.directory.webhook('none'), null);
  });

  it('continues after the last page', async (t) => {
    const { s, orders, people, archive } = await openDirectory(t);
    const page = async (before: string | null) =>
      (await s.store.directory.webhooks({}, before, 2)).map(({ webhook }) => webhook.id);
    assert.deepEqual(await page(null), [archive.id, people.id]);
    assert.deepEqual(await page(people.id), [orders.id]);
    assert.deepEqual(await page(orders.id), []);
  });

  it('combines filters', async (t) => {
    const { s, shop, erp, key } = await openDirectory(t);
    const cases: readonly (readonly [WebhookFilter, readonly string[]])[] = [
      [{ state: 'started' }, ['Orders']],
      [{ state: 'stopped' }, ['ORDERS, archived', 'people']],
      [{ state: 'failed' }, []],
      [{ endpointId: shop.id }, ['people', 'Orders']],
      [{ endpointId: 'none' }, []],
      [{ keyName: key.name }, ['people']],
      [{ eventType: 'order.placed' }, ['ORDERS, archived', 'Orders']],
      [{ eventType: 'order.other' }, ['ORDERS, archived']],
      [{ eventType: 'placed' }, []],
      [{ troubled: 'yes' }, []],
      [{ text: 'orders' }, ['ORDERS, archived', 'Orders']],
      [{ text: '%' }, []],
      [{ text: 'orders', endpointId: erp.id }, ['ORDERS, archived']],
      [{ text: 'orders', state: 'started', endpointId: erp.id }, []],
    ];
    for (const [filter, names] of cases) {
      const listed = await s.store.directory.webhooks(filter, null, 10);
      assert.deepEqual(
        listed.map(({ webhook }) => webhook.name),
        names,
        JSON.stringify(filter),
      );
    }
  });

  it('counts the webhooks in each state', async (t) => {
    const { s } = await openDirectory(t);
    assert.deepEqual(await s.store.directory.states(null), { started: 1, stopped: 2 });
  });
});

describe('the directory of endpoints', () => {
  it('lists the newest first and searches names and addresses', async (t) => {
    const { s, shop, erp } = await openDirectory(t);
    const names = async (text?: string) =>
      (await s.store.directory.endpoints(text === undefined ? {} : { text }, null, 10)).map(({ name }) => name);
    assert.deepEqual(await names(), ['ERP 100%', 'Shop']);
    assert.deepEqual(await names('sHOP'), ['Shop']);
    assert.deepEqual(await names('erp.example'), ['ERP 100%']);
    assert.deepEqual(await names('100%'), ['ERP 100%']);
    assert.deepEqual(await names('nobody'), []);
    for (const [state, found] of [
      ['problems', []],
      ['enabled', ['Shop']],
      ['disabled', ['ERP 100%']],
    ] as const) {
      const listed = await s.store.directory.endpoints({ state }, null, 10);
      assert.deepEqual(
        listed.map(({ name }) => name),
        found,
        state,
      );
      assert.equal(await s.store.directory.countEndpoints({ state }, 10), found.length, state);
    }
    const switches = { tokenChallenge: false, verified: false };
    assert.deepEqual(await s.store.directory.endpointNames(null, 10), [
      { id: erp.id, name: 'ERP 100%', enabled: false, ...switches },
      { id: shop.id, name: 'Shop', enabled: true, ...switches },
    ]);
    assert.equal((await s.store.directory.endpointNames(null, 1)).length, 1);
    assert.equal(await s.store.directory.countEndpoints({}, 10), 2);
    assert.equal(await s.store.directory.countEndpoints({}, 1), 1);
    const [, older] = await s.store.directory.endpoints({}, null, 10);
    assert.equal(older?.secret.reveal(), shop.secret.reveal());
    assert.deepEqual(
      (await s.store.directory.endpoints({}, erp.id, 10)).map(({ id }) => id),
      [shop.id],
    );
  });
});

describe('the dead records of a webhook', () => {
  it('are counted through their index, up to a limit', async (t) => {
    const { s, orders, people } = await openDirectory(t);
    const number = (await s.webhooks.get(orders.id)).progress.webhookNumber;
    const quiet = (await s.webhooks.get(people.id)).progress.webhookNumber;
    const dead = async (batches: number, of = number) => (await s.store.directory.deadRecords([of], batches)).get(of);
    assert.deepEqual(await dead(10), { records: 0, isWhole: true });
    await publishMany(s, 'order.placed', 12);
    await settleNext(s, number, [3, 2], 'dead');
    await settleNext(s, number, [1], 'delivered');
    await settleNext(s, number, [4], 'dead');
    assert.deepEqual(await dead(3), { records: 9, isWhole: true });
    assert.deepEqual(await dead(1), { records: 5, isWhole: false });
    assert.deepEqual(await dead(3, quiet), { records: 0, isWhole: true });
    assert.equal((await s.store.directory.deadRecords([], 3)).size, 0);
  });

  it('are counted for each of several webhooks', async (t) => {
    const { s, orders, archive, people } = await openDirectory(t);
    await s.endpoints.patch(archive.endpointId ?? '', { enabled: true }, ACTOR);
    await s.webhooks.start(archive.id, ACTOR);
    const numbers: number[] = [];
    for (const { id } of [orders, archive, people]) numbers.push((await s.webhooks.get(id)).progress.webhookNumber);
    const [first = 0, second = 0, quiet = 0] = numbers;
    await publishMany(s, 'order.placed', 7);
    await settleNext(s, first, [3, 2], 'dead');
    await settleNext(s, second, [4], 'dead');
    const none = { records: 0, isWhole: true };
    const dead = async (batches: number) => [
      ...(await s.store.directory.deadRecords([first, second, quiet], batches)).entries(),
    ];
    const whole = { records: 4, isWhole: true };
    assert.deepEqual(await dead(2), [
      [first, { records: 5, isWhole: true }],
      [second, whole],
      [quiet, none],
    ]);
    assert.deepEqual(await dead(1), [
      [first, { records: 5, isWhole: false }],
      [second, whole],
      [quiet, none],
    ]);
  });
});

describe('the search', () => {
  it('finds by the id and by a part of the name, names that begin with the text first', async (t) => {
    const { s, shop, orders, archive, key } = await openDirectory(t);
    const names = async (text: string, limit = 10) =>
      (await s.store.search.find(text, null, limit)).map(({ kind, name }) => `${kind} ${name}`);
    assert.deepEqual(await names('ORDERS'), ['webhook Orders', 'webhook ORDERS, archived']);
    assert.deepEqual(await names('orders', 1), ['webhook Orders']);
    assert.deepEqual(await names(orders.id.toUpperCase()), ['webhook Orders']);
    assert.deepEqual(await names(archive.id), ['webhook ORDERS, archived']);
    assert.ok((await names(shop.url.slice(8, 20))).some((name) => name.startsWith('endpoint ')));
    assert.ok((await names(key.fingerprint.slice(4, 24))).includes(`key ${key.name}`));
    assert.deepEqual(await names("' OR 1=1 --"), []);
    // A webhook has its state.
    const found = await s.store.search.find('o', null, 10);
    const states = found.filter(({ kind }) => kind === 'webhook').map(({ name, state }) => `${name} ${state}`);
    assert.deepEqual(states.sort(), ['ORDERS, archived stopped', 'Orders started', 'people stopped']);
    assert.ok(found.every(({ kind, state }) => kind === 'webhook' || state === null));
  });

  it('finds by words of the name and of the customer, also beyond ASCII', async (t) => {
    const { s } = await openDirectory(t);
    for (const name of ['Öko', 'Bolt']) {
      const { id: customerId } = await s.customers.create({ name }, ACTOR);
      await makeEndpoint(s, { name: 'Ärzte Orders', customerId });
    }
    const found = async (text: string) =>
      (await s.store.search.find(text, null, 10)).filter(({ name }) => name === 'Ärzte Orders').length;
    for (const text of ['orders Öko', 'ÖKO', 'ÖkO ÄRZTE', 'orders bolt', 'Ärzte BOLT'])
      assert.equal(await found(text), 1, text);
    for (const text of ['orders öko', 'ärzte bolt']) assert.equal(await found(text), 0, text);
  });
});

describe('a name beyond ASCII', () => {
  it('is found as it is written, also with its letters of ASCII in another case', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.placed');
    const own = { name: 'Öko Bahn', customerId: (await s.customers.create({ name: 'Öko Bahn' }, ACTOR)).id };
    const { id: endpointId } = await makeEndpoint(s, own);
    await makeWebhook(s, ['order.placed'], { ...own, endpointId });
    const user = await makeUser(s, { displayName: own.name, customerId: own.customerId });
    await makeApplication(s, { ...own, userId: user.id, scopes: [] });
    const { directory, registry, customers, search } = s.store;
    const lists: Readonly<Record<string, (text: string) => Promise<readonly unknown[]>>> = {
      webhooks: (text) => directory.webhooks({ text }, null, 10),
      'webhooks by name': (name) => directory.webhooks({ name }, null, 10),
      endpoints: (text) => directory.endpoints({ text }, null, 10),
      customers: (text) => customers.search({ text }, null, 10),
      users: (text) => registry.users({ text }, null, 10),
      applications: (text) => registry.applications({ text }, null, 10),
      search: async (text) => (await search.find(text, null, 10)).filter(({ kind }) => kind === 'webhook'),
      'search of a customer': async (text) =>
        (await search.find(text, own.customerId, 10)).filter(({ kind }) => kind === 'webhook'),
    };
    for (const [list, find] of Object.entries(lists)) {
      for (const [text, count] of [
        ['Öko Bahn', 1],
        ['ÖKO BAHN', 1],
        ['öko bahn', 0],
      ] as const)
        assert.equal((await find(text)).length, count, `${list}: ${text}`);
    }
  });
});

describe('the uses of', () => {
  it('an endpoint and a key are counted, and the first three are named in order of creation', async (t) => {
    const { s, shop, erp, key, orders, people, archive } = await openDirectory(t);
    const more = [];
    for (const name of ['four', 'five'])
      more.push(await makeWebhook(s, ['order.placed'], { endpointId: shop.id, name }));
    const uses = await s.store.uses.ofEndpoints([shop.id, erp.id, 'none']);
    assert.deepEqual(
      [...uses],
      [
        [
          shop.id,
          {
            count: 4,
            first: [
              { id: orders.id, name: 'Orders', state: 'started', filter: null },
              { id: people.id, name: 'people', state: 'stopped', filter: null },
              { id: more[0]?.id, name: 'four', state: 'stopped', filter: null },
            ],
          },
        ],
        [erp.id, { count: 1, first: [{ id: archive.id, name: 'ORDERS, archived', state: 'stopped', filter: null }] }],
      ],
    );
    assert.deepEqual(
      [...(await s.store.uses.ofKeys([key.id, 'none']))],
      [[key.id, { count: 1, first: [{ id: people.id, name: 'people', state: 'stopped', filter: null }] }]],
    );
    assert.equal((await s.store.uses.ofKeys([])).size, 0);
    const keyIds = async (text: string) => (await s.store.keys.list('', 10, { text })).map(({ id }) => id);
    assert.deepEqual(await keyIds(key.name.slice(1).toUpperCase()), [key.id]);
    assert.deepEqual(await keyIds('none'), []);
    const { webhookNumber } = (await s.webhooks.get(archive.id)).progress;
    const sent = { stateReason: null, failingSinceAt: null, state: 'stopped', name: 'ORDERS, archived' } as const;
    assert.deepEqual(await s.store.directory.webhooksOf([erp.id, 'none'], 10), [
      { ...sent, endpointId: erp.id, webhookNumber, id: archive.id, pendingRecords: 0 },
    ]);
    assert.deepEqual(
      (await s.store.directory.webhooksOf([shop.id, erp.id], 3)).map(({ name }) => name),
      ['five', 'four', 'ORDERS, archived'],
      'the newest ones',
    );
  });

  it('a pattern are the webhooks that have it as it is', async (t) => {
    const { s, shop } = await openDirectory(t);
    for (const name of ['four', 'five', 'six']) await makeWebhook(s, ['order.placed'], { endpointId: shop.id, name });
    const uses = await s.store.uses.ofPatterns(['order.placed', 'order.*', '*']);
    assert.deepEqual(
      [...uses].map(([pattern, { count, first }]) => [pattern, count, first.map(({ name }) => name)]),
      [
        ['order.*', 1, ['ORDERS, archived']],
        ['order.placed', 4, ['Orders', 'four', 'five']],
      ],
    );
  });

  it('an event type are all webhooks that receive it by any pattern, each once', async (t) => {
    const { s, key, shop } = await openDirectory(t);
    const fields = { endpointId: shop.id, encryptionKeyName: key.name };
    await makeWebhook(s, ['*', 'order.*', 'order.placed'], { ...fields, name: 'all' });
    const uses = await s.store.uses.ofEventTypes(
      ['order.placed', 'employee.created', 'webhook.started', 'stock.low'],
      null,
    );
    const names = [...uses].map(([type, { count, first }]) => [type, count, first.map(({ name }) => name)]);
    assert.deepEqual(names, [
      ['employee.created', 2, ['people', 'all']],
      ['order.placed', 3, ['Orders', 'ORDERS, archived', 'all']],
      ['stock.low', 1, ['all']],
      ['webhook.started', 1, ['all']],
    ]);
  });
});

describe('the history of a webhook', () => {
  it('has the webhook’s own changes of state, newest first', async (t) => {
    const { s, orders, people } = await openDirectory(t);
    s.advance(1000);
    await s.webhooks.start(people.id, ACTOR);
    const startedAt = s.clock();
    s.advance(60_000);
    await s.webhooks.stop(people.id, ACTOR);
    const started = { state: 'started', previousState: 'stopped', reason: null, at: startedAt };
    const stopped = {
      state: 'stopped',
      previousState: 'started',
      reason: 'stopped_by_administrator',
      at: startedAt + 60_000,
    };
    assert.deepEqual(await s.store.stateHistory.ofWebhook(people.id, 10), [stopped, started]);
    assert.deepEqual(await s.store.stateHistory.ofWebhook(people.id, 1), [stopped]);
    assert.equal((await s.store.stateHistory.ofWebhook(orders.id, 10)).length, 1);
    assert.deepEqual(await s.store.stateHistory.ofWebhook('none', 10), []);
  });

  onSqlite('uses its index, however many events there are', async (t) => {
    const { s } = await openDirectory(t);
    const plan = await s.rows(`
      EXPLAIN QUERY PLAN SELECT 1 FROM event INDEXED BY event_of_webhook
      WHERE type GLOB 'webhook.*' AND data ->> 'webhookId' = 'x' AND data ->> 'state' IS NOT NULL ORDER BY key DESC`);
    assert.deepEqual(
      plan.map(({ detail }) => detail),
      ['SEARCH event USING INDEX event_of_webhook (<expr>=?)'],
    );
  });
});

const nameOf = ({ name }: { readonly name: string }): string => name;

async function setState(
  { database }: TestStore,
  number: number,
  state: string,
  reason: string | null,
  more = '',
): Promise<void> {
  const sql = `
    UPDATE webhook_progress SET state = @state, state_reason = @reason ${more} WHERE webhook_number = @number`;
  await database.commit([{ sql, params: { number, state, reason } }]);
}

describe('the overview', () => {
  it('reports how many records wait, since when, and which webhooks have the most', async (t) => {
    const s = await openTestStore(t);
    const none = { records: 0, oldestAt: null, webhooks: 0, longest: [] };
    assert.deepEqual(await s.store.overview.backlog(null, 5), none);
    const [orders, all, idle] = [
      await subscribe(s, ['order.*'], { name: 'orders' }),
      await subscribe(s, ['*'], { name: 'all' }),
      await subscribe(s, ['stock.low'], { name: 'idle' }),
    ];
    for (const number of [orders, all, idle]) await run(s, number);
    await publishMany(s, 'order.placed', 2);
    s.advance(1000);
    await publishMany(s, 'stock.high', 3);
    const backlog = await s.store.overview.backlog(null, 5);
    assert.deepEqual([backlog.records, backlog.oldestAt, backlog.webhooks], [7, NOW, 2]);
    assert.deepEqual(
      backlog.longest.map(({ name, records, oldestAt, state }) => [name, records, oldestAt, state]),
      [
        ['all', 5, NOW, 'running'],
        ['orders', 2, NOW, 'running'],
      ],
    );
    // Records in progress count as waiting, and a batch is as old as its oldest record.
    await settleNext(s, orders, [2], 'delivered');
    const claimed = await claimNext(s, all, 2);
    assert.equal((await s.store.overview.backlog(null, 5)).records, 5);
    await settleBatch(s, claimed, { kind: 'delivered', at: s.clock() });
    const later = await s.store.overview.backlog(null, 1);
    assert.deepEqual([later.records, later.oldestAt, later.webhooks], [3, NOW + 1000, 1]);
    assert.deepEqual(later.longest.map(nameOf), ['all']);
  });

  it('lists webhooks that do not deliver, except those stopped by an administrator, latest first', async (t) => {
    const s = await openTestStore(t);
    const make = (name: string) => subscribe(s, ['*'], { name });
    const [fine, failing, failed, gone, stopped, fresh] = [
      await make('fine'),
      await make('failing'),
      await make('failed'),
      await make('gone'),
      await make('stopped'),
      await make('fresh'),
    ];
    await setState(s, fine, 'running', null);
    await setState(s, failing, 'failing', 'timeout', `, failing_since_at = ${NOW + 5}, state_detail = 'no answer'`);
    await setState(s, failed, 'failed', 'failing_too_long', `, state_at = ${NOW + 9}`);
    await setState(s, gone, 'stopped', 'endpoint_gone', `, state_at = ${NOW + 7}`);
    await setState(s, stopped, 'stopped', 'stopped_by_administrator', `, state_at = ${NOW + 8}`);
    assert.ok(fresh > stopped);
    await publishMany(s, 'order.placed', 4);
    const ailing = await s.store.overview.ailing(null, 10);
    assert.deepEqual(ailing.map(nameOf), ['failed', 'gone', 'failing']);
    const { id, endpointId, webhookNumber, ...told } = ailing[2] ?? assert.fail();
    assert.deepEqual(told, {
      name: 'failing',
      endpointName: 'receiver',
      state: 'failing',
      reason: 'timeout',
      detail: 'no answer',
      since: NOW + 5,
      waiting: 4,
    });
    assert.equal(webhookNumber, failing);
    assert.equal((await s.store.webhooks.get(id))?.endpointId, endpointId);
    assert.deepEqual((await s.store.overview.ailing(null, 1)).map(nameOf), ['failed']);
  });

  it('counts dead records up to a limit', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    await run(s, number);
    assert.deepEqual(await s.store.overview.dead(null), { records: 0, more: false });
    await publishMany(s, 'order.placed', 12);
    await settleNext(s, number, [3], 'delivered');
    await settleNext(s, number, [4, 2], 'dead');
    assert.deepEqual(await s.store.overview.dead(null), { records: 6, more: false });
    await s.database.commit([
      {
        sql: `
      WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10000)
      INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, settled_at)
      SELECT 99, n, n, 'b', 'dead', 1, 0, 1 FROM n`,
        params: {},
      },
    ]);
    const { records, more } = await s.store.overview.dead(null);
    assert.ok(more && records >= 10_000);
  });

  onSqlite('reads the health of webhooks, samples, volumes and valid tokens by indexes and limits', async (t) => {
    const { sqlite: database, store } = await openTestStore(t);
    const prepare = database.connection.prepare.bind(database.connection);
    const plans: string[] = [];
    database.connection.prepare = ((sql: string) => {
      const values = Array.from(sql.matchAll(/\?/g), () => '[]');
      const plan = prepare(`EXPLAIN QUERY PLAN ${sql}`).all(values) as { detail: string }[];
      plans.push(...plan.map(({ detail }) => detail));
      return prepare(sql);
    }) as typeof database.connection.prepare;
    await store.figures.attempts({ spanSeconds: 3600, webhookNumbers: [1], from: 0 });
    await store.attempts.lastOutcomes([1]);
    await store.directory.webhooksOf(['a'], 10);
    await store.eventTypes.latestSample('order.created', 100);
    await store.eventTypes.volumes(['order.created'], 0, 10);
    await store.tokens.inForce({ id: 'a', tokensRevokedThrough: 0 }, 0, 10);
    // The newest rows of two tables, up to a limit; the others are their results.
    const scans = plans.filter((detail) =>
      /^SCAN (?!\(|wanted|asked|found|newest|ranked|json_each|w VIRTUAL)/.test(detail),
    );
    assert.deepEqual(scans, ['SCAN attempt', 'SCAN seen', 'SCAN e', 'SCAN access_token']);
    const searched = plans.join('\n');
    assert.match(searched, /SEARCH f USING PRIMARY KEY \(span_seconds=\? AND webhook_number=\? AND at>\?\)/);
    assert.match(searched, /SEARCH a USING COVERING INDEX attempt_record/);
    assert.match(searched, /SEARCH w USING INDEX webhook_endpoint/);
    assert.match(searched, /SEARCH event USING (COVERING )?INDEX event_of_type/);
  });

  onSqlite('scans only the progress of webhooks', async (t) => {
    const { sqlite: database, store } = await openTestStore(t);
    const prepare = database.connection.prepare.bind(database.connection);
    const plans: string[] = [];
    database.connection.prepare = ((sql: string) => {
      const values = Array.from(sql.matchAll(/\?/g), () => 1);
      const plan = prepare(`EXPLAIN QUERY PLAN ${sql}`).all(values) as { detail: string }[];
      plans.push(...plan.map(({ detail }) => detail));
      return prepare(sql);
    }) as typeof database.connection.prepare;
    await store.overview.backlog(null, 5);
    await store.overview.ailing(null, 5);
    await store.overview.dead(null);
    const scans = plans.filter((detail) => /^SCAN (?!\(|(q|dead)$)/.test(detail));
    assert.deepEqual(new Set(scans), new Set(['SCAN p', 'SCAN b USING COVERING INDEX batch_dead']));
    assert.match(plans.join('\n'), /SEARCH batch USING COVERING INDEX batch_pending/);
  });
});
