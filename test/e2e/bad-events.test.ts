import assert from 'node:assert/strict';
import test from 'node:test';
import { type BadInput, refuseAll } from '../support/bad-input.ts';
import { EMPLOYEES, refusalOf, succeeded } from '../support/client.ts';
import { makeEndpoint, makeEventType, makeWebhook, registerApplication } from '../support/journey.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { startService } from '../support/service.ts';

repeatsInSlowTier('postgres');

const TYPE = 'order.placed';
const KIB = 1024;

test('events', async (t) => {
  const service = await startService(t);
  await makeEventType(service.admin, TYPE);
  const good = { type: TYPE, data: {} };
  const event = (what: string, body: unknown, ...fields: string[]): BadInput => ({
    what,
    path: 'events',
    body,
    fields,
  });
  const deep = JSON.parse(`${'{"a":'.repeat(101)}1${'}'.repeat(101)}`) as object;
  await refuseAll(t, service, [
    event('an unknown type', { ...good, type: 'no.such' }, 'type'),
    event('a type of the service itself', { ...good, type: 'webhook.test' }, 'type'),
    event('no type', { data: {} }, 'type'),
    event('data that is no object', { ...good, data: [1] }, 'data'),
    event('no data', { type: TYPE }, 'data'),
    event('data that is nested too deep', { ...good, data: deep }, 'data'),
    event('data of more than 256 KiB', { ...good, data: { x: 'x'.repeat(256 * KIB - 7) } }, 'data'),
    event('an unknown field', { ...good, colour: 'red' }, 'colour'),
    event('an idempotency key that is too long', { ...good, idempotencyKey: 'x'.repeat(256) }, 'idempotencyKey'),
    event('no events', { events: [] }, 'events'),
    event('1,001 events', { events: Array.from({ length: 1001 }, () => good) }, 'events'),
    event('one bad event among good ones', { events: [good, good, { ...good, type: 'no.such' }] }, 'events[2].type'),
    event('a field beside the list', { events: [good], type: TYPE }, 'type'),
    {
      what: 'more than 8 MiB',
      path: 'events',
      body: Buffer.alloc(8 * KIB * KIB + 1, ' '),
      status: 413,
      code: 'content_too_large',
    },
  ]);
  const most = { events: Array.from({ length: 1000 }, () => good) };
  const accepted = await succeeded<{ accepted: number }>(service.admin.post('events', most));
  assert.equal(accepted.accepted, 1000);
  await succeeded(service.admin.post('events', { ...good, data: { x: 'x'.repeat(256 * KIB - 8) } }));
});

test('event types', async (t) => {
  const service = await startService(t);
  const { admin } = service;
  await makeEventType(admin, TYPE);
  const { items } = await succeeded<{ items: { id: string; name: string }[] }>(admin.get('event-types?limit=200'));
  const builtIn = items.find(({ name }) => name === 'employee.created');
  const type = (what: string, body: unknown, ...fields: string[]): BadInput => ({
    what,
    path: 'event-types',
    body,
    fields,
  });
  await refuseAll(t, service, [
    type('a name in upper case', { name: 'Order.Placed' }, 'name'),
    type('a name without a category', { name: 'placed' }, 'name'),
    type('a name in the category of the service', { name: 'webhook.mine' }, 'name'),
    type('a schema that is none', { name: 'order.paid', dataSchema: { type: 'no-such-type' } }, 'dataSchema'),
    { ...type('a name that is taken', { name: TYPE }, 'name'), status: 409, code: 'conflict' },
    {
      what: 'a built-in one changed',
      method: 'PATCH',
      path: `event-types/${builtIn?.id}`,
      body: { description: 'mine' },
      status: 409,
      code: 'read_only',
    },
    {
      what: 'a built-in one deleted',
      method: 'DELETE',
      path: `event-types/${builtIn?.id}`,
      status: 409,
      code: 'read_only',
    },
  ]);
});

test('employees', async (t) => {
  const service = await startService(t);
  const scopes = ['employees:create', 'employees:edit', 'employees:view'];
  const user = { constraints: { divisions: ['sales'] } };
  const { api: client } = await registerApplication(service.admin, scopes, { user });
  const good = {
    userName: 'ada',
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: 'ada@customer.example',
    division: 'sales',
  };
  const { userId } = await succeeded<{ userId: string }>(client.post(EMPLOYEES, { ...good, externalId: 'E1' }));
  const employee = (name: string, value: unknown): BadInput => ({
    what: `${name} = ${JSON.stringify(value)?.slice(0, 60)}`,
    path: EMPLOYEES,
    body: { ...good, userName: 'other', [name]: value },
    fields: [name],
    client,
  });
  const permission = { status: 401, code: 'insufficient_permission', client };
  await refuseAll(t, service, [
    {
      what: 'nothing',
      path: EMPLOYEES,
      body: {},
      fields: ['userName', 'firstName', 'lastName', 'email', 'division'],
      client,
    },
    employee('userName', undefined),
    employee('userName', 'x'.repeat(129)),
    employee('firstName', '   '),
    employee('lastName', 7),
    employee('email', 'ada'),
    employee('hireDate', '2026-02-30'),
    employee('active', 'yes'),
    employee('userId', userId),
    employee('salary', 1),
    { ...employee('userName', 'ada'), status: 409, code: 'conflict' },
    { ...employee('externalId', 'E1'), status: 409, code: 'conflict' },
    { ...permission, what: 'one of another division', path: EMPLOYEES, body: { ...good, division: 'research' } },
    {
      ...permission,
      what: 'one moved to another division',
      method: 'PATCH',
      path: `${EMPLOYEES}/${userId}`,
      body: { division: 'research' },
    },
    {
      what: 'PUT with a part',
      method: 'PUT',
      path: `${EMPLOYEES}/${userId}`,
      body: { email: 'a@b.example' },
      client,
      fields: ['userName', 'firstName', 'lastName', 'division'],
    },
    { ...permission, what: 'a list of another division', method: 'GET', path: `${EMPLOYEES}?division=research` },
  ]);
});

test('deliveries and replays', async (t) => {
  const service = await startService(t);
  const { admin } = service;
  const endpoint = await makeEndpoint(admin, {
    url: 'https://receiver.example/',
    secret: 'a',
    apiKey: '0'.repeat(32),
  });
  const { id } = await makeWebhook(admin, endpoint, ['webhook.*']);
  const query = (name: string, value: string): BadInput => ({
    what: `?${name}=${value}`,
    method: 'GET',
    path: `deliveries?${name}=${value}`,
    fields: [name],
  });
  const replay = (what: string, body: unknown, ...fields: string[]): BadInput => ({
    what,
    path: `webhooks/${id}/replay`,
    body,
    fields,
  });
  await refuseAll(t, service, [
    query('state', 'lost'),
    query('since', 'yesterday'),
    query('until', '2026-13-01T00:00:00Z'),
    query('limit', '0'),
    query('limit', '201'),
    query('limit', 'ten'),
    query('cursor', "1' OR '1'='1"),
    query('colour', 'red'),
    replay('a replay since when', { since: 'yesterday' }, 'since'),
    replay(
      'a replay that ends before it begins',
      { since: '2026-11-21T05:00:00.000Z', until: '2026-11-21T04:00:00.000Z' },
      'until',
    ),
    replay('a replay of an unknown state', { states: ['lost'] }, 'states[0]'),
  ]);
  const { code } = await refusalOf(admin.post('deliveries/not-an-id/replay'), 404);
  assert.equal(code, 'not_found');
});
