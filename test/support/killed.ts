/** A service that tests kill and start again, and what its receiver got. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { ApiClient } from './client.ts';
import { makeEventType } from './journey.ts';
import { type Delivery, type Receiver, startReceiver } from './receiver.ts';
import { type ServiceProcess, spawnService, startedFolder } from './service.ts';
import { sharedCertificates } from './tls.ts';

/** A service with this event type, and a receiver. */
export async function startBoth(
  t: TestContext,
  type: string,
): Promise<{ service: ServiceProcess; admin: ApiClient; receiver: Receiver }> {
  const { ca, server } = sharedCertificates();
  const service = await spawnService(t, { ca, after: await startedFolder(t) });
  await makeEventType(service.admin, type);
  return { service, admin: service.admin, receiver: await startReceiver(t, server) };
}

export async function kill(service: ServiceProcess): Promise<void> {
  service.kill('SIGKILL');
  assert.deepEqual(await service.exited, { code: null, signal: 'SIGKILL' });
}

export function restart(t: TestContext, service: ServiceProcess): Promise<ServiceProcess> {
  return spawnService(t, { ca: sharedCertificates().ca, after: service });
}

/** How often each message arrived. */
export function arrivals(deliveries: readonly Delivery[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { messageId } of deliveries.flatMap(({ records }) => records)) {
    times.set(messageId, (times.get(messageId) ?? 0) + 1);
  }
  return times;
}
