/** Settings that Standard Webhooks' libraries cannot verify are refused (contract §5.7), on whichever side they are changed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { standardWebhookSecrets } from '../../src/domain/endpoint.ts';
import { viewEndpoint } from '../../src/webhooks/endpoint-schema.ts';
import { refused } from '../support/refusals.ts';
import { ACTOR, makeEndpoint, makeEventType, makeKey, makeWebhook, openTestServices } from '../support/services.ts';
import { leavingNothing } from '../support/store.ts';

const TYPE = 'order.placed';
const base64 = (bytes: number): string => Buffer.alloc(bytes, 7).toString('base64');

describe('a webhook with standardWebhooks', () => {
  it('is refused with an encryption key, at creation and in a patch of either', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE);
    const { name: encryptionKeyName } = await makeKey(s);
    const endpoint = await makeEndpoint(s);
    const wanted = {
      fields: ['standardWebhooks', 'encryptionKeyName'],
      code: 'validation_failed',
      says: 'encryptionKeyName',
    } as const;
    const fields = {
      name: 'w',
      endpointId: endpoint.id,
      eventTypes: [TYPE],
      standardWebhooks: true,
      encryptionKeyName,
    };
    await leavingNothing(s, () => refused(() => s.webhooks.create(fields, ACTOR), wanted));
    const standard = await makeWebhook(s, [TYPE], { endpointId: endpoint.id, standardWebhooks: true });
    await leavingNothing(s, () => refused(() => s.webhooks.patch(standard.id, { encryptionKeyName }, ACTOR), wanted));
    const encrypted = await makeWebhook(s, [TYPE], { endpointId: endpoint.id, encryptionKeyName });
    await leavingNothing(s, () =>
      refused(() => s.webhooks.patch(encrypted.id, { standardWebhooks: true }, ACTOR), wanted),
    );
    await s.webhooks.patch(encrypted.id, { standardWebhooks: true, encryptionKeyName: null }, ACTOR);
  });

  it('is refused for events that must be encrypted, with that reason', async (t) => {
    const s = await openTestServices(t);
    const endpoint = await makeEndpoint(s);
    const fields = { name: 'w', endpointId: endpoint.id, eventTypes: ['employee.*'], standardWebhooks: true };
    await refused(() => s.webhooks.create(fields, ACTOR), {
      code: 'validation_failed',
      fields: ['encryptionKeyName', 'standardWebhooks'],
    });
  });

  it('is refused at an endpoint with gzip, and so is gzip at an endpoint with such a webhook', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE);
    const [zipped, plain] = [await makeEndpoint(s, { contentEncoding: 'gzip' }), await makeEndpoint(s)];
    const ofWebhook = {
      code: 'validation_failed',
      fields: ['standardWebhooks', 'contentEncoding'],
      says: 'contentEncoding',
    } as const;
    const fields = { name: 'w', endpointId: zipped.id, eventTypes: [TYPE], standardWebhooks: true };
    await leavingNothing(s, () => refused(() => s.webhooks.create(fields, ACTOR), ofWebhook));
    // Behind eleven others, so that it is not only the first ones that are looked at.
    for (let i = 0; i < 11; i += 1) await makeWebhook(s, [TYPE], { endpointId: plain.id });
    const { id } = await makeWebhook(s, [TYPE], { endpointId: plain.id, standardWebhooks: true });
    await leavingNothing(s, () => refused(() => s.webhooks.patch(id, { endpointId: zipped.id }, ACTOR), ofWebhook));
    await leavingNothing(s, () =>
      refused(() => s.endpoints.patch(plain.id, { contentEncoding: 'gzip' }, ACTOR), {
        code: 'validation_failed',
        fields: ['contentEncoding', 'standardWebhooks'],
        says: 'standardWebhooks',
      }),
    );
    await s.webhooks.patch(id, { standardWebhooks: false }, ACTOR);
    await s.endpoints.patch(plain.id, { contentEncoding: 'gzip' }, ACTOR);
  });

  const unfit = ['text', base64(23), base64(65), `${base64(24).slice(1)}-`];
  for (const secret of unfit) {
    it(`is refused with the secret ${secret.slice(0, 20)} (${secret.length}), which is refused in a rotation too`, async (t) => {
      const s = await openTestServices(t);
      await makeEventType(s, TYPE);
      const [texted, fit] = [await makeEndpoint(s, { secret }), await makeEndpoint(s)];
      const fields = { name: 'w', endpointId: texted.id, eventTypes: [TYPE], standardWebhooks: true };
      await leavingNothing(s, () =>
        refused(() => s.webhooks.create(fields, ACTOR), {
          code: 'validation_failed',
          fields: ['standardWebhooks', 'secret'],
          says: 'Base64 of 24 to 64 bytes',
        }),
      );
      await makeWebhook(s, [TYPE], { endpointId: fit.id, standardWebhooks: true });
      for (const activateAfterSeconds of [0, 60]) {
        await leavingNothing(s, () =>
          refused(() => s.endpoints.rotateSecret(fit.id, { secret, activateAfterSeconds }, ACTOR), {
            code: 'validation_failed',
            fields: ['secret'],
            says: 'standardWebhooks',
          }),
        );
      }
      for (const good of [base64(24), base64(64), `whsec_${base64(32)}`])
        await s.endpoints.rotateSecret(fit.id, { secret: good }, ACTOR);
    });
  }

  it('is refused while an unsuitable secret is scheduled', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE);
    const { id } = await makeEndpoint(s);
    await s.endpoints.rotateSecret(id, { secret: 'text', activateAfterSeconds: 60 }, ACTOR);
    const fields = { name: 'w', endpointId: id, eventTypes: [TYPE], standardWebhooks: true };
    await refused(() => s.webhooks.create(fields, ACTOR), {
      code: 'validation_failed',
      fields: ['standardWebhooks', 'secret'],
    });
  });
});

describe('a secret that is given with whsec_', () => {
  it('is the Base64 after it, at creation and in a rotation', async (t) => {
    const s = await openTestServices(t);
    const [first, second] = [base64(32), base64(40)];
    const endpoint = await makeEndpoint(s, { secret: `whsec_${first}` });
    assert.equal(endpoint.secret.reveal(), first);
    const { newSecret, endpoint: after } = await s.endpoints.rotateSecret(
      endpoint.id,
      { secret: `whsec_${second}` },
      ACTOR,
    );
    assert.deepEqual([newSecret.reveal(), after.secret.reveal()], [second, second]);
  });

  it('is refused if it is not Base64', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s);
    for (const secret of ['whsec_', 'whsec_not base64', `whsec_${base64(32).slice(1)}`]) {
      const wanted = { code: 'validation_failed', fields: ['secret'], says: 'after whsec_' } as const;
      const fields = { name: 'e', url: 'https://hooks.example/in', secret };
      await leavingNothing(s, () => refused(() => s.endpoints.create(fields, ACTOR), wanted));
      await leavingNothing(s, () => refused(() => s.endpoints.rotateSecret(id, { secret }, ACTOR), wanted));
    }
  });
});

describe('the signatures of Standard Webhooks during a rotation', () => {
  const [A, B, C] = [base64(24), base64(32), base64(40)];
  const table: readonly (readonly [
    delaySeconds: number,
    overlapSeconds: number,
    expected: readonly (readonly [atSeconds: number, secrets: string[]])[],
  ])[] = [
    [
      0,
      0,
      [
        [0, [B]],
        [100, [B]],
      ],
    ],
    [
      60,
      0,
      [
        [0, [A, B]],
        [59.999, [A, B]],
        [60, [B]],
        [100, [B]],
      ],
    ],
    [
      0,
      60,
      [
        [0, [B, A]],
        [59.999, [B, A]],
        [60, [B]],
      ],
    ],
    [
      60,
      30,
      [
        [0, [A, B]],
        [59.999, [A, B]],
        [60, [B, A]],
        [89.999, [B, A]],
        [90, [B]],
      ],
    ],
  ];
  for (const [activateAfterSeconds, overlapSeconds, expected] of table) {
    it(`are of these secrets, the active one first, with ${activateAfterSeconds} s and an overlap of ${overlapSeconds} s`, async (t) => {
      const s = await openTestServices(t);
      const { id } = await makeEndpoint(s, { secret: A });
      const input = { secret: B, activateAfterSeconds, overlapSeconds };
      const { endpoint } = await s.endpoints.rotateSecret(id, input, ACTOR);
      const read = await s.endpoints.get(id);
      for (const [atSeconds, secrets] of expected) {
        const now = endpoint.updatedAt + atSeconds * 1000;
        assert.deepEqual(
          standardWebhookSecrets(read, now).map((one) => one.reveal()),
          secrets,
          `after ${atSeconds} s`,
        );
      }
    });
  }

  it('are of at most two secrets: the active one and the latest', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s, { secret: A });
    await s.endpoints.rotateSecret(id, { secret: B, overlapSeconds: 600 }, ACTOR);
    s.advance(1000);
    const { endpoint } = await s.endpoints.rotateSecret(
      id,
      { secret: C, activateAfterSeconds: 60, overlapSeconds: 60 },
      ACTOR,
    );
    assert.deepEqual(
      standardWebhookSecrets(endpoint, s.clock()).map((one) => one.reveal()),
      [B, C],
    );
    const { secretActivatesAt, secretOverlapEndsAt } = viewEndpoint(endpoint, s.clock());
    assert.equal(Date.parse(String(secretOverlapEndsAt)) - Date.parse(String(secretActivatesAt)), 60_000);
  });

  it('overlap for a week at most', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s);
    for (const overlapSeconds of [-1, 604_801, 1.5, '60']) {
      await leavingNothing(s, () =>
        refused(() => s.endpoints.rotateSecret(id, { overlapSeconds }, ACTOR), {
          code: 'validation_failed',
          fields: ['overlapSeconds'],
        }),
      );
    }
  });
});
