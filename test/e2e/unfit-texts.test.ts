/** U+0000 and halves of surrogate pairs are refused at every door, on both databases alike: neither keeps them as other characters. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { Refusal } from '../../src/kernel/refusal.ts';
import { EDGE, errorOf, succeeded, TOKEN } from '../support/client.ts';
import { connect, makeEventType, startJourney } from '../support/journey.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import type { ServiceInProcess } from '../support/service.ts';

repeatsInSlowTier('postgres');

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

type Case = {
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly field: string | null;
};

const event = (more: object): object => ({ type: 'order.placed', data: {}, ...more });

const BODIES: readonly [path: string, field: string, body: (text: string) => object][] = [
  ['events', 'subject', (subject) => event({ subject })],
  ['events', 'correlationId', (correlationId) => event({ correlationId })],
  ['events', 'actorId', (actorId) => event({ actorId })],
  ['events', 'idempotencyKey', (idempotencyKey) => event({ idempotencyKey })],
  ['events', 'customerExternalId', (customerExternalId) => event({ customerExternalId })],
  ['events', 'events[1].subject', (subject) => ({ events: [event({}), event({ subject })] })],
  ['events/erase', 'subject', (subject) => ({ subject })],
  ['customers', 'name', (name) => ({ name })],
  ['customers', 'externalId', (externalId) => ({ name: 'a', externalId })],
  ['customers', 'metadata.data', (data) => ({ name: 'a', metadata: { data } })],
  ['event-types', 'description', (description) => ({ name: 'a.b', description })],
  ['event-types', 'sample.a[0]', (text) => ({ name: 'a.b', sample: { a: [text] } })],
  ['event-types', 'dataSchema.const.data', (data) => ({ name: 'a.b', dataSchema: { const: { data } } })],
  ['users', 'displayName', (displayName) => ({ userName: 'a', displayName })],
  ['products', 'scopes[0].description', (description) => ({ name: 'a', scopes: [{ name: 'a:b', description }] })],
  ['endpoints', 'secret', (secret) => ({ name: 'a', url: 'https://a.example/', secret })],
];

const ZERO = 'a\0b';
const HALF = 'a\ud800b';

it('no text with U+0000 or half of a surrogate pair gets in', async (t) => {
  const { service, admin, receiver } = await startJourney(t);
  await makeEventType(admin, 'order.placed');
  const { webhook } = await connect({ admin, receiver }, ['order.placed']);
  const sorted = (value: string): string =>
    Buffer.from(JSON.stringify(['users', 'userName', value, webhook.id])).toString('base64url');
  const { clientId, clientSecret } = service.credentials;
  const form = (fields: Record<string, string>): string =>
    new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      ...fields,
    }).toString();
  const cases: Case[] = [
    ...BODIES.flatMap(([path, field, body]) => [ZERO, HALF].map((text) => ({ path, field, body: body(text) }))),
    { path: 'customers', field: 'metadata.a?b', body: { name: 'a', metadata: { [ZERO]: 'x' } } },
    { path: 'customers', field: 'metadata.a?b', body: { name: 'a', metadata: { [HALF]: 'x' } } },
    { path: `webhooks/${webhook.id}/filter-preview`, field: 'filter.data.a', body: { filter: { 'data.a': ZERO } } },
    ...[
      'customers?name=a%00',
      'customers?externalId=a%00',
      'deliveries?eventType=%00',
      'audit?target=a%00b',
      'users?sort=userName&cursor=%00',
    ].map((path) => ({ path, field: /[?&](\w+)=[^&]*%00/.exec(path)?.[1] ?? '' })),
    { path: `users?sort=userName&cursor=${sorted(ZERO)}`, field: 'cursor' },
    { path: `users?sort=userName&cursor=${sorted(HALF)}`, field: 'cursor' },
    { path: 'customers?name=%ff', field: null },
    { path: 'customers/a%00', field: null },
    { path: TOKEN, headers: FORM, body: form({ client_id: ZERO }), field: null },
    { path: TOKEN, headers: FORM, body: form({ scope: ZERO }), field: null },
    { path: TOKEN, headers: FORM, body: form({ [ZERO]: 'x' }), field: null },
    ...[ZERO, HALF].map((text) => ({
      path: TOKEN,
      body: { clientId: text, clientSecret, grantType: 'client_credentials' },
      field: 'clientId',
    })),
    {
      path: TOKEN,
      headers: { ...FORM, authorization: `Basic ${Buffer.from('a%00:b').toString('base64')}` },
      body: 'grant_type=client_credentials',
      field: null,
    },
  ];
  for (const { path, body, headers, field } of cases) {
    const client = path === TOKEN ? admin.as(null) : admin;
    const reply = await (body === undefined ? client.get(path) : client.post(path, body, headers));
    const shown = `${path} ${JSON.stringify(body)}: ${JSON.stringify(reply.body)}`;
    assert.equal(reply.status, 400, shown);
    if (path === TOKEN) assert.match(JSON.stringify(reply.body), /U\+0000|surrogate/);
    if (field !== null)
      assert.deepEqual(
        errorOf(reply).details?.map((detail) => detail.field),
        [field],
        shown,
      );
  }
  await inPages(service);
  await inProgram(t, service);
  const { items } = await succeeded<{ items: readonly { name: string }[] }>(admin.get('customers'));
  assert.deepEqual(items, []);
});

/** Pages take any parameter, but no such text either. */
async function inPages(service: ServiceInProcess): Promise<void> {
  const { token } = await newSession(service, 'administrator');
  for (const path of ['/customers?q=%00', '/audit?target=a%00', '/search?q=%00', '/sign-in?next=%00']) {
    const { status } = await request(service.url + path, { token });
    assert.equal(status, 400, path);
  }
  const { status, text } = await request(`${service.url}/customers/new`, { token, form: { name: ZERO } });
  assert.deepEqual([status, text.includes('U+0000')], [400, true], text);
}

/** The methods that an embedding program calls. */
async function inProgram(t: TestContext, { sallyport }: ServiceInProcess): Promise<void> {
  const calls: readonly [what: string, call: () => Promise<unknown>][] = [
    ['an id', () => sallyport.users.get(ZERO)],
    ['a filter', () => sallyport.users.list({ userName: HALF })],
    ['an input', () => sallyport.users.create({ userName: 'a', displayName: ZERO })],
    ['an event', () => sallyport.publish({ type: 'order.placed', data: {}, subject: HALF })],
  ];
  for (const [what, call] of calls) {
    await t.test(what, () =>
      assert.rejects(call, (error) => error instanceof Refusal && error.code === 'validation_failed'),
    );
  }
}

it('no member is named __proto__, except in the data of events', async (t) => {
  const { admin } = await startJourney(t);
  const cases: readonly [path: string, body: string, field: string][] = [
    ['customers', '{"name":"a","metadata":{"__proto__":"b"}}', 'metadata.__proto__'],
    ['event-types', '{"name":"a.b","sample":{"__proto__":1}}', 'sample.__proto__'],
    ['event-types', '{"name":"a.b","dataSchema":{"properties":{"__proto__":{}}}}', 'dataSchema.properties.__proto__'],
  ];
  for (const [path, body, field] of cases) {
    const { status, ...reply } = await admin.post(`${EDGE}/${path}`, body);
    assert.deepEqual([status, errorOf({ status, ...reply }).details?.map((one) => one.field)], [400, [field]]);
  }
  const { id } = await succeeded<{ id: string }>(admin.post('customers', { name: 'a', metadata: { b: 'c' } }));
  assert.equal((await admin.patch(`customers/${id}`, '{"metadata":{"__proto__":"b"}}')).status, 400);
});
