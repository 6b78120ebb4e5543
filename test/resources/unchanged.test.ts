/** Patches that leave everything as it is (RFC 7396 §2), of every administered resource. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Administration } from '../../src/resources/administration.ts';
import {
  ACTOR,
  makeApplication,
  makeEndpoint,
  makeEventType,
  makeKey,
  makeUser,
  makeWebhook,
  openTestServices,
} from '../support/services.ts';
import { leavingNothing } from '../support/store.ts';

describe('a patch that changes nothing', () => {
  it('returns the resource, keeps updatedAt and writes no audit entry', async (t) => {
    const s = await openTestServices(t);
    const constraints = { divisions: ['sales'] };
    const user = await makeUser(s, { role: 'viewer', permissions: ['a:x', 'b:x'], constraints });
    const scopes = [{ name: 'b:x' }];
    const rules = [{ methods: ['GET', 'PUT'], path: '/b/{id}', scope: 'b:x', permission: 'b.x' }];
    const product = await s.products.create({ name: 'B', scopes, rules }, ACTOR);
    const { application } = await makeApplication(s, { userId: user.id, scopes: ['b:x'] });
    const endpoint = await makeEndpoint(s, { oauth: OAUTH, enabled: false });
    const key = await makeKey(s);
    await makeEventType(s, 'order.placed', { dataSchema: { type: 'object', required: ['id'] } });
    const eventType = (await s.store.eventTypes.all()).find(({ name }) => name === 'order.placed');
    const customHeaders = [{ name: 'X-Tenant', value: 'a' }];
    const webhook = await makeWebhook(s, ['order.placed'], { endpointId: endpoint.id, customHeaders });
    const { apiKey } = endpoint;
    s.advance(1000);
    const same: readonly [read: () => Promise<unknown>, patches: readonly (() => Promise<unknown>)[]][] = [
      tried(s.users, user.id, { role: 'viewer', constraints, permissions: ['b:x', 'a:x'], email: null }),
      tried(s.products, product.id, { rules, name: 'B' }),
      tried(s.applications, application.id, { active: true, scopes: ['b:x'] }),
      tried(s.endpoints, endpoint.id, { enabled: false, apiKey: apiKey.reveal(), oauth: OAUTH }),
      tried(s.keys, key.id, { publicKey: key.publicKey }),
      tried(s.eventTypes, eventType?.id ?? '', { dataSchema: { type: 'object' } }),
      tried(s.webhooks, webhook.id, { customHeaders, retry: { policy: 'exponential' } }),
    ];
    for (const [read, patches] of same) {
      const before = JSON.stringify(await read());
      for (const patch of patches) {
        await leavingNothing(s, async () => assert.equal(JSON.stringify(await patch()), before));
      }
    }
  });

  it('differs from one that only changes a secret', async (t) => {
    const s = await openTestServices(t);
    const { id, updatedAt } = await makeEndpoint(s, { oauth: OAUTH });
    const { oauthClientSecret, ...after } = await s.endpoints.patch(id, { oauth: { clientSecret: 'another' } }, ACTOR);
    assert.equal(oauthClientSecret?.reveal(), 'another');
    assert.ok(after.updatedAt > updatedAt);
    assert.equal((await s.rows("SELECT * FROM audit WHERE action = 'endpoint.update'")).length, 1);
  });

  it('keeps a scheduled secret and API key', async (t) => {
    const s = await openTestServices(t);
    const { id, apiKey } = await makeEndpoint(s);
    await s.endpoints.rotateSecret(id, { secret: 'the next one', activateAfterSeconds: 60 }, ACTOR);
    await s.endpoints.rotateApiKey(id, { apiKey: 'a'.repeat(32), activateAfterSeconds: 60 }, ACTOR);
    await leavingNothing(s, () => s.endpoints.patch(id, { apiKey: apiKey.reveal() }, ACTOR));
    const { updatedAt } = await s.endpoints.get(id);
    const { endpoint } = await s.endpoints.rotateSecret(
      id,
      { secret: 'the next one', activateAfterSeconds: 60 },
      ACTOR,
    );
    assert.ok(endpoint.updatedAt > updatedAt);
  });
});

const OAUTH = { clientId: 'a', clientSecret: 'b', tokenUrl: 'https://issuer.example/token' };

/** An empty patch, and one of values that the thing has. */
function tried(
  { get, patch }: Pick<Administration<object, unknown>, 'get' | 'patch'>,
  id: string,
  present: object,
): [read: () => Promise<unknown>, patches: (() => Promise<unknown>)[]] {
  return [() => get(id), [() => patch(id, {}, ACTOR), () => patch(id, present, ACTOR)]];
}
