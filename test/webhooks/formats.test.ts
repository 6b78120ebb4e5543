/** The settings of a webhook's format and of its retries (contract §4.2, §12.1, §5.9): defaults, refusals and patches. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { viewWebhook, type WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { refused } from '../support/refusals.ts';
import {
  ACTOR,
  makeEndpoint,
  makeEventType,
  makeKey,
  openTestServices,
  type TestServices,
} from '../support/services.ts';
import { leavingNothing } from '../support/store.ts';

const TYPE = 'order.placed';
type Fields = Readonly<Record<string, unknown>>;
type Opened = {
  readonly s: TestServices;
  create(fields: Fields): Promise<WebhookView>;
  patch(id: string, fields: Fields): Promise<WebhookView>;
};

async function open(t: TestContext): Promise<Opened> {
  const s = await openTestServices(t);
  await makeEventType(s, TYPE);
  const { id: endpointId } = await makeEndpoint(s);
  return {
    s,
    create: async (fields) =>
      viewWebhook(await s.webhooks.create({ name: 'w', endpointId, eventTypes: [TYPE], ...fields }, ACTOR)),
    patch: async (id, fields) => viewWebhook(await s.webhooks.patch(id, fields, ACTOR)),
  };
}

const formatOf = ({ format, batch, thin, maxBatchRecords, heartbeatSeconds }: WebhookView) =>
  [format, batch, thin, maxBatchRecords, heartbeatSeconds] as const;

describe('the format of a webhook', () => {
  const accepted: readonly (readonly [Fields, ReturnType<typeof formatOf>])[] = [
    [{}, ['records', false, false, 100, 300]],
    [{ format: 'standard' }, ['standard', false, false, 1, 0]],
    [{ format: 'standard', thin: true, maxBatchRecords: 1, heartbeatSeconds: 0 }, ['standard', false, true, 1, 0]],
    [{ format: 'cloudevents' }, ['cloudevents', false, false, 1, 0]],
    [{ format: 'cloudevents', batch: true }, ['cloudevents', true, false, 100, 0]],
    [{ format: 'cloudevents', batch: true, thin: true, maxBatchRecords: 7 }, ['cloudevents', true, true, 7, 0]],
    [{ format: 'cloudevents-binary', thin: true }, ['cloudevents-binary', false, true, 1, 0]],
  ];
  for (const [fields, wanted] of accepted) {
    it(`is kept with its defaults: ${JSON.stringify(fields)}`, async (t) => {
      const { s, create } = await open(t);
      const webhook = await create(fields);
      assert.deepEqual(formatOf(webhook), wanted);
      assert.deepEqual(formatOf(viewWebhook(await s.webhooks.get(webhook.id))), wanted);
    });
  }

  const refusals: readonly (readonly [Fields, fields: string[]])[] = [
    [{ format: 'xml' }, ['format']],
    [{ format: 'standard', maxBatchRecords: 2 }, ['maxBatchRecords', 'format']],
    [{ format: 'cloudevents', maxBatchRecords: 100 }, ['maxBatchRecords', 'format']],
    [{ format: 'cloudevents-binary', heartbeatSeconds: 300 }, ['heartbeatSeconds', 'format']],
    [{ format: 'cloudevents', batch: true, heartbeatSeconds: 1 }, ['heartbeatSeconds', 'format']],
    [{ format: 'standard', batch: true }, ['batch', 'format']],
    [{ batch: true }, ['batch', 'format']],
    [{ format: 'cloudevents-binary', batch: true }, ['batch', 'format']],
    [{ thin: true }, ['thin', 'format']],
  ];
  for (const [fields, named] of refusals) {
    it(`is refused, naming every field: ${JSON.stringify(fields)}`, async (t) => {
      const { s, create } = await open(t);
      await leavingNothing(s, () => refused(() => create(fields), { code: 'validation_failed', fields: named }));
    });
  }

  it('takes its defaults with it when a patch changes it, but no other value', async (t) => {
    const { create, patch } = await open(t);
    const { id } = await create({});
    assert.deepEqual(formatOf(await patch(id, { format: 'standard' })), ['standard', false, false, 1, 0]);
    const batch = { format: 'cloudevents', batch: true };
    assert.deepEqual(formatOf(await patch(id, batch)), ['cloudevents', true, false, 100, 0]);
    assert.deepEqual(formatOf(await patch(id, { batch: false, thin: true })), ['cloudevents', false, true, 1, 0]);
    assert.deepEqual(formatOf(await patch(id, { maxBatchRecords: null })), ['cloudevents', false, true, 1, 0]);
    assert.deepEqual(formatOf(await patch(id, { format: null, thin: null })), ['records', false, false, 100, 300]);
    await patch(id, { maxBatchRecords: 50 });
    const named = { code: 'validation_failed', fields: ['maxBatchRecords', 'format'] } as const;
    await refused(() => patch(id, { format: 'standard' }), named);
    await refused(() => patch(id, { format: 'standard', maxBatchRecords: 100 }), named);
    const wanted = ['standard', false, false, 1, 0];
    assert.deepEqual(formatOf(await patch(id, { format: 'standard', maxBatchRecords: 1 })), wanted);
  });

  it('is possible in mode pull, without settings of sending', async (t) => {
    const { create, patch } = await open(t);
    const pull = { mode: 'pull', endpointId: null };
    for (const format of ['standard', 'cloudevents', 'cloudevents-binary']) {
      const { id } = await create({ ...pull, format, thin: true });
      await patch(id, { format: 'records', thin: false });
    }
    const wanted = { code: 'validation_failed', fields: ['batch'] } as const;
    await refused(() => create({ ...pull, format: 'cloudevents', batch: true, maxBatchRecords: 100 }), wanted);
  });

  it('standard is refused with encryption and gzip, as standardWebhooks is', async (t) => {
    const { s, create } = await open(t);
    const { name: encryptionKeyName } = await makeKey(s);
    const zipped = await makeEndpoint(s, { contentEncoding: 'gzip' });
    const refusals: readonly (readonly [Fields, string[]])[] = [
      [{ encryptionKeyName }, ['format', 'encryptionKeyName']],
      [{ endpointId: zipped.id }, ['format', 'contentEncoding']],
      [{ endpointId: (await makeEndpoint(s, { secret: 'text' })).id }, ['format', 'secret']],
    ];
    for (const [fields, named] of refusals)
      await refused(() => create({ format: 'standard', ...fields }), { code: 'validation_failed', fields: named });
    const { endpointId } = await create({ format: 'standard' });
    const gzip = {
      code: 'validation_failed',
      fields: ['contentEncoding', 'format'],
      says: 'the format standard of webhook',
    } as const;
    await refused(() => s.endpoints.patch(endpointId ?? '', { contentEncoding: 'gzip' }, ACTOR), gzip);
    await create({ format: 'cloudevents', encryptionKeyName, endpointId: zipped.id });
  });
});

describe('a retry schedule', () => {
  it('is kept as it is listed, and has one attempt more than delays', async (t) => {
    const { s, create } = await open(t);
    for (const delaysSeconds of [[1], [5, 300, 604_800], Array.from({ length: 50 }, (_, n) => n + 1)]) {
      const { id, retry } = await create({ retry: { policy: 'schedule', delaysSeconds } });
      assert.deepEqual(retry, { policy: 'schedule', delaysSeconds });
      const read = await s.webhooks.get(id);
      assert.deepEqual([read.maxAttempts, viewWebhook(read).retry], [delaysSeconds.length + 1, retry]);
    }
  });

  const refusals: readonly (readonly [Fields, string])[] = [
    [{ policy: 'schedule' }, 'retry.delaysSeconds'],
    [{ policy: 'schedule', delaysSeconds: [] }, 'retry.delaysSeconds'],
    [{ policy: 'schedule', delaysSeconds: Array.from({ length: 51 }, () => 1) }, 'retry.delaysSeconds'],
    [{ policy: 'schedule', delaysSeconds: [5, 0] }, 'retry.delaysSeconds[1]'],
    [{ policy: 'schedule', delaysSeconds: [604_801] }, 'retry.delaysSeconds[0]'],
    [{ policy: 'schedule', delaysSeconds: [1.5] }, 'retry.delaysSeconds[0]'],
    [{ policy: 'schedule', delaysSeconds: [5], maxAttempts: 3 }, 'retry.maxAttempts'],
    [{ policy: 'linear', delaysSeconds: [5] }, 'retry.delaysSeconds'],
    [{ delaysSeconds: [5] }, 'retry.delaysSeconds'],
  ];
  for (const [retry, field] of refusals) {
    it(`is refused: ${JSON.stringify(retry).slice(0, 80)}`, async (t) => {
      const { s, create } = await open(t);
      await leavingNothing(s, () => refused(() => create({ retry }), { code: 'validation_failed', fields: [field] }));
    });
  }

  it('is patched to and from the other policies', async (t) => {
    const { create, patch } = await open(t);
    const { id } = await create({ retry: { policy: 'linear', maxAttempts: 7 } });
    const schedule = { policy: 'schedule', delaysSeconds: [5, 300] };
    assert.deepEqual((await patch(id, { retry: schedule })).retry, schedule);
    const longer = { policy: 'schedule', delaysSeconds: [5, 300, 600] };
    assert.deepEqual((await patch(id, { retry: { delaysSeconds: longer.delaysSeconds } })).retry, longer);
    await refused(() => patch(id, { retry: { maxAttempts: 9 } }), {
      code: 'validation_failed',
      fields: ['retry.maxAttempts'],
    });
    const linear = { policy: 'linear', maxAttempts: 20 };
    assert.deepEqual((await patch(id, { retry: { policy: 'linear' } })).retry, linear);
    assert.deepEqual((await patch(id, { retry: { policy: 'exponential', maxAttempts: 3 } })).retry, {
      policy: 'exponential',
      maxAttempts: 3,
    });
  });
});

describe('the source of an event type', () => {
  it('is a URI reference', async (t) => {
    const { s } = await open(t);
    const create = (source: unknown) =>
      s.eventTypes.create({ name: `order.n${Math.random()}`.slice(0, 20).replace('0.', ''), source }, ACTOR);
    for (const source of [null, '/erp', 'https://erp.example/a?b#c', 'urn:uuid:6e8b', '%C3%A4']) {
      assert.equal((await create(source)).source, source);
    }
    for (const source of ['', 'a b', 'ä', '%4', 'a"b', `/${'a'.repeat(500)}`])
      await refused(() => create(source), { code: 'validation_failed', fields: ['source'] });
  });
});
