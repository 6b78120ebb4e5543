/** Creates two of every resource of the API, for tests that call every operation. */
import assert from 'node:assert/strict';
import { EMPLOYEES, type Page, succeeded } from './client.ts';
import { makeEventType, publish, registerApplication } from './journey.ts';
import type { Service } from './service.ts';
import { pgpVector } from './vectors.ts';

/** Keyed by the last segment of the list's path. Nothing refers to the `spare` resource, so it can be deleted. */
export type Seeded = ReadonlyMap<string, { readonly id: string; readonly spare: string }>;

/** The event type of the seeded webhooks. The webhooks are stopped, and their deliveries are dead, so they can be replayed. */
export const SEEDED_TYPE = 'order.placed';
/** Nothing listens there. */
export const NO_RECEIVER = 'https://127.0.0.1:1/hook';
/** The fields of an employee, except the user name. */
export const PERSON = { firstName: 'Ada', lastName: 'Lovelace', email: 'ada@customer.example', division: 'sales' };

export async function seedApi({ admin, log }: Pick<Service, 'admin' | 'log'>): Promise<Seeded> {
  const seeded = new Map<string, { id: string; spare: string }>();
  const make = async (path: string, bodyOf: (name: 'seeded' | 'spare') => object): Promise<string> => {
    const { id } = await succeeded<{ id: string }>(admin.post(path, bodyOf('seeded')));
    const { id: spare } = await succeeded<{ id: string }>(admin.post(path, bodyOf('spare')));
    seeded.set(path, { id, spare });
    return id;
  };
  const find = async (path: string, query: string): Promise<void> => {
    const { items } = await succeeded<Page<{ id: string }>>(admin.get(`${path}?${query}`));
    const [one, another] = items;
    assert.ok(one !== undefined && another !== undefined, `there are no two ${path}`);
    seeded.set(path, { id: one.id, spare: another.id });
  };
  await make('customers', (name) => ({ name }));
  const userId = await make('users', (userName) => ({ userName, role: 'viewer' }));
  await make('products', (name) => ({ name, scopes: [], rules: [] }));
  await make('applications', (name) => ({ name, userId }));
  await make('event-types', (name) => ({ name: `seeds.${name}` }));
  await make('keys', (name) => ({ name, publicKey: pgpVector(name === 'seeded' ? 'rsa4096' : 'rsa2048') }));
  const endpointId = await make('endpoints', (name) => ({ name, url: NO_RECEIVER }));
  await makeEventType(admin, SEEDED_TYPE);
  const retry = { policy: 'linear', maxAttempts: 1 };
  const webhook = { endpointId, eventTypes: [SEEDED_TYPE], heartbeatSeconds: 0, retry };
  const webhookId = await make('webhooks', (name) => ({ name, ...webhook }));
  await succeeded(admin.post(`webhooks/${webhookId}/start`));
  await publish(admin, SEEDED_TYPE, { number: 1 }, { number: 2 });
  assert.equal((await log.nextAttempt(webhookId)).fate, 'dead');
  await succeeded(admin.post(`webhooks/${webhookId}/stop`));
  await find('deliveries', `webhookId=${webhookId}`);
  const { items: sent } = await succeeded<Page<{ eventId: string }>>(admin.get('deliveries?limit=2'));
  seeded.set('events', { id: sent[0]?.eventId ?? '', spare: sent[1]?.eventId ?? '' });

  const { api } = await registerApplication(admin, ['employees:create']);
  const hire = (userName: string, division: string): Promise<{ userId: string }> =>
    succeeded(api.post(EMPLOYEES, { ...PERSON, userName, division }));
  const { userId: id } = await hire('seeded', PERSON.division);
  seeded.set('employees', { id, spare: (await hire('spare', 'research')).userId });
  const erase = async (): Promise<string> =>
    (await succeeded<{ id: string }>(admin.post('events/erase', { subject: 'nobody' }))).id;
  seeded.set('erasures', { id: await erase(), spare: await erase() });
  await find('audit', 'limit=2');
  return seeded;
}
