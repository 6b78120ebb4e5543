import assert from 'node:assert/strict';
import { it } from 'node:test';
import { asyncApiParser } from '../../support/asyncapi-parser.ts';
import { type ApiClient, refusalOf, succeeded } from '../../support/client.ts';
import { registerApplication } from '../../support/journey.ts';
import { startService } from '../../support/service.ts';

const CATALOGUE = '/services/api/event-catalogue';
const ASYNC_API = '/services/api/asyncapi.json';
const DECLARATIONS = '/services/api/event-catalogue.d.ts';
const TYPES = '/services/api/x/edge/v1/event-types';

type Catalogue = { readonly items: readonly Readonly<Record<string, unknown>>[] };

async function withOrders(admin: ApiClient): Promise<string> {
  const placed = {
    name: 'order.placed',
    description: 'An order was placed.',
    group: 'Orders',
    sample: { order: { id: 17 } },
    dataSchema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { order: { $ref: '#/definitions/order' } },
      definitions: { order: { type: 'object', properties: { id: { type: 'integer' } } } },
    },
  };
  const { id } = await succeeded<{ id: string }>(admin.post(TYPES, placed));
  await succeeded(admin.post(TYPES, { name: 'order.audited', group: 'Orders', public: false }));
  await succeeded(admin.post(TYPES, { name: 'order.booked', group: 'Orders', deprecated: true }));
  await succeeded(admin.post(TYPES, { name: 'app.moved' }));
  return id;
}

const own = ({ items }: Catalogue): unknown[] =>
  items.map(({ name }) => name).filter((name) => !/^(employee|webhook)\./.test(String(name)));

it('the catalogue shows public types to everybody, and all types to a token that may view them', async (t) => {
  const { admin } = await startService(t);
  await withOrders(admin);
  const open = await succeeded<Catalogue>(admin.as(null).get(CATALOGUE));
  assert.deepEqual(own(open), ['order.placed', 'order.booked', 'app.moved']);
  const { dataSchema, ...placed } = open.items.find(({ name }) => name === 'order.placed') ?? {};
  assert.deepEqual(placed, {
    name: 'order.placed',
    group: 'Orders',
    description: 'An order was placed.',
    encryptionRequired: false,
    deprecated: false,
    public: true,
    sample: { order: { id: 17 } },
  });
  assert.ok(dataSchema);
  assert.deepEqual(own(await succeeded<Catalogue>(admin.get(CATALOGUE))), [
    'order.audited',
    'order.placed',
    'order.booked',
    'app.moved',
  ]);
});

it('the catalogue has a built-in type about employees for everybody once one was published', async (t) => {
  const { admin } = await startService(t);
  const anyone = admin.as(null);
  const employees = async () =>
    (await succeeded<Catalogue>(anyone.get(CATALOGUE))).items
      .map(({ name }) => String(name))
      .filter((name) => name.startsWith('employee.'));
  const inDocuments = async () =>
    Promise.all(
      [ASYNC_API, DECLARATIONS].map(
        async (path) => /employee\.\w+/.exec(JSON.stringify(await succeeded(anyone.get(path))))?.[0],
      ),
    );
  assert.deepEqual([await employees(), await inDocuments()], [[], [undefined, undefined]]);
  await succeeded(admin.post('events', { type: 'employee.created', data: { id: 1 } }));
  assert.deepEqual(await employees(), ['employee.created']);
  assert.deepEqual(await inDocuments(), ['employee.created', 'employee.created']);
});

it('the catalogue refuses a token that may not view event types, and one that is not valid', async (t) => {
  const { admin } = await startService(t);
  const { token: other } = await registerApplication(admin, ['deliveries:view']);
  for (const [token, error] of [
    [other, 'insufficient_scope'],
    ['spt_unknown', 'invalid_token'],
  ] as const) {
    for (const path of [CATALOGUE, ASYNC_API, DECLARATIONS]) {
      const { status, headers } = await admin.as(token).get(path);
      assert.equal(status, 401);
      assert.match(headers.get('www-authenticate') ?? '', new RegExp(`error="${error}"`));
    }
  }
});

it('the catalogue follows every change, and a copy that is up to date is not sent again', async (t) => {
  const { admin } = await startService(t);
  const id = await withOrders(admin);
  const anyone = admin.as(null);
  const first = await anyone.get<Catalogue>(CATALOGUE);
  const etag = first.headers.get('etag') ?? '';
  assert.equal(first.headers.get('cache-control'), 'no-cache');
  assert.equal((await anyone.get(CATALOGUE, { 'If-None-Match': etag })).status, 304);
  assert.equal((await admin.get(CATALOGUE)).headers.get('cache-control'), 'private, no-cache');
  await succeeded(admin.patch(`${TYPES}/${id}`, { sample: null }));
  const changed = await anyone.get<Catalogue>(CATALOGUE, { 'If-None-Match': etag });
  assert.equal(changed.status, 200);
  assert.equal(changed.body.items.find(({ name }) => name === 'order.placed')?.sample, null);
  await succeeded(admin.delete(`${TYPES}/${id}`));
  assert.deepEqual(own(await succeeded<Catalogue>(anyone.get(CATALOGUE))), ['order.booked', 'app.moved']);
});

it('the AsyncAPI document satisfies the official parser, and has every sample and schema', async (t) => {
  const { admin } = await startService(t);
  await withOrders(admin);
  const text = JSON.stringify(await succeeded(admin.as(null).get(ASYNC_API)));
  const { document, diagnostics } = await asyncApiParser.parse(text);
  const errors = diagnostics.filter(({ severity }) => severity === 0);
  assert.deepEqual(errors, []);
  assert.equal(document?.version(), '3.0.0');
  const messages = document?.messages().all() ?? [];
  assert.ok(!messages.some((message) => message.name() === 'order.audited'));
  const placed = messages.find((message) => message.name() === 'order.placed');
  assert.deepEqual(
    placed
      ?.tags()
      .all()
      .map((tag) => tag.name()),
    ['Orders'],
  );
  const payload = placed?.payload()?.properties()?.records?.items();
  assert.ok(payload !== undefined && !Array.isArray(payload));
  const data = payload.properties()?.value?.properties()?.orderPlaced;
  assert.equal(data?.properties()?.order?.properties()?.id?.type(), 'integer');
  const example = placed?.examples().all()[0]?.payload() as { records: { value: { orderPlaced: unknown } }[] };
  assert.deepEqual(example.records[0]?.value.orderPlaced, { order: { id: 17 } });
});

it('the AsyncAPI document shows the bodies of a format, whose examples satisfy their schemas', async (t) => {
  const { admin } = await startService(t);
  await withOrders(admin);
  const contentTypes: Record<string, string> = {};
  for (const format of ['standard', 'cloudevents', 'cloudevents-binary']) {
    const text = JSON.stringify(await succeeded(admin.as(null).get(`${ASYNC_API}?format=${format}`)));
    const { document, diagnostics } = await asyncApiParser.parse(text);
    // The parser also reports examples that their schemas refuse.
    assert.deepEqual(
      diagnostics.filter(({ severity }) => severity === 0),
      [],
    );
    const message = document?.allMessages().get('order.placed');
    contentTypes[format] = message?.contentType() ?? '';
    const [example] = message?.examples().all() ?? [];
    const payload = example?.payload() as Record<string, unknown>;
    const { order } = (format === 'cloudevents-binary' ? payload : payload.data) as { order: unknown };
    assert.deepEqual(order, { id: 17 });
    if (format === 'cloudevents-binary') assert.equal(example?.headers()?.['ce-type'], 'order.placed');
  }
  const shaped = async (query: string) => {
    const { document, diagnostics } = await asyncApiParser.parse(
      JSON.stringify(await succeeded(admin.as(null).get(`${ASYNC_API}?${query}`))),
    );
    assert.deepEqual(
      diagnostics.filter(({ severity }) => severity === 0),
      [],
      query,
    );
    const message = document?.allMessages().get('order.placed') ?? assert.fail();
    const [example] = message.examples().all();
    return { type: message.contentType(), headers: example?.headers() ?? {}, payload: example?.payload() as unknown };
  };
  const batch = await shaped('format=cloudevents&batch=true');
  assert.equal(batch.type, 'application/cloudevents-batch+json');
  assert.deepEqual((batch.payload as { data: unknown }[])[0]?.data, { order: { id: 17 } });
  const url = /^https:\/\/.*\/events\/[\w-]+$/;
  for (const format of ['standard', 'cloudevents']) {
    const { payload } = await shaped(`format=${format}&thin=true`);
    assert.deepEqual(
      [Object.hasOwn(payload as object, 'data'), 'datacontenttype' in (payload as object)],
      [false, false],
    );
    assert.match(String((payload as { url?: unknown }).url), url);
  }
  const thin = await shaped('format=cloudevents-binary&thin=true');
  assert.equal(thin.payload, '');
  assert.match(String(thin.headers['ce-url']), url);
  for (const [query, field] of [
    ['format=standard&batch=true', 'batch'],
    ['thin=true', 'thin'],
    ['format=standard&thin=yes', 'thin'],
  ] as const)
    assert.deepEqual(
      (await refusalOf(admin.as(null).get(`${ASYNC_API}?${query}`), 400)).details?.map((one) => one.field),
      [field],
    );
  assert.deepEqual(contentTypes, {
    standard: 'application/json',
    cloudevents: 'application/cloudevents+json',
    'cloudevents-binary': 'application/json',
  });
  assert.equal((await admin.as(null).get(`${ASYNC_API}?format=xml`)).status, 400);
});

it('the catalogue as TypeScript has a type for every schema, internal ones only for a token', async (t) => {
  const { admin, url } = await startService(t);
  await withOrders(admin);
  const open = await fetch(url + DECLARATIONS);
  assert.deepEqual(
    [open.status, open.headers.get('content-type'), open.headers.get('cache-control')],
    [200, 'text/plain;charset=UTF-8', 'no-cache'],
  );
  const text = await open.text();
  assert.match(
    text,
    /\/\*\* An order was placed\. \*\/\nexport type OrderPlaced = \{\n {2}readonly order\?: OrderPlaced_Order;/,
  );
  assert.match(text, /export type OrderPlaced_Order = \{\n {2}readonly id\?: number;/);
  assert.match(text, / {2}"order\.placed": OrderPlaced;/);
  assert.doesNotMatch(text, /audited/i);
  const etag = open.headers.get('etag') ?? '';
  assert.equal((await fetch(url + DECLARATIONS, { headers: { 'if-none-match': etag } })).status, 304);
  assert.match(String((await admin.get(DECLARATIONS)).body), /export type OrderAudited/);
});
