/** Runs Prometheus' own checker on the metrics of a service at work. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { it } from 'node:test';
import { connect, makeEventType, publish, startJourney } from './support/journey.ts';

const TYPE = 'order.created';

it('promtool finds nothing in the metrics of a service that issues, publishes and delivers', async (t) => {
  const { service, admin, receiver } = await startJourney(t);
  await makeEventType(admin, TYPE);
  const { at } = await connect({ admin, receiver }, [TYPE]);
  await publish(admin, TYPE, { orderId: 1 }, { orderId: 2 });
  await at.next();
  await service.signIn();
  await admin.get('webhooks/unknown');
  const input = await (await fetch(`${service.url}/metrics`)).text();
  assert.match(input, /_total\{/);
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
});
