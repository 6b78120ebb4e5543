import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Endpoint, Verification } from '../../../src/domain/endpoint.ts';
import type { EventType } from '../../../src/domain/event.ts';
import type { PastState, WebhookState } from '../../../src/domain/webhook.ts';
import { html } from '../../../src/http/html.ts';
import { challengeAdvice, withoutCode } from '../../../src/portal/endpoints/challenge-section.ts';
import {
  activityFigures,
  allFailSince,
  type EndpointActivity,
  failureNotice,
  withOutages,
} from '../../../src/portal/endpoints/endpoint-activity.ts';
import { endpointSentence, endpointWarnings, troubleHints } from '../../../src/portal/endpoints/endpoint-detail.ts';
import {
  arrivingTypes,
  firstExample,
  markedPart,
  programsFor,
  receiverCode,
} from '../../../src/portal/endpoints/receiver-code.ts';
import { sampleSection } from '../../../src/portal/event-types/type-sections.ts';
import { type Cause, mergedCauses } from '../../../src/portal/record/causes.ts';
import type { EndpointWebhook } from '../../../src/store/port/directory.ts';
import { authenticVectors, requestOf, secretsOf } from '../../support/hand-out.ts';
import { makeEndpoint, openTestServices } from '../../support/services.ts';
import { requestVectors } from '../../support/vectors.ts';

describe('the advice for a challenge', () => {
  const cases: readonly (readonly [error: string, advice: RegExp])[] = [
    ['missing_answer: the response has no x-challenge-sha256 header', /in the response header x-challenge-sha256/],
    ['malformed_answer: it has 64', /44 Base64 characters/],
    ['wrong_answer: it is another', /Compare the secret on both sides/],
    ['the endpoint answered 401 instead of 200', /Compare the secret and the API key/],
    ['the endpoint answered 403 instead of 200', /Compare the secret and the API key/],
    ['the endpoint answered 404 instead of 200', /Check the path/],
    ['the endpoint answered 302 instead of 200', /Redirects are not followed/],
    ['the endpoint answered 204 instead of 200', /must have the status 200/],
    ['the endpoint answered 503 instead of 200', /Check that the receiver is up/],
    ['timeout: no complete answer within 10000 ms', /has 10 seconds to answer a challenge/],
    ['tls_expired: the certificate has expired', /Renew the receiver's certificate/],
    ['egress_refused: 127.0.0.1 is loopback', /SALLYPORT_EGRESS_ALLOW/],
  ];
  for (const [error, advice] of cases) {
    it(`that failed with “${error}” fits it`, () => assert.match(challengeAdvice(error, null), advice));
  }

  it('names the service to customers by its header', () => {
    assert.match(challengeAdvice('wrong_origin: it is another', 'acme'), /allow the one in webhook-request-origin/);
    for (const code of ['missing_origin', 'wrong_origin', 'no_rate', 'malformed_rate', 'missing_answer', 'timeout'])
      assert.doesNotMatch(challengeAdvice(`${code}: it failed`, 'acme'), /sallyport/i);
  });

  it('is shown beside the error without its code', () => {
    assert.equal(withoutCode('wrong_answer: it is another'), 'it is another');
    assert.equal(withoutCode('the endpoint answered 404 instead of 200'), 'the endpoint answered 404 instead of 200');
  });
});

const NOW = Date.parse('2026-11-26T22:00:00Z');
const UNVERIFIED: Verification = {
  at: 0,
  verified: false,
  error: 'connect: ECONNREFUSED',
  responseStatus: null,
  responseBody: null,
};

describe('the state of an endpoint', () => {
  it('is said in a sentence for each combination of its switches', async (t) => {
    const made = await makeEndpoint(await openTestServices(t));
    const sentence = (more: Partial<Endpoint>, ...states: readonly WebhookState[]): string => {
      const webhooks = states.map((state) => ({
        state,
        stateReason: state === 'stopped' ? null : 'connect',
        failingSinceAt: state === 'failing' ? NOW - 540 * 60_000 : null,
      }));
      const said = endpointSentence({ ...made, ...more }, { webhooks, deliveredAt: NOW - 600 * 60_000 }, NOW);
      return typeof said === 'string' ? said : said.markup.replaceAll(/<[^>]*>/g, '');
    };
    assert.equal(sentence({ enabled: true }, 'failed', 'running'), '');
    assert.match(sentence({ enabled: true }, 'running', 'failing'), /^The deliveries of 1 webhook fail/);
    assert.match(
      sentence({ enabled: true }, 'failed', 'failing'),
      /^Deliveries have failed since .+ UTC. The last success was 10 hours ago [^.]*\.$/,
    );
    assert.match(sentence({ enabled: true }), /No webhook sends here yet/);
    assert.match(sentence({ enabled: true }, 'failed'), /^Nothing is sent here: its webhook has failed/);
    assert.match(sentence({ enabled: true }, 'stopped'), /^Nothing is sent here: its webhook was never started/);
    assert.match(sentence({ enabled: true }, 'failed', 'stopped'), /^Nothing is sent here: its webhooks are stopped/);
    const unproved = { enabled: false, tokenChallenge: true, verified: false };
    assert.match(sentence({ ...unproved, enableWhenVerified: true }), /Verification also enables the endpoint/);
    assert.match(sentence({ ...unproved, enableWhenVerified: false }), /disabled, and ownership is not verified/);
    assert.match(sentence({ ...unproved, verified: true }), /an administrator disabled the endpoint/);
  });

  it('has warnings only for problems', async (t) => {
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
      pendingRecords: 0,
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
    const { markup } = html`${troubleHints(
      made,
      (['failing', 'failed', 'failing'] as const).map((state) => ({ ...webhook, state })),
    )}`;
    assert.match(markup, />1 of 3 webhooks failed<.*>2 of 3 webhooks failing</s);
    const waiting = [{ state: 'stopped', pendingRecords: 237 }] as const;
    assert.match(html`${troubleHints(made, waiting)}`.markup, />webhooks? stopped, 237 pending</);
    assert.deepEqual(troubleHints({ enabled: false }, waiting), [], 'it cannot start');
    const challenged = (afterMs: number, changedMs = 0): Partial<Endpoint> => ({
      updatedAt: made.createdAt + changedMs,
      lastVerification: { ...UNVERIFIED, at: made.createdAt + afterMs },
    });
    assert.deepEqual(about(challenged(5)), [], 'the receiver cannot know the secret at the creation');
    assert.deepEqual(about(challenged(5, 100)), [], 'a change later');
    assert.deepEqual(about(challenged(300, 290)), [['challenge', 'caution']], '“Verify now”, pressed at once');
    assert.deepEqual(about({ ...challenged(5), verification: 'cloudevents' }), [['challenge', 'caution']]);
    assert.deepEqual(about(challenged(5000)), [['challenge', 'caution']]);
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

describe('the outage of an endpoint', () => {
  const webhook = {
    endpointId: 'e',
    webhookNumber: 1,
    name: 'Orders',
    stateReason: null,
    failingSinceAt: NOW - 1000,
    pendingRecords: 0,
  };
  const day = { attempts: 0, failedAttempts: 0, hours: [] };
  const activityOf = (...states: readonly WebhookState[]): EndpointActivity => ({
    webhooks: states.map((state, at) => ({ ...webhook, id: `w${at}`, state })),
    day,
    dayOf: () => day,
    deliveredAt: null,
    failure: null,
    isUndelivered: false,
  });
  const ERP = { id: 'e', name: 'ERP' };
  const began = NOW - 9 * 3_600_000;
  const history: PastState[] = [
    { state: 'failing', previousState: 'running', reason: null, at: began },
    { state: 'running', previousState: 'started', reason: null, at: began - 1 },
  ];
  const stateHistory = { ofWebhook: async () => history };

  it('began when the page of its webhook says, although the counter of failing time moved', async () => {
    const { webhooks } = await withOutages({ stateHistory }, activityOf('failing', 'stopped'));
    assert.deepEqual(
      webhooks.map(({ failingSinceAt }) => failingSinceAt),
      [began, NOW - 1000],
    );
    assert.equal(allFailSince(webhooks), began);
  });

  it('has the most frequent cause over all of its webhooks, or the latest error if that is the only one', () => {
    const failure = { at: NOW, errorClass: 'http_status', errorMessage: 'the receiver answered 503' };
    const failing = { ...activityOf('failing', 'failing'), failure };
    const cause = { cause: '503', retrying: 1, dead: 0, firstAt: NOW - 5, lastAt: NOW };
    const told = (...causes: readonly Cause[]): string =>
      (failureNotice(ERP, failing, causes, null)?.markup ?? '').replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
    assert.match(told(), /^ ?Latest error: the receiver answered 503\. Check that the receiver is up/);
    assert.match(told(cause), /Latest error: the receiver answered 503\./);
    const several = mergedCauses([
      cause,
      { ...cause, cause: 'timeout', retrying: 2 },
      { ...cause, cause: 'timeout', dead: 4 },
    ]);
    const said = told(...several);
    assert.match(
      said,
      /Most often no answer in time \(3 of 4 tried deliveries\), also 503 Service Unavailable\. Have the rec/,
    );
    assert.doesNotMatch(said, /Dead deliveries/);
    assert.match(
      told(cause, { ...cause, cause: '404', dead: 1 }, { ...cause, dead: 2, cause: '422' }),
      /Dead deliveries\. Most often 422/,
    );
    const recovered = { ...failing, deliveredAt: NOW + 1 };
    assert.equal(failureNotice(ERP, recovered, [cause], null), null);
    const refused = failureNotice(ERP, activityOf('failed'), [{ ...cause, cause: '401' }], null);
    assert.equal(refused, null, 'no attempt is known');
    const rejected = { at: NOW, errorClass: 'http_status', errorMessage: 'the receiver answered 401' };
    const { markup = '' } = failureNotice(ERP, { ...activityOf('failed'), failure: rejected }, [], null) ?? {};
    assert.match(markup, /notice-negative.*href="\/endpoints\/e\/settings#credentials">Credentials of ERP<\/a> · <a/s);
  });

  it('is none while one of its webhooks only was started after a failure, or is shown as running', () => {
    assert.equal(allFailSince(activityOf('failing', 'started').webhooks), null);
    assert.equal(allFailSince(activityOf('running').webhooks), null);
    assert.equal(allFailSince(activityOf('stopped').webhooks), null);
  });

  it('counts dead deliveries, and says of which webhooks if it found none in some of them', () => {
    const told = (records: number, isWhole: boolean): string =>
      /Dead<.*?<\/dd>/s
        .exec(
          activityFigures(activityOf('running'), { records, isWhole, webhookId: 'w0', keptDays: 90 }, NOW)?.markup ??
            '',
        )?.[0]
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ') ?? '';
    assert.match(told(0, true), /^Dead 0 No delivery is dead/);
    assert.match(told(0, false), /^Dead 0 of 20 of its webhooks/);
    assert.match(told(3, true), /^Dead 3 kept for 90 days/);
    assert.match(told(3, false), /^Dead 3\+ kept for 90 days/);
  });

  it('lead to the pending and the dead deliveries of the only webhook that has some', () => {
    const links = (activity: EndpointActivity, webhookId: string | null): string[] => {
      const { markup = '' } =
        activityFigures(activity, { records: 1, isWhole: true, webhookId, keptDays: 0 }, NOW) ?? {};
      return [...markup.matchAll(/<dt><a href="([^"]*)">/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
    };
    const one = activityOf('failed');
    assert.deepEqual(links(one, 'w0'), ['/deliveries?webhook=w0&state=pending', '/deliveries?webhook=w0&state=dead']);
    const { webhooks } = activityOf('failed', 'running');
    assert.deepEqual(links({ ...one, webhooks }, null), ['#webhooks']);
    const waiting = webhooks.map((known, at) => ({ ...known, pendingRecords: at }));
    assert.deepEqual(links({ ...one, webhooks: waiting }, null), ['/deliveries?webhook=w1&state=pending']);
  });
});

describe('the programs of an event type', () => {
  const type = { name: 'order.shipped', description: 'It left.', deprecated: false, dataSchema: null } as EventType;

  it('say that they listen and what they refuse, read the port, and have the types of the page', () => {
    const [typed, plain, python] = programsFor(type, true);
    for (const program of [typed, plain]) {
      for (const part of ['onRefusal', 'process.env.PORT', 'listening on port', "eventType === 'order.shipped'"])
        assert.ok(program?.code.includes(part), part);
    }
    assert.match(
      typed?.code ?? '',
      /export type OrderShipped[\s\S]*export type Events = \{\n {2}"order\.shipped": OrderShipped;/,
    );
    assert.doesNotMatch(plain?.code ?? '', /Events|\bas\b|import type/);
    assert.match(python?.code ?? '', /import receiver[\s\S]*event_type == "order\.shipped"[\s\S]*receiver\.main\(\)$/);
    assert.deepEqual(
      programsFor(type, false).map(({ label }) => label),
      ['Python'],
    );
  });

  it('have as their source of CloudEvents the one that arrives', () => {
    const shown = (source: string | null, address: string | null): string =>
      sampleSection({ ...type, sample: { id: 1 }, source, encryptionRequired: false }, address).markup;
    assert.ok(shown(null, 'https://hooks.shop.example').includes('https://hooks.shop.example'));
    assert.ok(shown('urn:shop', 'https://hooks.shop.example').includes('urn:shop'));
  });
});

describe('the code for receivers', () => {
  it('is the one that the documented programs use', () => {
    const examples = receiverCode([], true);
    assert.deepEqual(
      examples.map(({ label }) => label),
      ['TypeScript', 'JavaScript', 'Node, no package', 'Python', 'Go', 'Java', 'C#', 'PHP', 'Ruby'],
    );
    for (const { label, code } of examples) {
      assert.match(code, label.endsWith('Script') ? /createReceiver/ : /SignedHeaders/, label);
      assert.doesNotMatch(code, /verify:(begin|end)/, label);
      assert.match(code, /^\S/, label);
    }
  });

  it('has nothing that needs the package where it is not', () => {
    const examples = receiverCode([], false);
    assert.deepEqual(
      examples.slice(0, 3).map(({ label }) => label),
      ['TypeScript', 'JavaScript', 'Python'],
    );
    for (const { code, label } of examples) assert.doesNotMatch(code, /sallyport-receiver|createReceiver/, label);
  });

  it('has types without the package, and they are right', async (t) => {
    const types = [{ name: 'order.shipped', sample: { orderId: 'ord_1' } }];
    const code = receiverCode(types, false)[0]?.code ?? '';
    const { isAuthentic, eventsOf } = await import(
      `data:text/javascript,${encodeURIComponent(stripTypeScriptTypes(code))}`
    );
    const value = { headers: { messageId: 'm', eventType: 'order.shipped' }, orderShipped: { orderId: 'ord_1' } };
    assert.deepEqual(eventsOf(Buffer.from(JSON.stringify({ records: [{ value }] }))), [
      { type: 'order.shipped', messageId: 'm', data: { orderId: 'ord_1' } },
    ]);
    const [vector] = authenticVectors;
    assert(vector !== undefined);
    assert.ok(isAuthentic(requestOf(vector), secretsOf(vector), Date.parse(requestVectors.now)));
    assert.ok(!isAuthentic(requestOf(vector), ['another'], Date.parse(requestVectors.now)));

    const use = `
for (const event of eventsOf(new Uint8Array())) if (event.type === 'order.shipped') event.data.orderId.trim();`;
    const folder = mkdtempSync(join(tmpdir(), 'receiver-'));
    t.after(() => rmSync(folder, { recursive: true }));
    for (const types of [code + use, receiverCode([], false)[0]?.code ?? '']) {
      const file = join(folder, 'receiver.ts');
      writeFileSync(file, types);
      const flags = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'es2023', '--module', 'nodenext'];
      const [bin, roots] = ['node_modules/typescript/bin/tsc', 'node_modules/@types'];
      const { status, stdout } = spawnSync(
        process.execPath,
        [bin, ...flags, '--types', 'node', '--typeRoots', roots, file],
        { encoding: 'utf8' },
      );
      assert.equal(status, 0, stdout);
    }
  });

  it('has the event types that arrive', () => {
    const sample = { orderId: 'ord_1', total: 2, lines: [{ 'a-b': true }], note: null, none: [] };
    const code = (types: readonly { name: string; sample: typeof sample | null }[]): string =>
      receiverCode(types, true)[0]?.code ?? '';
    const shipped = { name: 'order.shipped', sample };
    const members = '{ orderId: string; total: number; lines: { "a-b": boolean }[]; note: unknown; none: unknown[] }';
    assert.ok(code([shipped]).includes(`type Events = {\n  'order.shipped': ${members};\n};`));
    assert.match(code([{ name: 'order.shipped', sample: null }]), /'order\.shipped': unknown;/);
    assert.doesNotMatch(code([shipped]), /order\.created|data\.orderId/);
    const without = code([]);
    assert.match(without, /createReceiver\(\{/);
    assert.doesNotMatch(without, /Events/);
    assert.match(
      code(Array.from({ length: 6 }, (_, n) => ({ name: `a.b${n}`, sample: null }))),
      /Some of the event types/,
    );
  });

  it('has only public types for a customer', () => {
    const types = ['order.created', 'order.margin'].map((name) => ({ name, public: name !== 'order.margin' }));
    const named = (customerId: string | null): string[] =>
      arrivingTypes([{ customerId, eventTypes: ['order.*'] }], types as EventType[]).map(({ name }) => name);
    assert.deepEqual(named('c'), ['order.created']);
    assert.deepEqual(named(null), ['order.created', 'order.margin']);
  });

  it('has a JavaScript form without types', () => {
    const code = receiverCode([], true).find(({ label }) => label === 'JavaScript')?.code ?? '';
    const { status, stderr } = spawnSync(process.execPath, ['--check', '--input-type=module', '-'], { input: code });
    assert.equal(status, 0, String(stderr));
    assert.match(code, /createReceiver\(\{/);
    assert.match(code, /server\.address\(\)\.port/);
  });

  it('is cut out between its marks and moved to the left', () => {
    assert.equal(markedPart('a\n  // verify:begin\n\n    b {\n      c\n    }\n\n  // verify:end\nd'), 'b {\n  c\n}');
    assert.equal(firstExample('text\n\n```sh\nx\n```\n\n```ts\na\n\nb\n```\n```ts\nc\n```\n'), 'a\n\nb');
    assert.equal(firstExample('no example'), '');
  });
});
