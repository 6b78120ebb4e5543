/** The guide: the hand-out with the values of an endpoint, and the files that it offers. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { whatArrives } from '../../src/portal/endpoints/guide-pages.ts';
import { EXAMPLES, guideText, LEFT_OUT } from '../../src/portal/endpoints/guide-text.ts';
import { startHistory } from '../support/portal-history.ts';
import { request } from '../support/portal-requests.ts';

const HAND_OUT = readFileSync(new URL('../../docs/hand-out.md', import.meta.url), 'utf8');

describe('the guide', () => {
  it('replaces examples and leaves out parts that the hand-out has', () => {
    for (const example of Object.values(EXAMPLES)) assert.ok(HAND_OUT.includes(example), example);
    for (const [from, to] of LEFT_OUT) assert.ok(HAND_OUT.indexOf(from) < HAND_OUT.indexOf(to) || to === '', from);
    const endpoint = { url: 'https://in.example:8443/hooks/$&?a=1', apiKey: 'f'.repeat(32) };
    const text = guideText(HAND_OUT, { endpoint, address: 'https://edge.example' });
    assert.ok(text.includes('POST /hooks/$&?a=1 HTTP/1.1\nhost: in.example:8443\n'));
    assert.ok(text.includes(`x-api-key: ${endpoint.apiKey}`));
    assert.ok(text.includes('https://edge.example/services/api/oauth2/token'));
    for (const gone of [...Object.values(EXAMPLES), 'Operators:', 'sallyport listen'])
      assert.ok(!text.includes(gone), gone);
  });

  it('says what arrives from a webhook', () => {
    const plain = { standardWebhooks: false, encryptionKeyName: null, maxBatchRecords: 1 };
    const said = (webhook: object, endpoint: object = {}): string =>
      whatArrives({ ...plain, ...webhook }, { oauthTokenUrl: null, contentEncoding: null, ...endpoint }).markup;
    assert.match(said({}), /One record in each request\..*HMAC-SHA256/s);
    assert.match(said({ maxBatchRecords: 30 }, { oauthTokenUrl: 'https://t.example' }), /Up to 30 records.*Bearer/s);
    assert.match(said({ standardWebhooks: true }), /webhook-signature/);
    assert.match(said({}, { contentEncoding: 'gzip' }), /content-encoding: gzip/);
    assert.match(
      said({ encryptionKeyName: 'k' }, { contentEncoding: 'gzip' }),
      /your key k.*x-original-encoding: gzip/s,
    );
  });

  it('has the customer’s own endpoint, and none of somebody else', async (t) => {
    const { service, ids, sessions } = await startHistory(t);
    const open = (path: string, token: string) => request(`${service.url}${path}`, { token });
    const { endpoints } = ids.customer;
    const { url, apiKey } = (await service.services.endpoints.get(endpoints ?? '')) ?? assert.fail();
    for (const token of [sessions.customer, sessions.link]) {
      const { status, text } = await open('/guide', token);
      assert.equal(status, 200);
      assert.ok(text.includes(url) && text.includes(`x-api-key: ${apiKey.reveal()}`));
    }
    const foreign = await open(`/guide?endpoint=${ids.operator.endpoints}`, sessions.customer);
    const other = await service.services.endpoints.get(ids.operator.endpoints ?? '');
    assert.ok(!foreign.text.includes(other.apiKey.reveal()));
    assert.ok(foreign.text.includes('You have no endpoint yet') || foreign.status === 404);
    const ofOperator = await open(`/guide?endpoint=${endpoints}`, sessions.operator);
    assert.ok(ofOperator.text.includes(`x-api-key: ${apiKey.reveal()}`));
  });

  it('offers complete programs as downloads, and no other file', async (t) => {
    const { service, sessions } = await startHistory(t);
    const open = (path: string) => request(`${service.url}${path}`, { token: sessions.customer });
    const { text } = await open('/guide');
    const files = [...text.matchAll(/href="(\/downloads\/[^"]+)"/g)].map(([, file = '']) => file);
    assert.ok(files.length >= 6);
    for (const file of files) {
      const { status, headers } = await open(file);
      assert.equal(status, 200, file);
      assert.match(headers.get('content-disposition') ?? '', /^attachment; filename="/);
    }
    assert.match((await open('/downloads/receiver.py')).text, /^#!\/usr\/bin\/env python3/);
    for (const name of ['none', 'receiver.sh', '..%2Fpackage.json'])
      assert.notEqual((await open(`/downloads/${name}`)).status, 200, name);
  });
});
