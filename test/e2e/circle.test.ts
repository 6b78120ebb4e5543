import test from 'node:test';
import assert from 'node:assert/strict';
import { startJourney, connect, makeEventType, publish, deliveryOf } from '../support/journey.ts';

test('smoke', async (t) => {
  const j = await startJourney(t);
  await makeEventType(j.admin, 'order.placed');
  const { at, webhook } = await connect(j, ['order.placed'], { endpoint: { tokenChallenge: true } });
  const [id] = await publish(j.admin, 'order.placed', { n: 1 });
  const got = await at.next();
  console.log(got.request.headers, got.json);
  console.log(await j.service.log.nextAttempt(webhook.id));
  console.log(JSON.stringify(await deliveryOf(j.admin, webhook, id as string)));
  assert.equal(1, 1);
});
