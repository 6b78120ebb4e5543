/** The memory of a body is freed once it is sent. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BatchBody, bodyRequest } from '../../src/delivery/body.ts';
import { createDeliver } from '../../src/delivery/deliver.ts';
import type { EndedAttempt } from '../../src/domain/batch.ts';
import { createLog } from '../../src/observe/log.ts';
import { LARGE_BODY_BYTES } from '../../src/outbound/connections.ts';
import { contentHeaders } from '../../src/wire/payload.ts';
import { ACTOR, makeEventType, makeWebhook, openTestServices, type TestServices } from '../support/services.ts';

const TYPE = 'order.placed';
const OUTCOME = { ok: true, answer: { status: 200, headers: {}, body: new Uint8Array(), truncated: false } } as const;
const TIMINGS = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 1 };

/** Delivers a large batch whose body was made; answers how many bytes of it could be read when it was sent, and afterwards. */
async function lengths(s: TestServices, made: Uint8Array): Promise<[number, number]> {
  const { id } = await makeWebhook(s, [TYPE]);
  const { progress } = await s.webhooks.start(id, ACTOR);
  await s.publish({ events: [{ type: TYPE, data: { text: 'x' } }] }, ACTOR);
  let lengthSent = Number.NaN;
  const { webhookNumber } = progress;
  const { deliver } = createDeliver({
    store: s.store,
    clock: s.clock,
    ids: s.ids,
    log: createLog('silent'),
    answeredRequests: () => 0,
    scheduler: { sending: () => {} },
    maySend: () => true,
    formatOf: s.formatOf,
    makeLargeBody: async (): Promise<BatchBody> => ({
      ok: true,
      bytes: made,
      headers: contentHeaders(made, s.clock()),
      subjects: [],
    }),
    send: async ({ body, now }): Promise<EndedAttempt> => {
      assert.ok(body.ok);
      lengthSent = body.bytes.byteLength;
      return { startedAt: now, outcome: { ...OUTCOME, timings: TIMINGS }, requestHeaders: {}, bodyBytes: 0 };
    },
  });
  const large = { bytes: LARGE_BODY_BYTES, attemptNumber: 1, contentRefusals: 0, isStored: false };
  const batch = { webhookNumber, id, firstOffset: 0, lastOffset: 0, ...large };
  const job = { webhookNumber, endpointId: id, batch, ordered: false };
  assert.equal((await deliver(job)).kind, 'sent');
  return [lengthSent, made.byteLength];
}

test('the memory of a large body is given up once it is sent, and never what others share', async (t) => {
  const s = await openTestServices(t);
  await makeEventType(s, TYPE);
  const whole = new Uint8Array(1000);
  assert.deepEqual(await lengths(s, whole), [1000, 0]);
  const shared = new Uint8Array(new ArrayBuffer(2000), 0, 1000);
  assert.deepEqual(await lengths(s, shared), [1000, 1000]);
});

test('compressing, encrypting and making a body counts for the customer of its webhook', () => {
  const attempt = { sessionId: 'session', attemptNumber: 1, now: 0 };
  for (const customerId of ['a', null]) {
    const target = { webhook: { id: 'w', customerId }, endpoint: { contentEncoding: null }, key: null };
    assert.equal(bodyRequest(target as unknown as Parameters<typeof bodyRequest>[0], attempt).owner, customerId);
  }
});
