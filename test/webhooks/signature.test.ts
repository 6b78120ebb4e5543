import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { viewWebhook } from '../../src/webhooks/webhook-schema.ts';
import { refused } from '../support/refusals.ts';
import { ACTOR, makeEndpoint, makeWebhook, openTestServices } from '../support/services.ts';

const TYPES = ['webhook.*'];
const GITHUB = {
  preset: 'github',
  header: 'X-Hub-Signature-256',
  algorithm: 'sha256',
  encoding: 'hex',
  value: 'sha256={signature}',
  content: '{body}',
  key: 'text',
  repeat: null,
  timestampHeader: null,
  idHeader: null,
  warnings: [],
};

describe('the signature of a webhook', () => {
  it('is none unless it is set; a preset fills it in, and a template that was read may be sent back', async (t) => {
    const s = await openTestServices(t);
    assert.equal(viewWebhook(await makeWebhook(s, TYPES)).signature, null);
    const made = await makeWebhook(s, TYPES, { signature: { preset: 'github' } });
    const read = viewWebhook(await s.webhooks.get(made.id)).signature;
    assert.deepEqual(read, GITHUB);
    const after = await s.webhooks.patch(made.id, { signature: read }, ACTOR);
    assert.equal(after.updatedAt, made.updatedAt);
  });

  it('keeps nothing of the former template with a new preset, and the rest with another member', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeWebhook(s, TYPES, {
      signature: { header: 'X-Sig', algorithm: 'sha1', value: 'v={signature}' },
    });
    const patched = async (signature: object | null) =>
      viewWebhook(await s.webhooks.patch(id, { signature }, ACTOR)).signature;
    const first = await patched({ encoding: 'base64' });
    assert.deepEqual(
      [first?.header, first?.algorithm, first?.encoding, first?.value],
      ['X-Sig', 'sha1', 'base64', 'v={signature}'],
    );
    assert.match(String(first?.warnings), /sha1 is weak/);
    assert.deepEqual(await patched({ preset: 'github' }), GITHUB);
    const other = await patched({ header: 'X-Other' });
    assert.deepEqual(other, { ...GITHUB, header: 'X-Other' });
    const slack = await patched({ preset: 'slack' });
    assert.deepEqual([slack?.header, slack?.timestampHeader], ['X-Slack-Signature', 'X-Slack-Request-Timestamp']);
    assert.equal(await patched(null), null);
  });

  const wrong: readonly (readonly [what: string, signature: Readonly<Record<string, unknown>>, field: string])[] = [
    ['no header', { value: '{signature}' }, 'header'],
    ['a header that is no token', { header: 'X Sig' }, 'header'],
    ['a reserved header', { header: 'Content-Digest' }, 'header'],
    ['the header of the endpoint’s signature', { header: 'Authorization' }, 'header'],
    ['the API key’s header', { header: 'x-api-key' }, 'header'],
    ['a preset that there is not', { preset: 'paypal' }, 'preset'],
    ['an algorithm that there is not', { header: 'X-Sig', algorithm: 'md5' }, 'algorithm'],
    ['an unknown place-holder', { header: 'X-Sig', content: '{payload}' }, 'content'],
    ['a value without {signature}', { header: 'X-Sig', value: 'sha256=' }, 'value'],
    ['a separator that could be part of a signature', { header: 'X-Sig', repeat: '=' }, 'repeat'],
    ['one name for two headers', { header: 'X-Sig', timestampHeader: 'x-sig' }, 'timestampHeader'],
    ['an unknown member', { header: 'X-Sig', secret: 'x' }, 'secret'],
  ];
  for (const [what, signature, field] of wrong) {
    it(`is refused with ${what}`, async (t) => {
      const s = await openTestServices(t);
      const expected = { code: 'validation_failed', fields: [`signature.${field}`] } as const;
      await refused(() => makeWebhook(s, TYPES, { signature }), expected);
    });
  }

  it('has headers of its own: not those of the endpoint, and not custom headers', async (t) => {
    const s = await openTestServices(t);
    const { id: endpointId } = await makeEndpoint(s, { requestHeaders: [{ name: 'X-Sig', value: 'x' }] });
    await refused(() => makeWebhook(s, TYPES, { endpointId, signature: { header: 'x-sig' } }), {
      code: 'validation_failed',
      fields: ['signature.header'],
      says: 'set by the endpoint',
    });
    const customHeaders = [{ name: 'x-time', value: '1' }];
    await refused(
      () =>
        makeWebhook(s, TYPES, {
          endpointId,
          customHeaders,
          signature: { preset: 'github', timestampHeader: 'X-Time' },
        }),
      { code: 'validation_failed', fields: ['customHeaders[0].name'], says: 'set by the signature' },
    );
    const { name } = await makeWebhook(s, TYPES, { endpointId, signature: { preset: 'github' } });
    const requestHeaders = [{ name: 'X-Hub-Signature-256', value: 'x' }];
    await refused(() => s.endpoints.patch(endpointId, { requestHeaders }, ACTOR), {
      code: 'validation_failed',
      fields: ['requestHeaders[0].name'],
      says: name,
    });
  });

  it('is refused in mode pull, where nothing is sent', async (t) => {
    const s = await openTestServices(t);
    const pull = { name: 'p', mode: 'pull', eventTypes: TYPES, signature: { preset: 'github' } };
    await refused(() => s.webhooks.create(pull, ACTOR), { code: 'validation_failed', fields: ['signature'] });
  });
});
