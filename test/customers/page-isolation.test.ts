/**
 * In the portal of a customer, resources of another owner are answered like unknown ones: every registered page, form, stream,
 * filter and cursor, through a session of a portal link and through one of a user.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import test, { type TestContext } from 'node:test';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { type Page, succeeded } from '../support/client.ts';
import {
  type Belongings,
  created,
  makeCustomer,
  ORDERS,
  seedBelongings,
  sessionOf,
  type TestCustomer,
  unknownLike,
} from '../support/customers.ts';
import { makeEventType } from '../support/journey.ts';
import { portalPages } from '../support/portal-pages.ts';
import { type PortalReply, request } from '../support/portal-requests.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';

type Reference = { readonly id: string; readonly prefix?: string } | { readonly name: string };

/**
 * The objects of the parameters of pages; empty: no resource. Links that people cut are not refused, so any page gets any of them.
 */
const PARAMETERS: Readonly<Record<string, readonly Reference[]>> = {
  webhook: [{ id: 'webhooks' }, { name: 'webhook' }],
  customer: [{ id: 'customers' }],
  event: [{ id: 'events' }],
  endpoint: [{ id: 'endpoints' }],
  key: [{ name: 'key' }],
  encryptionKeyName: [{ name: 'key' }],
  userId: [{ name: 'user' }, { id: 'users' }],
  test: [{ id: 'attempts' }],
  actor: [{ id: 'users', prefix: 'user:' }],
  target: [{ id: 'webhooks', prefix: 'webhook:' }],
  cursor: [{ id: 'audit' }, { id: 'deliveries' }, { id: 'endpoints' }],
  q: [
    { id: 'deliveries' },
    { id: 'events' },
    { id: 'attempts' },
    { id: 'batches' },
    { id: 'webhooks' },
    { name: 'subject' },
    { name: 'orderingKey' },
    { name: 'endpoint' },
    { name: 'user' },
    { name: 'clientId' },
    { id: 'webhooks', prefix: 'webhook:' },
  ],
  kept: [{ id: 'webhooks', prefix: 'webhook:' }],
  open: [{ id: 'deliveries' }],
  orderingKey: [{ name: 'orderingKey' }],
  ...Object.fromEntries(
    [
      'action',
      'from',
      'method',
      'next',
      'outcome',
      'panel',
      'path',
      'period',
      'preset',
      'response',
      'role',
      'show',
      'since',
      'state',
      'tab',
      'type',
      'until',
    ].map((name) => [name, []]),
  ),
};

type Form = (value: string, mine: Belongings) => Record<string, string>;
/** The forms of pages without an id in their path that refer to something. */
const FORMS: Readonly<Record<string, readonly [kind: Reference, form: Form][]>> = {
  '/webhooks/new': [
    [{ id: 'endpoints' }, (endpointId) => ({ ...WEBHOOK, endpointId })],
    [
      { name: 'key' },
      (encryptionKeyName, { ids }) => ({ ...WEBHOOK, endpointId: ids.endpoints ?? '', encryptionKeyName }),
    ],
  ],
  '/webhooks/new/request-preview': [
    [{ id: 'endpoints' }, (endpointId) => ({ ...WEBHOOK, endpointId })],
    [
      { name: 'key' },
      (encryptionKeyName, { ids }) => ({ ...WEBHOOK, endpointId: ids.endpoints ?? '', encryptionKeyName }),
    ],
  ],
  '/webhooks/new/summary': [[{ id: 'endpoints' }, (endpointId) => ({ ...WEBHOOK, endpointId })]],
  '/applications/new': [
    [{ name: 'user' }, (userId) => ({ ...APPLICATION, userId })],
    [{ id: 'users' }, (userId) => ({ ...APPLICATION, userId })],
  ],
  '/overview/start': [[{ id: 'webhooks' }, (webhook) => ({ webhook, period: 'day' })]],
  '/deliveries/replay': [[{ id: 'webhooks' }, (webhook) => ({ webhook, state: 'dead' })]],
  '/deliveries/replay-selected': [[{ id: 'deliveries' }, (id) => ({ chosen: id })]],
};
const WEBHOOK = { name: 'new', eventTypes: ORDERS, retryPolicy: 'exponential', maxBatchRecords: '10' };
const APPLICATION = { name: 'new', actsAs: 'existing', accessTokenValiditySeconds: '3600' };
/** The forms that refer to nothing, or to what only the visitor has. */
const SELF_CONTAINED = [
  '/sign-in',
  '/sign-in/passkey',
  '/sign-in/passkey/options',
  '/sign-out',
  '/theme',
  '/account/password',
  '/account/passkeys',
  '/account/passkeys/options',
  '/account/sign-out-everywhere',
  '/endpoints/new',
  '/endpoints/new/summary',
  '/keys/new',
  '/users/new',
  // It judges events that the customer gets.
  '/webhooks/new/filter-preview',
  // Of the operator alone: a customer has no such page.
  '/event-types/new',
  '/products/new',
  '/settings/backup',
  '/publish',
  '/publish/preview',
  '/customers/new',
  '/settings/customers-portal',
  '/settings/customers-portal/preview',
];

type World = {
  readonly service: ServiceInProcess;
  readonly own: TestCustomer;
  readonly mine: Belongings;
  readonly others: readonly [customer: Belongings, operator: Belongings];
  readonly sessions: Readonly<Record<'user' | 'link', string>>;
};

async function openWorld(t: TestContext): Promise<World> {
  const service = await startService(t);
  const { admin, services } = service;
  await makeEventType(admin, ORDERS);
  const [own, other] = [await makeCustomer(service), await makeCustomer(service)];
  const mine = await seedBelongings(service, own);
  const [theirs, operators] = [await seedBelongings(service, other), await seedBelongings(service, null)];
  const product = await created(admin, 'products', { name: 'shop', scopes: [], rules: [] });
  const internal = await created(admin, 'event-types', { name: 'order.margin', public: false });
  await sessionOf(service, other, 'user');
  const [session] = await services.sessions.ofUser(other.userId);
  const more = {
    products: product.id,
    'event-types': internal.id,
    customers: other.id,
    sessions: session?.id ?? '',
    passkeys: operators.ids.users ?? '',
    results: operators.ids.users ?? '',
    'portal-links': 'A'.repeat(43),
    'event-catalogue': 'order.margin',
    'sign-in': other.id,
  };
  const sessions = { user: await sessionOf(service, own, 'user'), link: await sessionOf(service, own, 'link') };
  // Pages say how long ago things happened, and show rates of the minute that is under way.
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  return { service, own, mine, others: [{ ...theirs, ids: { ...more, ...theirs.ids } }, operators], sessions };
}

const pages = portalPages().filter(({ path }) => !path.startsWith('/docs'));

for (const by of ['link', 'user'] as const) {
  test(`through a session of a ${by}`, async (t) => {
    const { service, own, mine, others, sessions } = await openWorld(t);
    const token = sessions[by];
    const [theirs, operators] = others;
    let compared = 0;
    const same = async (
      what: string,
      ask: (value: string) => Promise<PortalReply>,
      foreign: string,
      unknown: string,
    ) => {
      const one = await ask(foreign);
      compared += 1;
      assert.deepEqual(told(one, foreign), told(await ask(unknown), unknown), what);
      return one;
    };
    const before = await overviewOf(service);

    await t.test('every id in a path is unknown', async () => {
      for (const { method, path } of pages) {
        const kind = kindOf(path);
        if (kind === null) continue;
        const owners = others.filter(({ ids }) => ids[kind] !== undefined);
        assert.ok(owners.length > 0, `${path} needs an id of ${kind} of another owner`);
        for (const { ids } of owners) {
          const id = ids[kind] ?? '';
          const ask = (value: string): Promise<PortalReply> =>
            request(service.url + path.replace(/\{\w+\*?\}/, value), { token, ...(method === 'POST' && { form: {} }) });
          const { status } = await same(`${method} ${path}`, ask, id, unknownLike(id));
          // A session that has ended already is no error, and a link has no sessions besides its own.
          if (kind !== 'sessions' && kind !== 'sign-in')
            assert.ok(status >= 400 && status < 500, `${method} ${path}: ${status}`);
        }
      }
    });

    // The same for both sessions, and by far the most requests.
    if (by === 'link')
      await t.test('every parameter finds as little as for what does not exist', async () => {
        for (const name of parametersOfPages())
          assert.ok(Object.hasOwn(PARAMETERS, name), `say what the parameter ${name} of a page refers to`);
        for (const { method, path, role } of pages) {
          const filled = path.replace(/\{\w+\}/, mine.ids[kindOf(path) ?? ''] ?? unknownLike(own.id));
          if (method !== 'GET' || role === null || /^\/(products|event-types|tester|settings|instances)/.test(path))
            continue;
          const get = (query: Readonly<Record<string, string>>): Promise<PortalReply> =>
            request(`${service.url}${filled}?${new URLSearchParams(query)}`, { token });
          const values = new Map(
            Object.entries(PARAMETERS).map(([name, references]) => [
              name,
              references.flatMap((one) => valuesOf(one, [theirs])),
            ]),
          );
          const names = [...values].flatMap(([name, all]) => (all.length > 0 ? [name] : []));
          compared += names.length;
          for (const name of await parametersReadBy(get, values, names)) {
            for (const [foreign, unknown] of values.get(name) ?? [])
              await same(`${path}?${name}`, (value) => get({ [name]: value }), foreign, unknown);
          }
        }
      });

    await t.test('every form refers to what does not exist', async () => {
      const forms = pages.filter(({ method, path }) => method === 'POST' && !path.includes('{'));
      for (const { path } of forms) {
        const known = FORMS[path];
        assert.ok(known !== undefined || SELF_CONTAINED.includes(path), `say what the form of ${path} refers to`);
        for (const [reference, form] of known ?? []) {
          for (const [foreign, unknown] of valuesOf(reference, others)) {
            const ask = (value: string): Promise<PortalReply> =>
              request(service.url + path, { token, form: form(value, mine) });
            await same(`POST ${path}`, ask, foreign, unknown);
          }
        }
      }
      for (const [list, name, kind] of [
        ['webhooks', 'endpointId', 'endpoints'],
        ['applications', 'userId', 'users'],
      ] as const) {
        for (const [foreign, unknown] of valuesOf({ id: kind }, others)) {
          const ask = (value: string): Promise<PortalReply> =>
            request(`${service.url}/${list}/${mine.ids[list]}/edit`, {
              token,
              form: { ...WEBHOOK, ...APPLICATION, [name]: value },
            });
          await same(`POST /${list}/{id}/edit with ${name}`, ask, foreign, unknown);
        }
      }
    });

    await t.test('no page names anything of another owner', async () => {
      const hidden = others.flatMap(({ ids, names }) => [...Object.values(ids), ...Object.values(names)]);
      let shown = 0;
      for (const { method, path, isBackground } of pages) {
        const id = mine.ids[kindOf(path) ?? ''];
        if (method !== 'GET' || isBackground || (path.includes('{') && id === undefined)) continue;
        const { status, text } = await request(service.url + path.replace(/\{\w+\}/, id ?? ''), { token });
        for (const one of hidden) assert.ok(!text.includes(one), `${path} shows ${one}`);
        if (status === 200) shown += 1;
      }
      assert.ok(shown > 20, `${shown} pages`);
    });

    await t.test('every stream is silent about everybody else', async (t) => {
      const streams = pages.filter(({ path, isBackground }) => isBackground && /live|changes/.test(path));
      assert.ok(streams.length >= 6);
      const open = streams.map(({ path }) => {
        const id = mine.ids[kindOf(path) ?? ''] ?? '';
        return readStream(t, service.url + path.replace(/\{\w+\}/, id), token);
      });
      await Promise.all(open.map(({ begun }) => begun));
      for (const { ids } of others) await succeeded(service.admin.post(`webhooks/${ids.webhooks}/test`));
      await succeeded(own.api.post(`webhooks/${mine.ids.webhooks}/test`));
      // The own attempt comes after the others' in every feed.
      const watched = open[streams.findIndex(({ path }) => path === '/deliveries/live')];
      await watched?.includes(mine.names.webhook ?? '');
      const hidden = others.flatMap(({ ids, names }) => [...Object.values(ids), ...Object.values(names)]);
      for (const { text } of open) for (const one of hidden) assert.ok(!text().includes(one), `a stream shows ${one}`);
    });

    await t.test('nothing of another owner has changed', async () => {
      const after = await overviewOf(service);
      for (const id of [theirs.ids, operators.ids].flatMap((ids) => Object.values(ids)))
        assert.deepEqual(after.get(id), before.get(id), id);
      assert.ok(compared > (by === 'link' ? 500 : 100), `${compared} comparisons`);
    });
  });
}

/** The resources that the operator sees, by id, without those of the customer whose sessions are tried. */
async function overviewOf({ admin }: ServiceInProcess): Promise<ReadonlyMap<string, unknown>> {
  const found = new Map<string, unknown>();
  for (const list of [
    'users',
    'applications',
    'endpoints',
    'keys',
    'webhooks',
    'products',
    'event-types',
    'deliveries',
  ]) {
    const { items } = await succeeded<Page<{ id: string; lastUsedAt?: unknown }>>(admin.get(`${list}?limit=200`));
    for (const { lastUsedAt, ...item } of items) found.set(item.id, item);
  }
  return found;
}

type Get = (query: Readonly<Record<string, string>>) => Promise<PortalReply>;

/**
 * The parameters that a page reads. Those that it answers together as it answers none, with references of another owner and with unknown
 * ones, it does not read: a page shows what it searched for.
 */
async function parametersReadBy(
  get: Get,
  values: ReadonlyMap<string, readonly (readonly [foreign: string, unknown: string])[]>,
  names: readonly string[],
): Promise<readonly string[]> {
  const shown = async (query: Readonly<Record<string, string>>): Promise<string> => {
    const reply = told(await get(query), ...Object.values(query));
    // The address of the page, in its forms and links.
    return JSON.stringify(reply).replaceAll(/(?:[?&]|&amp;|%3F|%26)\w+(?:=|%3D)…/g, '');
  };
  // Lists show whether their address has any parameter.
  const plain = await shown({ unread: 'of-no-page' });
  const readOf = async (some: readonly string[]): Promise<readonly string[]> => {
    const queries = [0, 1].map((which) =>
      Object.fromEntries(some.map((name) => [name, values.get(name)?.[0]?.[which] ?? ''])),
    );
    const [foreign, unknown] = [await shown(queries[0] ?? {}), await shown(queries[1] ?? {})];
    if (foreign === plain && unknown === plain) return [];
    if (some.length === 1) return some;
    assert.equal(foreign, unknown, some.join());
    const middle = Math.ceil(some.length / 2);
    return [...(await readOf(some.slice(0, middle))), ...(await readOf(some.slice(middle)))];
  };
  return readOf(names);
}

function told({ status, headers, text }: PortalReply, ...asked: readonly string[]): unknown {
  // The clock stands still, so ids that a request makes begin with the time: those of errors, and of the request in the guide.
  const now = Date.now().toString(16).padStart(12, '0');
  const made = new RegExp(`\\b${now.slice(0, 8)}-${now.slice(8)}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`, 'g');
  const kept = [...headers].filter(([name]) => name !== 'date' && name !== 'content-length');
  const echoes = asked.flatMap((value) => [
    value,
    encodeURIComponent(value),
    encodeURIComponent(encodeURIComponent(value)),
  ]);
  const without = (from: string): string =>
    echoes
      .reduce((kept, echo) => kept.replaceAll(echo, '…'), from)
      .replace(made, 'an id')
      // Hashes and signatures of what has such an id.
      // Without the look behind it, a search would begin at each letter of each word: an eighth of the test.
      .replace(/(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{43}=/g, 'a hash')
      .replace(/(name="formToken" value=")[^"]+/g, '$1')
      // Of a new visitor, and of a message for the next page.
      .replace(/(sallyport(?:-\w+)?=)[\w.=-]+/g, '$1');
  return { status, headers: without(JSON.stringify(kept)), text: without(text) };
}

/** The segment before the first parameter of the path; null without one, and for downloads, which are the same for everybody. */
function kindOf(path: string): string | null {
  if (path.startsWith('/downloads/')) return null;
  return /([^/]+)\/\{/.exec(path)?.[1] ?? null;
}

function valuesOf(reference: Reference, owners: readonly Belongings[]): [foreign: string, unknown: string][] {
  return owners.flatMap(({ ids, names }): [string, string][] => {
    const value = 'name' in reference ? names[reference.name] : ids[reference.id];
    if (value === undefined) return [];
    const unknown = 'name' in reference ? `${value.slice(0, -1)}z` : unknownLike(value);
    const prefix = 'prefix' in reference ? (reference.prefix ?? '') : '';
    return [[prefix + value, prefix + unknown]];
  });
}

/** The names of the parameters that the sources of pages read. */
function parametersOfPages(): ReadonlySet<string> {
  const folder = new URL('../../src/portal/', import.meta.url);
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const found = sources.flatMap((name) =>
    Array.from(
      readFileSync(new URL(name, folder), 'utf8').matchAll(
        /(?:query\.(?:get|getAll|has)\(|read\w+\((?:call\.)?(?:query|fields), )'(\w+)'/g,
      ),
      ([, parameter]) => parameter ?? '',
    ),
  );
  // Of forms.
  return new Set(found.filter((name) => name !== 'cause'));
}

/** Reads a stream until the test ends. */
function readStream(t: TestContext, url: string, token: string) {
  let text = '';
  let look = (): void => undefined;
  const begun = Promise.withResolvers<void>();
  const sent = httpRequest(url, { headers: { accept: 'text/event-stream', cookie: `${SESSION_COOKIE}=${token}` } });
  sent.on('error', () => undefined);
  sent.on('response', (response) => {
    begun.resolve();
    response.on('error', () => undefined);
    response.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      look();
    });
  });
  sent.end();
  t.after(() => sent.destroy());
  const includes = (wanted: string): Promise<void> =>
    new Promise((resolve) => {
      look = () => {
        if (text.includes(wanted)) resolve();
      };
      look();
    });
  return { begun: begun.promise, text: () => text, includes };
}
