/**
 * Through a customer's application, resources of another owner are answered like unknown ones: every guarded route, filter,
 * cursor and reference of the API's own document.
 */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { PERSON } from '../support/api-seed.ts';
import { type ApiClient, type ApiReply, EMPLOYEES, type Page, succeeded } from '../support/client.ts';
import {
  type Belongings,
  created,
  makeCustomer,
  ORDERS,
  seedBelongings,
  type TestCustomer,
  unknownLike,
} from '../support/customers.ts';
import { makeEventType, registerApplication } from '../support/journey.ts';
import {
  type ApiDocument,
  bodiesOf,
  type DescribedOperation,
  operationsOf,
  placeOf,
} from '../support/openapi-document.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';

repeatsInSlowTier('postgres');

/** The object of a parameter or a member of a body: a kind of id, a name, or no resource. */
type Reference = { readonly id: string; readonly prefix?: string } | { readonly name: string } | null;

const ACTORS: Reference = { id: 'applications', prefix: 'application:' };
const TARGETS: Reference = { id: 'webhooks', prefix: 'webhook:' };

/** Every parameter of a list but `cursor`, which gets ids of all kinds. */
const PARAMETERS: Readonly<Record<string, Reference>> = {
  customerId: { id: 'customers' },
  userId: { id: 'users' },
  endpointId: { id: 'endpoints' },
  webhookId: { id: 'webhooks' },
  clientId: { name: 'clientId' },
  userName: { name: 'user' },
  name: { name: 'webhook' },
  url: { name: 'url' },
  orderingKey: { name: 'orderingKey' },
  externalId: { name: 'externalId' },
  actor: ACTORS,
  target: TARGETS,
  action: null,
  active: null,
  after: null,
  by: null,
  division: null,
  enabled: null,
  eventType: null,
  limit: null,
  mode: null,
  role: null,
  since: null,
  sort: null,
  state: null,
  until: null,
  wait: null,
};

/** Every member of a request body whose name says that it refers to something. */
const MEMBERS: Readonly<Record<string, Reference>> = {
  customerId: { id: 'customers' },
  customerExternalId: { name: 'externalId' },
  userId: { id: 'users' },
  endpointId: { id: 'endpoints' },
  encryptionKeyName: { name: 'key' },
  managerId: { id: 'employees' },
  // Texts that are handed on.
  actorId: null,
  correlationId: null,
  externalId: null,
  oauthClientId: null,
};
const REFERS = /(?:Ids?|KeyName)$/;

type Sent = { readonly method: string; readonly path: string; readonly body?: unknown };

type World = {
  readonly own: TestCustomer;
  readonly mine: Belongings;
  readonly others: readonly Belongings[];
  readonly document: ApiDocument;
  readonly operations: readonly DescribedOperation[];
  /** Everything that the operator and the other customer read. */
  look(): Promise<unknown>;
};

async function openWorld(t: TestContext): Promise<World> {
  const service = await startService(t);
  const { admin } = service;
  await makeEventType(admin, ORDERS);
  const own = await makeCustomer(service);
  const other = await makeCustomer(service);
  const mine = await seedBelongings(service, own);
  const others = [await seedBelongings(service, other), await operatorsBelongings(service)];
  const document = await succeeded<ApiDocument>(admin.get('/services/api/openapi.json'));
  const operations = operationsOf(document).filter(({ path }) => path.startsWith('/services/api/x/'));
  const lists = operations.filter((one) => one.method === 'GET' && !/\}|\/audit$/.test(one.path));
  const look = (): Promise<unknown> =>
    Promise.all(
      [admin, other.api].flatMap((api) =>
        lists.map(async ({ path }) => [path, (await api.get<Page<object>>(`${path}?limit=200`)).body]),
      ),
    ).then((replies) => JSON.stringify(replies, (name, value) => (VOLATILE.has(name) ? null : value)));
  return { own, mine, others, document, operations, look };
}

const VOLATILE: ReadonlySet<string> = new Set(['lastUsedAt', 'errorId', 'timeStamp']);

/** The operator's own, with the resources that customers do not have. */
async function operatorsBelongings(service: ServiceInProcess): Promise<Belongings> {
  const { admin } = service;
  const { ids, names } = await seedBelongings(service, null);
  const third = await makeCustomer(service);
  const product = await created(admin, 'products', { name: 'shop', scopes: [], rules: [] });
  const internal = await created(admin, 'event-types', { name: 'order.margin', public: false });
  const erasure = await created(admin, 'events/erase', { subject: names.subject });
  const { api } = await registerApplication(admin, ['employees:create']);
  const { userId: employee } = await created<{ userId: string }>(api, EMPLOYEES, { userName: 'staff', ...PERSON });
  return {
    ids: {
      ...ids,
      customers: third.id,
      products: product.id,
      'event-types': internal.id,
      erasures: erasure.id,
      employees: employee,
    },
    names: { ...names, externalId: third.externalId },
  };
}

test('through the application of a customer', async (t) => {
  const { own, mine, others, document, operations, look } = await openWorld(t);
  const [other, operator] = others as [Belongings, Belongings];
  const seenBefore = await look();
  let compared = 0;
  /** Asks with another owner's value and with an unknown one. The answers may differ in that value alone. Returns their status. */
  const same = async (
    what: string,
    ask: (value: string) => Sent,
    foreign: string,
    unknown: string,
  ): Promise<number> => {
    const [one, two] = await answersOf(own.api, ask, foreign, unknown);
    assert.deepEqual(one, two, what);
    compared += 1;
    return one.status;
  };

  await t.test('every id in a path is unknown', async () => {
    for (const { method, path, operation } of operations) {
      const kind = kindOf(path);
      if (kind === null) continue;
      const owners = others.filter(({ ids }) => ids[kind] !== undefined);
      assert.ok(owners.length > 0, `${path} needs an id of ${kind} of another owner`);
      for (const { ids } of owners) {
        const id = ids[kind] ?? '';
        for (const body of bodiesOf(document, operation)) {
          const ask = (value: string): Sent => ({ method, path: path.replace(/\{\w+\}/, value), body });
          const status = await same(`${method} ${path}`, ask, id, unknownLike(id));
          assert.ok(status >= 400 && status < 500, `${method} ${path}: ${status}`);
          if (operation.tags.some((tag) => OWN_TAGS.includes(tag))) assert.equal(status, 404, `${method} ${path}`);
        }
      }
    }
  });

  await t.test('every filter finds as little as for what does not exist', async () => {
    for (const { path, operation } of operations.filter(({ method }) => method === 'GET')) {
      const known = path.replace(/\{\w+\}/, mine.ids[kindOf(path) ?? ''] ?? other.ids.webhooks ?? '');
      for (const { name, in: place } of operation.parameters ?? []) {
        if (place !== 'query' || name === 'cursor') continue;
        assert.ok(Object.hasOwn(PARAMETERS, name), `say what the parameter ${name} of ${path} refers to`);
        for (const [foreign, unknown] of valuesOf(PARAMETERS[name] ?? null, others)) {
          const ask = (value: string): Sent => ({
            method: 'GET',
            path: `${known}?${new URLSearchParams({ [name]: value })}`,
          });
          await same(`${path}?${name}`, ask, foreign, unknown);
        }
      }
    }
  });

  await t.test('every cursor begins where an unknown one would', async () => {
    const lists = operations.filter(({ operation }) => operation.parameters?.some(({ name }) => name === 'cursor'));
    assert.ok(lists.length >= 8);
    for (const { path } of lists) {
      for (const [kind, id] of others.flatMap(({ ids }) => Object.entries(ids))) {
        const ask = (value: string): Sent => ({ method: 'GET', path: `${path}?limit=2&cursor=${value}` });
        await same(`${path} after one of ${kind}`, ask, id, unknownLike(id));
      }
    }
  });

  await t.test('every reference in a body is unknown', async () => {
    let references = 0;
    for (const { method, path, operation } of operations) {
      const known = path.replace(/\{\w+\}/, mine.ids[kindOf(path) ?? ''] ?? other.ids.webhooks ?? '');
      for (const body of bodiesOf(document, operation)) {
        if (typeof body !== 'object' || body === null) continue;
        for (const name of membersOf(document, operation)) {
          assert.ok(Object.hasOwn(MEMBERS, name), `say what the member ${name} of ${method} ${path} refers to`);
          for (const [foreign, unknown] of valuesOf(MEMBERS[name] ?? null, others)) {
            const ask = (value: string): Sent => ({ method, path: known, body: { ...body, [name]: value } });
            const status = await same(`${method} ${path} with ${name}`, ask, foreign, unknown);
            assert.ok(status >= 400, `${method} ${path} with ${name}: ${status}`);
            references += 1;
          }
        }
      }
    }
    assert.ok(references > 10, `${references} references`);
  });

  await t.test('no list and no item names anything of another owner', async () => {
    const theirs = [...Object.values(other.ids), ...Object.values(other.names)];
    const operators = [...Object.values(operator.ids), ...Object.values(operator.names)];
    for (const { method, path } of operations) {
      if (method !== 'GET') continue;
      const id = mine.ids[kindOf(path) ?? ''];
      if (path.includes('{') && id === undefined) continue;
      const { body } = await own.api.get(path.replace(/\{\w+\}/, id ?? ''));
      const text = JSON.stringify(body);
      for (const one of [...theirs, ...operators]) assert.ok(!text.includes(one), `${path} shows ${one}: ${text}`);
    }
  });

  await t.test('nothing of another owner has changed', async () => {
    assert.equal(await look(), seenBefore);
    assert.ok(compared > 200, `${compared} comparisons`);
  });
});

/** The tags of the routes that customers have. */
const OWN_TAGS = ['applications', 'users', 'endpoints', 'keys', 'webhooks', 'deliveries', 'audit'];

type Answer = { readonly status: number; readonly headers: unknown; readonly body: string };

async function answersOf(
  api: ApiClient,
  ask: (value: string) => Sent,
  foreign: string,
  unknown: string,
): Promise<[Answer, Answer]> {
  const answer = async (value: string): Promise<Answer> => {
    const { method, path, body } = ask(value);
    const reply = await api.send(method, path, body === undefined ? {} : { body });
    return told(reply, value);
  };
  return [await answer(foreign), await answer(unknown)];
}

/** The reply without what was asked, and without what differs from reply to reply. */
function told({ status, headers, body }: ApiReply<unknown>, asked: string): Answer {
  const kept = [...headers].filter(([name]) => !['date', 'x-error-id'].includes(name));
  const text = JSON.stringify(body, (name, value) => (VOLATILE.has(name) ? null : value)) ?? '';
  return { status, headers: kept, body: text.replaceAll(asked, '…').replaceAll(encodeURIComponent(asked), '…') };
}

/** The segment before the first parameter; null without one. */
function kindOf(path: string): string | null {
  return /([^/]+)\/\{/.exec(path)?.[1] ?? null;
}

/** Values of another owner, each with one that nothing has. */
function valuesOf(reference: Reference, others: readonly Belongings[]): [foreign: string, unknown: string][] {
  if (reference === null) return [];
  return others.flatMap(({ ids, names }): [string, string][] => {
    if ('name' in reference) {
      const name = names[reference.name];
      return name === undefined ? [] : [[name, `${name.slice(0, -1)}z`]];
    }
    const { id: kind, prefix = '' } = reference;
    const id = ids[kind];
    return id === undefined ? [] : [[prefix + id, prefix + unknownLike(id)]];
  });
}

/** The members of the body that refer to something, by their names. */
function membersOf(document: ApiDocument, { requestBody }: DescribedOperation['operation']): string[] {
  const names = new Set<string>();
  const collect = (schema: unknown): void => {
    if (schema === null || typeof schema !== 'object') return;
    const {
      $ref,
      properties = {},
      anyOf = [],
      oneOf = [],
      allOf = [],
    } = schema as {
      readonly $ref?: string;
      readonly properties?: object;
      readonly anyOf?: readonly unknown[];
      readonly oneOf?: readonly unknown[];
      readonly allOf?: readonly unknown[];
    };
    if ($ref !== undefined) collect(placeOf(document, $ref.slice(2).split('/')).value);
    for (const name of Object.keys(properties)) if (REFERS.test(name)) names.add(name);
    for (const one of [...anyOf, ...oneOf, ...allOf]) collect(one);
  };
  collect(requestBody?.content['application/json']?.schema);
  return [...names];
}
