/** The cursors of every list: its own cursors continue, invalid ones are refused, and those of another list reveal nothing. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { seedApi } from '../support/api-seed.ts';
import { type BadInput, refuseAll } from '../support/bad-input.ts';
import { type ApiClient, EDGE, EMPLOYEES, type Page, succeeded } from '../support/client.ts';
import { registerApplication } from '../support/journey.ts';
import { type ApiDocument, operationsOf } from '../support/openapi-document.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { type Service, startService } from '../support/service.ts';

repeatsInSlowTier('postgres');

type Item = Readonly<Record<string, unknown>>;
type List = { readonly path: string; readonly client: ApiClient };

/**
 * Every path of a guarded API that does not end in a parameter is a list, except records of a webhook, which have offsets, its keys that
 * wait, and usage: their rows have no ids.
 */
async function listsOf({ admin }: Pick<Service, 'admin'>): Promise<readonly List[]> {
  const document = await succeeded<ApiDocument>(admin.get('/services/api/openapi.json'));
  const lists = operationsOf(document).filter(
    ({ method, path }) =>
      method === 'GET' &&
      path.startsWith('/services/api/x/') &&
      !/(?:\}|\/records|\/waiting-keys|\/usage(?:\.csv)?)$/.test(path),
  );
  for (const { path, operation } of lists) {
    assert.ok(
      operation.parameters?.some(({ name }) => name === 'cursor'),
      path,
    );
  }
  const { api } = await registerApplication(admin, ['employees:view']);
  return lists.map(({ path }) => ({ path, client: path === EMPLOYEES ? api : admin }));
}

function idOf({ id, userId }: Item): string {
  return String(id ?? userId);
}

function read({ path, client }: List, query: Readonly<Record<string, string>>): Promise<Page<Item>> {
  return succeeded(client.get(`${path}?${new URLSearchParams(query)}`));
}

async function idsOf(list: List, query: Readonly<Record<string, string>>): Promise<string[]> {
  return (await read(list, { limit: '200', ...query })).items.map(idOf);
}

/** The items after a cursor of another list, if they are not the newer ones: ids are in order of time. */
const ORDERS: Readonly<Record<string, (id: string, cursor: string) => boolean>> = {
  // Of the id of a delivery, only the millisecond of its event is in that order.
  [`${EDGE}/deliveries`]: (id, cursor) => id.slice(0, 13) <= cursor.slice(0, 13),
  // Entries are in order of their numbers, and other ids have no number.
  [`${EDGE}/audit`]: () => false,
};

const SOME_ID = '01933f2a-0000-7000-8000-000000000000';

const NO_CURSORS: readonly string[] = [
  "1' OR '1'='1",
  "' OR 1=1 --",
  "'; DROP TABLE user_account; --",
  "' UNION SELECT sql FROM sqlite_master --",
  `${SOME_ID}'`,
  `${SOME_ID}' OR '1'='1`,
  `${SOME_ID} OR 1=1`,
  `${SOME_ID}%`,
  `${SOME_ID}\0`,
  `${SOME_ID}\n`,
  ` ${SOME_ID}`,
  `{${SOME_ID}}`,
  SOME_ID.toUpperCase(),
  SOME_ID.replaceAll('-', ''),
  '01933f2a-0000-4000-8000-000000000000',
  '',
  '0',
  '-1',
  '%',
  '[object Object]',
  '漢字',
  'x'.repeat(4000),
];

test('invalid cursors', async (t) => {
  const service = await startService(t);
  const lists = await listsOf(service);
  const bad = ({ path, client }: List, what: string, query: string): BadInput => ({
    what: `${path}: ${what}`,
    method: 'GET',
    path: `${path}?${query}`,
    client,
    fields: ['cursor'],
  });
  await refuseAll(
    t,
    service,
    lists.flatMap((list) => [
      ...NO_CURSORS.map((cursor) =>
        bad(list, JSON.stringify(cursor.slice(0, 60)), `${new URLSearchParams({ cursor })}`),
      ),
      bad(list, 'bytes that are no text', 'cursor=%ff%00'),
      bad(list, 'two cursors', `cursor=${SOME_ID}&cursor=${SOME_ID}`),
    ]),
  );
});

test('cursors', async (t) => {
  const service = await startService(t);
  const { admin } = service;
  const seeded = await seedApi(service);
  const lists = await listsOf(service);
  // Erasures and events have no list.
  const listed = [...seeded.keys()].filter((path) => path !== 'erasures' && path !== 'events');
  assert.deepEqual(lists.map(({ path }) => path.split('/').at(-1)).sort(), listed.sort());

  for (const list of lists) {
    await t.test(`of ${list.path} lead through it, each item once`, async () => {
      const all = await idsOf(list, {});
      const found: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: Page<Item> = await read(list, { limit: '1', ...(cursor !== '' && { cursor }) });
        found.push(...page.items.map(idOf));
        cursor = page.nextCursor;
      }
      assert.ok(all.length > 1);
      assert.deepEqual(found, all);
    });

    await t.test(`of other lists show nothing but items of ${list.path}, from a moment on`, async () => {
      const all = await idsOf(list, {});
      const after = ORDERS[list.path] ?? ((id, cursor) => id > cursor);
      for (const [kind, { id: cursor }] of seeded) {
        if (list.path.endsWith(`/${kind}`)) continue;
        const wanted = all.filter((id) => after(id, cursor));
        assert.deepEqual(await idsOf(list, { cursor }), wanted, `after one of ${kind}`);
      }
    });
  }

  await t.test('of other lists show only deliveries of the filter', async () => {
    const list = { path: `${EDGE}/deliveries`, client: admin };
    const filters: Record<string, string>[] = [
      { webhookId: seeded.get('webhooks')?.spare ?? '' },
      { state: 'dead' },
      { state: 'pending' },
      { state: 'delivered' },
      { state: 'discarded' },
      { eventType: 'order.placed', state: 'dead' },
    ];
    for (const filter of filters) {
      const all = await idsOf(list, filter);
      for (const [kind, { id: cursor }] of seeded) {
        const strangers = (await idsOf(list, { ...filter, cursor })).filter((id) => !all.includes(id));
        assert.deepEqual(strangers, [], `${JSON.stringify(filter)} after one of ${kind}`);
      }
    }
  });

  await t.test('show no deliveries of a stretch that ends before it begins', async () => {
    const stretch = 'since=2026-11-21T05:00:00Z&until=2026-11-21T05:00:00Z';
    const { status, body } = await admin.get(`${EDGE}/deliveries?${stretch}`);
    assert.equal(status, 400);
    assert.match(JSON.stringify(body), /until must be later than since/);
  });

  await t.test('show only employees of the divisions of the user', async () => {
    const { id: ofSales, spare: ofResearch } = seeded.get('employees') ?? assert.fail();
    const seen = async (division: string, cursor: string): Promise<string[]> => {
      const user = { constraints: { divisions: [division] } };
      const { api } = await registerApplication(admin, ['employees:view'], { user });
      return idsOf({ path: EMPLOYEES, client: api }, { cursor });
    };
    const earlier = seeded.get('users')?.id ?? assert.fail();
    assert.deepEqual(await seen('sales', earlier), [ofSales]);
    assert.deepEqual(await seen('sales', ofSales), []);
    assert.deepEqual(await seen('research', earlier), [ofResearch]);
    assert.deepEqual(await seen('research', ofSales), [ofResearch]);
  });
});
