import { describe, it } from 'node:test';
import { EMBEDDING_PROGRAM } from '../src/domain/acting.ts';
import { refused } from './support/refusals.ts';
import { startService } from './support/service.ts';

// Each `@ts-expect-error` is a test of its own: without the error, the type check of the tests fails.
describe('the use cases that an embedding program calls', () => {
  it('do not compile with a wrong field or value, and refuse both at run time', async (t) => {
    const { services } = await startService(t);
    const me = EMBEDDING_PROGRAM;
    const { id } = await services.endpoints.create({ name: 'shop', url: 'https://shop.example/hook' }, me);
    const { id: userId } = await services.users.create({ userName: 'ada', permissions: ['orders:view'] }, me);
    const webhook = { name: 'orders', endpointId: id, eventTypes: ['order.*'] } as const;
    await services.webhooks.create({ ...webhook, retry: { maxAttempts: 3 } }, me);
    await services.endpoints.patch(id, { contentEncoding: 'gzip', oauth: null }, me);
    const calls: readonly [field: string, call: () => Promise<unknown>][] = [
      // @ts-expect-error a required field is missing
      ['url', () => services.endpoints.create({ name: 'shop' }, me)],
      // @ts-expect-error an unknown field
      ['color', () => services.webhooks.create({ ...webhook, color: 'red' }, me)],
      // @ts-expect-error a field of another type
      ['ordered', () => services.webhooks.create({ ...webhook, ordered: 'yes' }, me)],
      // @ts-expect-error a field of a nested object
      ['retry.maxattempts', () => services.webhooks.create({ ...webhook, retry: { maxattempts: 3 } }, me)],
      // @ts-expect-error a required field cannot be removed
      ['url', () => services.endpoints.patch(id, { url: null }, me)],
      // @ts-expect-error only the service sets this field
      ['verified', () => services.endpoints.patch(id, { verified: true }, me)],
      // @ts-expect-error no such role
      ['role', () => services.users.patch(userId, { role: 'owner' }, me)],
      // @ts-expect-error a number of seconds
      ['activateAfterSeconds', () => services.endpoints.rotateSecret(id, { activateAfterSeconds: '60' }, me)],
      // @ts-expect-error no subject
      ['subject', () => services.erasures.erase({}, me)],
      // @ts-expect-error an event has a type
      ['type', () => services.publish({ data: {} }, me)],
      ['name', () => services.keys.create({ customerId: null, name: ' ', publicKey: 'x' }, me)],
    ];
    for (const [field, call] of calls) await refused(call, { code: 'validation_failed', fields: [field] });
  });
});
