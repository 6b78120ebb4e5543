import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { viewWebhook } from '../../src/webhooks/webhook-schema.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import {
  ACTOR,
  makeEndpoint,
  makeEventType,
  makeKey,
  makeWebhook,
  openTestServices,
  type TestServices,
} from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

repeatsInSlowTier('postgres');

/** Services with an endpoint, and the fields that every webhook needs. */
async function open(
  t: Parameters<typeof openTestServices>[0],
): Promise<{ s: TestServices; body: Record<string, unknown> }> {
  const s = await openTestServices(t);
  await makeEventType(s, 'order.placed');
  return { s, body: { name: 'Orders', endpointId: (await makeEndpoint(s)).id, eventTypes: ['order.placed'] } };
}

describe('webhooks', () => {
  it('are created stopped, with the defaults of contract §4.2', async (t) => {
    const { s, body } = await open(t);
    const { id, ...view } = viewWebhook(await s.webhooks.create(body, ACTOR));
    const at = '2026-11-21T05:00:00.000Z';
    assert.deepEqual(view, {
      ...body,
      customerId: null,
      customHeaders: [],
      encryptionKeyName: null,
      mode: 'push',
      format: 'records',
      batch: false,
      thin: false,
      ordered: false,
      maxBatchRecords: 100,
      maxRecordsPerSecond: null,
      retry: { policy: 'exponential', maxAttempts: 20 },
      standardWebhooks: false,
      signature: null,
      filter: null,
      heartbeatSeconds: 300,
      timeoutSeconds: 15,
      state: 'stopped',
      stateReason: null,
      stateDescription: null,
      stateChangedAt: at,
      sessionId: null,
      createdAt: at,
      updatedAt: at,
    });
    assert.deepEqual(viewWebhook(await s.webhooks.get(id)), { id, ...view });
  });

  it('keep the given values, up to the bounds', async (t) => {
    const { s, body } = await open(t);
    const { name: encryptionKeyName } = await makeKey(s);
    const given = {
      encryptionKeyName,
      eventTypes: ['*', 'order.*'],
      ordered: true,
      maxBatchRecords: 1000,
      maxRecordsPerSecond: 0.5,
      retry: { policy: 'linear', maxAttempts: 1 },
      standardWebhooks: false,
      heartbeatSeconds: 0,
      timeoutSeconds: 60,
      customHeaders: [
        { name: 'x-', value: '' },
        { name: 'X-Tenant', value: 'a-b_c,d.e' },
        { name: `x-${'a'.repeat(25)}`, value: 'v'.repeat(1000) },
        { name: 'x-4', value: '4' },
      ],
    };
    const view: Record<string, unknown> = viewWebhook(await s.webhooks.create({ ...body, ...given }, ACTOR));
    for (const [field, value] of Object.entries(given)) assert.deepEqual(view[field], value);
  });

  it('are patched member by member, keep their state, and wake the dispatcher', async (t) => {
    const { s, body } = await open(t);
    const { id } = await s.webhooks.create(body, ACTOR);
    await s.webhooks.start(id, ACTOR);
    const wakes = s.wakes();
    const patched = viewWebhook(
      await s.webhooks.patch(
        id,
        { retry: { policy: 'linear' }, maxRecordsPerSecond: 5, heartbeatSeconds: null },
        ACTOR,
      ),
    );
    assert.deepEqual(
      [patched.retry, patched.maxRecordsPerSecond, patched.heartbeatSeconds, patched.state],
      [{ policy: 'linear', maxAttempts: 20 }, 5, 300, 'started'],
    );
    assert.equal(s.wakes(), wakes + 1);
    const [entry] = await s.store.audit.list(null, 1);
    assert.deepEqual(entry?.changes, {
      'retry.policy': { from: 'exponential', to: 'linear' },
      maxRecordsPerSecond: { from: null, to: 5 },
    });
  });

  const header = (name: string, value = 'v') => ({ name, value });
  const bad: readonly [what: string, more: Record<string, unknown>, fields: readonly string[]][] = [
    ['no name', { name: null }, ['name']],
    ['no endpoint', { endpointId: null }, ['endpointId']],
    ['an unknown endpoint', { endpointId: '0193a1f0-0000-7000-8000-00000000ffff' }, ['endpointId']],
    ['no event types', { eventTypes: null }, ['eventTypes']],
    ['an empty list of event types', { eventTypes: [] }, ['eventTypes']],
    ['an unknown event type', { eventTypes: ['order.placed', 'order.paid'] }, ['eventTypes[1]']],
    ['a repeated event type', { eventTypes: ['order.placed', 'order.placed'] }, ['eventTypes[1]']],
    ['a pattern that is none', { eventTypes: ['order*'] }, ['eventTypes[0]']],
    ['a pattern for names', { eventTypes: ['*.placed'] }, ['eventTypes[0]']],
    ['101 event types', { eventTypes: Array.from({ length: 101 }, (_, n) => `c${n}.*`) }, ['eventTypes']],
    ['five custom headers', { customHeaders: [1, 2, 3, 4, 5].map((n) => header(`x-${n}`)) }, ['customHeaders']],
    ['a header that does not begin with x-', { customHeaders: [header('tenant')] }, ['customHeaders[0].name']],
    [
      'a header name of 28 characters',
      { customHeaders: [header('x-1'), header(`x-${'a'.repeat(26)}`)] },
      ['customHeaders[1].name'],
    ],
    ['a header name with an underscore', { customHeaders: [header('x-a_b')] }, ['customHeaders[0].name']],
    ['a header name with a line feed', { customHeaders: [header('x-a\n')] }, ['customHeaders[0].name']],
    ['a header value with a space', { customHeaders: [header('x-a', 'a b')] }, ['customHeaders[0].value']],
    ['a header value with a semicolon', { customHeaders: [header('x-a', 'a;b')] }, ['customHeaders[0].value']],
    ['a header value with a line feed', { customHeaders: [header('x-a', 'a\r\nb: c')] }, ['customHeaders[0].value']],
    [
      'a header value of 1001 characters',
      { customHeaders: [header('x-a', 'a'.repeat(1001))] },
      ['customHeaders[0].value'],
    ],
    [
      'a header name twice, in another case',
      { customHeaders: [header('x-a'), header('X-A')] },
      ['customHeaders[1].name'],
    ],
    ['a header without a value', { customHeaders: [{ name: 'x-a' }] }, ['customHeaders[0].value']],
    [
      'an unknown member of a header',
      { customHeaders: [{ ...header('x-a'), secret: true }] },
      ['customHeaders[0].secret'],
    ],
    ['an unknown key', { encryptionKeyName: 'nobody' }, ['encryptionKeyName']],
    ['no record in a batch', { maxBatchRecords: 0 }, ['maxBatchRecords']],
    ['1001 records in a batch', { maxBatchRecords: 1001 }, ['maxBatchRecords']],
    ['no record a second', { maxRecordsPerSecond: 0 }, ['maxRecordsPerSecond']],
    ['another policy', { retry: { policy: 'never' } }, ['retry.policy']],
    ['no attempt', { retry: { maxAttempts: 0 } }, ['retry.maxAttempts']],
    ['an unknown member of retry', { retry: { delay: 5 } }, ['retry.delay']],
    ['a heartbeat of less than never', { heartbeatSeconds: -1 }, ['heartbeatSeconds']],
    ['no time-out', { timeoutSeconds: 0 }, ['timeoutSeconds']],
    ['a time-out of 61 seconds', { timeoutSeconds: 61 }, ['timeoutSeconds']],
    ['a text for ordered', { ordered: 'no' }, ['ordered']],
    ['a state', { state: 'running' }, ['state']],
    ['a reason', { stateReason: null }, ['stateReason']],
    ['a session', { sessionId: 'x' }, ['sessionId']],
    ['an unknown field', { progress: {} }, ['progress']],
  ];
  const own = [
    'x-api-key',
    'X-Content-SHA256',
    'x-challenge-sha256',
    'x-content-encrypted',
    'X-PGP-Key-Name',
    'x-original-encoding',
  ];
  const ownHeaders = own.map(
    (name) =>
      [
        `the header ${name} of the service itself`,
        { customHeaders: [header(name)] },
        ['customHeaders[0].name'],
      ] as const,
  );
  for (const [what, more, fields] of [...bad, ...ownHeaders]) {
    it(`are refused with ${what}, when created and when changed`, async (t) => {
      const { s, body } = await open(t);
      const { id } = await s.webhooks.create(body, ACTOR);
      await leavingNothing(s, async () => {
        await refused(() => s.webhooks.create({ ...body, ...more }, ACTOR), { code: 'validation_failed', fields });
        await refused(() => s.webhooks.patch(id, more, ACTOR), { code: 'validation_failed', fields });
      });
      assert.equal(s.wakes(), 0);
    });
  }
});

it('the refusal of a reserved custom header names it', async (t) => {
  const { s, body } = await open(t);
  await refused(() => s.webhooks.create({ ...body, customHeaders: [{ name: 'X-Api-Key', value: 'a' }] }, ACTOR), {
    code: 'validation_failed',
    fields: ['customHeaders[0].name'],
    says: 'x-api-key is reserved: the service sends it itself',
  });
});

describe('a webhook whose events must be encrypted', () => {
  const needing: readonly [patterns: readonly string[], need: string][] = [
    [['employee.created'], 'employee events'],
    [['order.placed', 'employee.*'], 'employee events'],
    [['*'], 'employee events'],
    [['order.secret'], 'events of type order.secret'],
    [['order.*'], 'events of type order.secret'],
  ];
  for (const [eventTypes, need] of needing) {
    it(`is refused without a key for ${JSON.stringify(eventTypes)}, when created and when changed`, async (t) => {
      const { s, body } = await open(t);
      await makeEventType(s, 'order.secret', { encryptionRequired: true });
      const expected = {
        code: 'validation_failed',
        fields: ['encryptionKeyName'],
        says: `is required: ${need}`,
      } as const;
      const plain = await s.webhooks.create(body, ACTOR);
      const encrypted = await makeWebhook(s, eventTypes, { key: true });
      await leavingNothing(s, async () => {
        await refused(() => s.webhooks.create({ ...body, eventTypes }, ACTOR), expected);
        await refused(() => s.webhooks.patch(plain.id, { eventTypes }, ACTOR), expected);
        await refused(() => s.webhooks.patch(encrypted.id, { encryptionKeyName: null }, ACTOR), expected);
      });
    });
  }

  it('is refused with an expired key, from the exact millisecond on', async (t) => {
    const { s, body } = await open(t);
    const key = await makeKey(s);
    await s.database.commit([{ sql: 'UPDATE pgp_key SET expires_at = @value', params: { value: NOW + 5 } }]);
    const encrypted = { ...body, eventTypes: ['employee.*'], encryptionKeyName: key.name };
    await s.webhooks.create(encrypted, ACTOR);
    s.advance(5);
    await leavingNothing(s, () =>
      refused(() => s.webhooks.create(encrypted, ACTOR), {
        code: 'validation_failed',
        fields: ['encryptionKeyName'],
        says: 'has expired',
      }),
    );
  });

  it('can be changed after its key expired, but not to an expired key', async (t) => {
    const { s, body } = await open(t);
    const [key, other] = [await makeKey(s), await makeKey(s)];
    await s.database.commit([{ sql: 'UPDATE pgp_key SET expires_at = @value', params: { value: NOW + 5 } }]);
    const webhook = await s.webhooks.create({ ...body, encryptionKeyName: key.name }, ACTOR);
    s.advance(5);
    assert.equal((await s.webhooks.patch(webhook.id, { name: 'another' }, ACTOR)).name, 'another');
    for (const change of [{ encryptionKeyName: other.name }, { eventTypes: ['employee.*'] }]) {
      await refused(() => s.webhooks.patch(webhook.id, change, ACTOR), {
        code: 'validation_failed',
        fields: ['encryptionKeyName'],
        says: 'has expired',
      });
    }
  });
});
