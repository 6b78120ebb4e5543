import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import type { Endpoint } from '../../../src/domain/endpoint.ts';
import type { EventType } from '../../../src/domain/event.ts';
import type { WebhookState } from '../../../src/domain/webhook.ts';
import { challengeAdvice, withoutCode } from '../../../src/portal/endpoints/challenge-section.ts';
import { endpointSentence, endpointWarnings } from '../../../src/portal/endpoints/endpoint-detail.ts';
import { firstExample, markedPart, receiverCode } from '../../../src/portal/endpoints/receiver-pages.ts';
import { withTypes } from '../../../src/portal/endpoints/receiver-types.ts';
import type { EndpointWebhook } from '../../../src/store/port/directory.ts';
import { makeEndpoint, openTestServices } from '../../support/services.ts';

const SAMPLE = { orderId: 'ord_1042', total: 129, currency: 'EUR', items: 3 };

function sampled(name: string, sample: EventType['sample']): EventType {
  return { name, sample, builtIn: false } as EventType;
}

describe('the advice for a challenge', () => {
  const cases: readonly (readonly [error: string, advice: RegExp])[] = [
    ['missing_answer: the response has no x-challenge-sha256 header', /in the response header x-challenge-sha256/],
    ['malformed_answer: it has 64', /44 Base64 characters/],
    ['wrong_answer: it is another', /Compare the secret on both sides/],
    ['the endpoint answered 401, wanted 200', /Compare the secret and the API key/],
    ['the endpoint answered 403, wanted 200', /Compare the secret and the API key/],
    ['the endpoint answered 404, wanted 200', /Check the path/],
    ['the endpoint answered 302, wanted 200', /Redirects are not followed/],
    ['the endpoint answered 204, wanted 200', /must have the status 200/],
    ['the endpoint answered 503, wanted 200', /Check that the receiver is up/],
    ['timeout: no complete answer within 10000 ms', /has 10 seconds to answer a challenge/],
    ['tls_expired: the certificate has expired', /Renew the receiver's certificate/],
    ['egress_refused: 127.0.0.1 is loopback', /SALLYPORT_EGRESS_ALLOW/],
  ];
  for (const [error, advice] of cases) {
    it(`that failed with “${error}” fits it`, () => assert.match(challengeAdvice(error, null), advice));
  }

  it('is shown beside the error without its code', () => {
    assert.equal(withoutCode('wrong_answer: it is another'), 'it is another');
    assert.equal(withoutCode('the endpoint answered 404, wanted 200'), 'the endpoint answered 404, wanted 200');
  });
});

describe('the state of an endpoint', () => {
  it('is said in a sentence for each combination of its switches', async (t) => {
    const made = await makeEndpoint(await openTestServices(t));
    const sentence = (more: Partial<Endpoint>): string => endpointSentence({ ...made, ...more });
    assert.match(sentence({ enabled: true }), /^Deliveries are sent here/);
    const unproved = { enabled: false, tokenChallenge: true, verified: false };
    assert.match(sentence({ ...unproved, enableWhenVerified: true }), /Verification also enables the endpoint/);
    assert.match(sentence({ ...unproved, enableWhenVerified: false }), /disabled, and ownership is not verified/);
    assert.match(sentence({ ...unproved, verified: true }), /an administrator disabled the endpoint/);
  });

  it('has warnings only for problems, failing webhooks among them', async (t) => {
    const { clock, ...services } = await openTestServices(t);
    const made = await makeEndpoint(services as Parameters<typeof makeEndpoint>[0]);
    const now = clock();
    const webhook: EndpointWebhook = {
      id: 'w',
      name: 'Orders',
      state: 'running',
      stateReason: null,
      failingSinceAt: null,
      endpointId: made.id,
      webhookNumber: 1,
    };
    const about = (
      more: Partial<Endpoint>,
      ...webhooks: readonly WebhookState[]
    ): readonly (readonly [string, string])[] =>
      endpointWarnings(
        { ...made, ...more },
        webhooks.map((state) => ({ ...webhook, state })),
        now,
      ).map((warning) => [warning.about, warning.tone]);
    assert.deepEqual(about({}), []);
    assert.deepEqual(about({ enabled: false }), [], 'no webhook sends there');
    assert.deepEqual(about({ enabled: false }, 'stopped'), [['state', 'caution']]);
    assert.deepEqual(about({}, 'running', 'started', 'stopped'), []);
    assert.deepEqual(about({}, 'failing', 'failed', 'failing'), [
      ['webhook', 'negative'],
      ['webhook', 'caution'],
    ]);
    assert.deepEqual(about({ clientCertificateExpiresAt: now }), [['certificate', 'negative']]);
    assert.deepEqual(about({ clientCertificateExpiresAt: now + 1000 }), [['certificate', 'caution']]);
    assert.deepEqual(about({ clientCertificateExpiresAt: now + 40 * 86_400_000 }), []);
    assert.deepEqual(about({ nextSecretAt: now + 1, nextApiKeyAt: now + 1 }), [
      ['rotation', 'info'],
      ['rotation', 'info'],
    ]);
    assert.deepEqual(about({ nextSecretAt: now, nextApiKeyAt: now }), [], 'it is in use by now');
  });
});

describe('the code for receivers', () => {
  it('is the one that the documented programs use', () => {
    const examples = receiverCode([], true);
    const labels = (of: typeof examples) => of.map(({ label }) => label);
    const others = ['Python', 'Go', 'Java', 'C#', 'PHP', 'Ruby'];
    assert.deepEqual(labels(examples), ['TypeScript', 'JavaScript', 'Node only', ...others]);
    // What needs a package that is not here does not come first.
    assert.deepEqual(labels(receiverCode([], false)), ['Node only', 'TypeScript', 'JavaScript', ...others]);
    for (const { label, code } of examples) {
      assert.match(code, label.endsWith('Script') ? /createReceiver/ : /SignedHeaders/, label);
      assert.doesNotMatch(code, /verify:(begin|end)/, label);
      assert.match(code, /^\S/, label);
    }
  });

  it('has a JavaScript form without types', () => {
    for (const eventTypes of [
      [],
      [sampled('order.created', SAMPLE)],
      [sampled('a.b', SAMPLE), sampled('c.d', SAMPLE)],
    ]) {
      const code = receiverCode(eventTypes).find(({ label }) => label === 'JavaScript')?.code ?? '';
      const { status, stderr } = spawnSync(process.execPath, ['--check', '--input-type=module', '-'], { input: code });
      assert.equal(status, 0, String(stderr));
      assert.match(code, /createReceiver\(\{/);
      assert.match(code, /server\.address\(\)\.port/);
      assert.doesNotMatch(code, /Events/);
    }
  });

  it('has the event types that the receiver gets, as their samples are', () => {
    const example = "/** The types. */\ntype Events = { 'order.created': { orderId: number } };\n";
    const types = [
      { ...sampled('employee.created', { a: 1 }), builtIn: true },
      sampled('webhook.failed', { b: 1 }),
      sampled('order.created', { orderId: 'ord_1', total: 9.5, 'odd name': null, tags: ['x'], to: { vip: true } }),
      sampled('order.shipped', null),
    ];
    const line =
      '\'order.created\': { orderId: string; total: number; "odd name": unknown; tags: string[]; to: { vip: boolean } };';
    const shown = withTypes(example, types);
    assert.ok(shown.includes(`type Events = {\n  ${line}\n  'employee.created': { a: number };\n};`), shown);
    assert.equal(withTypes(example, []), example);
  });

  it('is cut out between its marks and moved to the left', () => {
    assert.equal(markedPart('a\n  // verify:begin\n\n    b {\n      c\n    }\n\n  // verify:end\nd'), 'b {\n  c\n}');
    assert.equal(firstExample('text\n\n```sh\nx\n```\n\n```ts\na\n\nb\n```\n```ts\nc\n```\n'), 'a\n\nb');
    assert.equal(firstExample('no example'), '');
  });
});
