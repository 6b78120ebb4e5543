/** Changes of a webhook and of its endpoint at the same time, each of which forbids the other (contract §5.7, §12.5). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { repeats } from '../support/repeats.ts';
import { ACTOR, makeEndpoint, makeEventType, makeWebhook, openTestServices } from '../support/services.ts';

repeats('postgres');

const TYPE = 'order.placed';
const TRIES = 8;
type Fields = Readonly<Record<string, unknown>>;
type Rotation = { readonly secret: string; readonly activateAfterSeconds: number; readonly overlapSeconds: number };

const ROTATION: Rotation = { secret: 'no Base64', activateAfterSeconds: 0, overlapSeconds: 0 };

describe('changes of a webhook and of its endpoint at the same time', () => {
  const cases: readonly (readonly [what: string, endpoint: Fields | Rotation, webhook: Fields])[] = [
    [
      'make no header twice',
      { requestHeaders: [{ name: 'X-Twice', value: '1' }] },
      { customHeaders: [{ name: 'x-twice', value: '2' }] },
    ],
    [
      'make no header twice, of an authentication and a signature',
      { authentication: { method: 'header', name: 'X-Twice', value: '1' } },
      { signature: { header: 'x-twice' } },
    ],
    ['make no gzip with the format standard', { contentEncoding: 'gzip' }, { format: 'standard' }],
    ['make no standardWebhooks with a text as secret', ROTATION, { standardWebhooks: true }],
  ];
  for (const [what, ofEndpoint, ofWebhook] of cases) {
    for (const how of ['a new webhook', 'a patch'] as const) {
      it(`${what}: ${how}`, async (t) => {
        const s = await openTestServices(t);
        await makeEventType(s, TYPE);
        for (let n = 0; n < TRIES; n += 1) {
          const { id: endpointId } = await makeEndpoint(s);
          const plain = how === 'a patch' ? await makeWebhook(s, [TYPE], { endpointId }) : null;
          const change = (): Promise<unknown> =>
            plain === null
              ? s.webhooks.create({ name: `w${n}`, endpointId, eventTypes: [TYPE], ...ofWebhook }, ACTOR)
              : s.webhooks.patch(plain.id, ofWebhook, ACTOR);
          const changeEndpoint = (): Promise<unknown> =>
            ofEndpoint === ROTATION
              ? s.endpoints.rotateSecret(endpointId, ROTATION, ACTOR)
              : s.endpoints.patch(endpointId, ofEndpoint, ACTOR);
          const both = n % 2 === 0 ? [change(), changeEndpoint()] : [changeEndpoint(), change()];
          const ended = await Promise.allSettled(both);
          const refusals = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason as { code?: string }] : []));
          assert.deepEqual(
            refusals.map(({ code }) => code),
            ['validation_failed'],
            `one of both is refused, in try ${n}`,
          );
        }
      });
    }
  }

  it('are both made if both are allowed', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE);
    const { id: endpointId } = await makeEndpoint(s);
    const names = ['a', 'b', 'c'];
    await Promise.all([
      ...names.map((name) => s.webhooks.create({ name, endpointId, eventTypes: [TYPE] }, ACTOR)),
      s.endpoints.patch(endpointId, { requestHeaders: [{ name: 'X-Mine', value: '1' }] }, ACTOR),
    ]);
    assert.equal((await s.store.webhooks.ofEndpoint(endpointId)).length, names.length);
    assert.equal((await s.endpoints.get(endpointId)).requestHeaders?.length, 1);
  });
});
