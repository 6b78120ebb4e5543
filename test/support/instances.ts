/** Two whole services on one PostgreSQL database. */
import { it, type TestContext } from 'node:test';
import { type ServiceInProcess, startService } from './service.ts';
import { onPostgres } from './store.ts';

/** Defines a test of several instances, which run on PostgreSQL alone. */
export const onInstances: typeof it = onPostgres ? it : ((() => undefined) as unknown as typeof it);

export async function startInstances(t: TestContext): Promise<readonly [ServiceInProcess, ServiceInProcess]> {
  const one = await startService(t);
  return [one, await startService(t, { after: one })];
}
