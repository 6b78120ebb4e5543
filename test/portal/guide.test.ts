/** The guide: the hand-out with the values of an endpoint, and the files that it offers. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Webhook } from '../../src/domain/webhook.ts';
import { readAsset } from '../../src/kernel/assets.ts';
import { secret } from '../../src/kernel/secret.ts';
import { troubleNotice } from '../../src/portal/endpoints/guide-pages.ts';
import { whatArrives } from '../../src/portal/endpoints/guide-requests.ts';
import {
  ADDRESS_ASKED,
  CHALLENGE_FIRST,
  CHALLENGE_SECTION,
  EXAMPLE_ADDRESS,
  guideText,
  LEFT_OUT,
  REWORDED,
  SPLIT,
} from '../../src/portal/endpoints/guide-text.ts';
import { receiverCode } from '../../src/portal/endpoints/receiver-code.ts';
import { programPanels } from '../../src/portal/parts/details.ts';
import { succeeded } from '../support/client.ts';
import { makeCustomer, sessionOf } from '../support/customers.ts';
import { startHistory } from '../support/portal-history.ts';
import { request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

const HAND_OUT = readFileSync(new URL('../../docs/hand-out.md', import.meta.url), 'utf8');

const VALUES = { address: 'https://edge.example', hasSources: false, verification: 'required', webhooks: [] } as const;

describe('the guide', () => {
  it('leaves out and rewords parts that the hand-out has, and has the address of the API', () => {
    for (const [from, to] of LEFT_OUT) assert.ok(HAND_OUT.indexOf(from) < HAND_OUT.indexOf(to), from);
    for (const [said] of [...REWORDED, [ADDRESS_ASKED], [SPLIT], [CHALLENGE_FIRST], [CHALLENGE_SECTION]])
      assert.match(HAND_OUT, said);
    assert.ok(HAND_OUT.includes(EXAMPLE_ADDRESS));
    const text = guideText(HAND_OUT, VALUES);
    assert.ok(text.includes('https://edge.example/services/api/oauth2/token'));
    assert.match(text, /^## What your receiver needs\n\n- Your URL must/);
    for (const [, instead] of REWORDED) assert.ok(text.includes(instead), instead);
    assert.match(text, /ask us for it/);
    assert.doesNotMatch(guideText(HAND_OUT, { ...VALUES, hasSources: true }), /ask us/);
    for (const gone of [EXAMPLE_ADDRESS, 'Operators:', 'sallyport listen', 'Tell us', '```python'])
      assert.ok(!text.includes(gone), gone);
  });

  it('folds the signature step by step, and asks a customer without an endpoint to choose none', async (t) => {
    const service = await startService(t);
    const token = await sessionOf(service, await makeCustomer(service), 'link');
    const { text } = await request(`${service.url}/guide`, { token });
    const [, inside = ''] =
      /<summary>The signature step by step[\s\S]*?<div id="the-signature-step-by-step">([\s\S]*?)<\/details>/.exec(
        text,
      ) ?? [];
    assert.match(inside, /string to sign has three lines/);
    assert.doesNotMatch(inside, /challenge/);
    assert.match(text, /<h2 id="respond-to-the-challenge">/);
    assert.doesNotMatch(text, /<select/);
  });

  it('says how the endpoint is verified', () => {
    const cases = [
      ['required', 'Before the first delivery we send a challenge'],
      ['optional', 'If you press [Verify now](verify), we send a challenge'],
      ['handshake', 'Before the first delivery we send an `OPTIONS` request'],
    ] as const;
    for (const [verification, said] of cases) {
      const text = guideText(HAND_OUT, { ...VALUES, verification });
      for (const [other, sentence] of cases) assert.equal(text.includes(sentence), other === verification, sentence);
      assert.ok(text.includes(said) && text.includes('\n## Respond quickly'));
    }
  });

  it('says what happens after another answer as the webhooks of the endpoint do it', () => {
    const many = { format: 'records', batch: false, maxBatchRecords: 30 } as const;
    const often = { ...many, retryPolicy: 'exponential', maxAttempts: 20, retryDelaysSeconds: null } as const;
    const once = { ...often, maxAttempts: 1 };
    const cases = [
      [[], 'we send the request again, until the retries of the webhook are used up.'],
      [[often, often], 'we send the request again: 20 attempts over about 2.5 days, then dead.'],
      [[often, once], 'we send the request again, until the retries of the webhook are used up.'],
      [[once], 'the events are dead: no webhook of the endpoint retries.'],
    ] as const;
    for (const [webhooks, said] of cases)
      assert.ok(
        guideText(HAND_OUT, { ...VALUES, webhooks }).includes(
          `After **any other response, or none**, ${said.slice(0, -1)}`,
        ),
        said,
      );
    const split = (webhooks: readonly (typeof often | (typeof often & { maxBatchRecords: number }))[]) =>
      guideText(HAND_OUT, { ...VALUES, webhooks }).includes('413');
    assert.deepEqual(
      [split([]), split([often]), split([{ ...often, maxBatchRecords: 1 } as never])],
      [true, true, false],
    );
    assert.match(guideText(HAND_OUT, VALUES), /24 hours, or ten requests in a row use up their attempts, we stop/);
  });

  it('names the webhooks of the endpoint that fail or have failed, each with its error', async () => {
    const webhook = (id: string, state: string, webhookNumber: number) =>
      ({ id, name: id, progress: { state, webhookNumber } }) as unknown as Webhook;
    const failure = { at: 1, errorClass: 'http_status', errorMessage: 'the receiver answered 401' };
    const attempts = { lastOutcomes: async () => new Map([[2, { deliveredAt: null, failure }]]) };
    assert.equal(await troubleNotice({ attempts }, 'c', [webhook('Fine', 'running', 1)]), null);
    const shown = await troubleNotice({ attempts }, 'c', [webhook('Fine', 'running', 1), webhook('Bad', 'failed', 2)]);
    const text = (shown?.markup ?? '').replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
    assert.match(text, /Bad has failed\. Latest error: the receiver answered 401\. The receiver rejects/);
    assert.doesNotMatch(text, /Fine/);
  });

  it('says what arrives from a webhook, in every format', () => {
    const plain = { format: 'records', batch: false, thin: false, standardWebhooks: false, signature: null } as const;
    const said = (webhook: object, endpoint: object = {}): string =>
      whatArrives(
        { ...plain, encryptionKeyName: null, maxBatchRecords: 1, ...webhook },
        { oauthTokenUrl: null, contentEncoding: null, authentication: null, signatureType: 'hmac', ...endpoint },
      ).markup.replaceAll(/\s+/g, ' ');
    const basic = { method: 'basic', name: 'shop', secret: secret('p') };
    const cases: readonly (readonly [webhook: object, endpoint: object, expected: RegExp])[] = [
      [{}, {}, /One event in each request\..*HMAC-SHA256/],
      [{ maxBatchRecords: 30 }, { oauthTokenUrl: 'https://t.example' }, /Up to 30 events.*bearer token/],
      [{}, { authentication: basic }, /Authorization has Basic authentication, with the user name shop/],
      [{ standardWebhooks: true }, {}, /One event.*webhook-signature.*<code>whsec_<\/code> and the secret/],
      [{ format: 'standard' }, { signatureType: 'ed25519' }, /<code>timestamp<\/code>.*the public key/],
      [{ format: 'cloudevents' }, {}, /One CloudEvent as JSON/],
      [{ format: 'cloudevents', batch: true, maxBatchRecords: 100 }, {}, /A list of up to 100 CloudEvents/],
      [{ format: 'cloudevents-binary', thin: true }, {}, /<code>ce-<\/code> headers.*no data: <code>url<\/code>/],
      [{ signature: { header: 'X-Hub-Signature-256' } }, {}, /X-Hub-Signature-256<\/code> has one more signature/],
      [{}, { contentEncoding: 'gzip' }, /content-encoding: gzip/],
      [{ encryptionKeyName: 'k' }, { contentEncoding: 'gzip' }, /your key k.*x-original-encoding: gzip/],
    ];
    for (const [webhook, endpoint, expected] of cases) assert.match(said(webhook, endpoint), expected);
    assert.doesNotMatch(said({}, { authentication: basic }), /HMAC/);
  });

  it('has one name for each variable of the programs, with the package and without', () => {
    const programs = [true, false].flatMap((hasPackage) => receiverCode([], hasPackage).map(({ code }) => code));
    const names = new Set(programs.join('\n').match(/WEBHOOK_(?:SECRET|API_KEY)\w*/g));
    assert.deepEqual([...names].sort(), ['WEBHOOK_API_KEYS', 'WEBHOOK_SECRETS']);
  });

  it('has one port for all programs, which its commands for a tunnel and a proxy have too', () => {
    const languages = ['javascript', 'node', 'python', 'go', 'java', 'csharp', 'php', 'ruby'] as const;
    for (const language of languages) {
      const text = readAsset(`receivers/${language}`);
      assert.match(text, /\b3000\b/, language);
      assert.doesNotMatch(text, /PORT\W.*8443|:8080/, language);
    }
    assert.doesNotMatch(HAND_OUT, /8443|on 8080/);
  });

  it('folds all languages but the first, which the script shows as tabs', () => {
    const { markup } = programPanels('Verify', [
      { label: 'Go', code: 'a' },
      { label: 'PHP', code: 'b' },
    ]);
    assert.deepEqual(
      Array.from(markup.matchAll(/<details( open)?>/g), ([, open]) => open === ' open'),
      [true, false],
    );
  });

  it('shows a request of each webhook as its format makes it', async (t) => {
    const { service, ids, sessions } = await startHistory(t);
    const { endpoints } = ids.customer;
    const { admin } = service;
    const { customerId } = await service.services.endpoints.get(endpoints ?? '');
    const more = { endpointId: endpoints, customerId, eventTypes: ['webhook.test'] };
    const made = (body: object) => succeeded<{ id: string }>(admin.post('webhooks', { ...more, ...body }));
    const event = await made({ name: 'As CloudEvents', format: 'cloudevents' });
    const open = (path: string) => request(`${service.url}${path}`, { token: sessions.customer });
    const { text } = await open(`/guide?endpoint=${endpoints}&webhook=${event.id}`);
    assert.match(text, /content-type: application\/cloudevents\+json/);
    assert.match(text, /&quot;specversion&quot;: &quot;1\.0&quot;/);
    const links = [...text.matchAll(/href="(\/guide\?[^"#]+)#arrives"/g)].map(([, href = '']) => href);
    assert.ok(links.length > 0);
    for (const link of links) {
      const other = await open(link.replaceAll('&amp;', '&'));
      assert.match(other.text, /POST https:/);
      assert.doesNotMatch(other.text, /cloudevents\+json/);
    }
  });

  it('has the customer’s own endpoint, and none of another owner', async (t) => {
    const { service, ids, sessions } = await startHistory(t);
    const open = (path: string, token: string) => request(`${service.url}${path}`, { token });
    const { endpoints } = ids.customer;
    const { url, apiKey } = (await service.services.endpoints.get(endpoints ?? '')) ?? assert.fail();
    for (const token of [sessions.customer, sessions.link]) {
      const { status, text } = await open('/guide', token);
      assert.equal(status, 200);
      assert.ok(text.includes(url) && text.includes(apiKey.reveal()));
      assert.ok(text.includes('x-api-key: (the API key above)'), 'shown only behind “Show”');
      assert.ok(text.includes(`x-api-key: ${apiKey.reveal()}`), 'in the command');
      assert.doesNotMatch(text, /x-api-key: \[secret\]/);
    }
    const foreign = await open(`/guide?endpoint=${ids.operator.endpoints}`, sessions.customer);
    const other = await service.services.endpoints.get(ids.operator.endpoints ?? '');
    assert.ok(!foreign.text.includes(other.apiKey.reveal()));
    assert.ok(foreign.text.includes('You have no endpoint yet') || foreign.status === 404);
    const ofOperator = await open(`/guide?endpoint=${endpoints}`, sessions.operator);
    assert.ok(ofOperator.text.includes(apiKey.reveal()));
  });

  it('links to the pages that it names: those of the endpoint and its webhook', async (t) => {
    const { service, ids, sessions } = await startHistory(t);
    const { endpoints = '' } = ids.customer;
    const open = async (path: string, token: string) => (await request(`${service.url}${path}`, { token })).text;
    const text = await open(`/guide?endpoint=${endpoints}`, sessions.customer);
    const { verified, tokenChallenge } = await service.services.endpoints.get(endpoints);
    const settings = tokenChallenge && !verified ? '' : '/settings';
    const pages = [
      [`/endpoints/${endpoints}${settings}#challenge`, 'Verify now'],
      [`/endpoints/${endpoints}/settings#credentials`, 'New secret'],
      ['/deliveries/watch', 'Live'],
      ['/deliveries', 'Deliveries'],
      ['/applications/new', 'Register an application'],
    ];
    for (const [href, label] of pages) assert.ok(text.includes(`<a href="${href}">${label}</a>`), label);
    assert.match(text, /<a href="\/webhooks\/[\w-]+#samples">Send a test event<\/a>/);
    assert.match(text, /<h2>From zero to the first event<\/h2>[\s\S]*?<div class="prose">\s*<ol>/, 'with numbers');
    assert.ok(text.indexOf('id="test-it"') < text.indexOf('id="get-and-use-an-access-token"'), 'OAuth is last');
    const ofOperator = await open('/guide', sessions.operator);
    assert.match(ofOperator, new RegExp(`<option value="${endpoints}"[^>]*>[^<]+ · `), 'with the name of the customer');
  });

  it('agrees with the empty list of deliveries that a test event is no delivery', async (t) => {
    const service = await startService(t);
    const customer = await makeCustomer(service);
    const token = await sessionOf(service, customer, 'link');
    const shown = async () => (await request(`${service.url}/deliveries`, { token })).text;
    const none = await shown();
    assert.match(none, /No webhook yet/);
    assert.match(none, /href="\/endpoints\/new"/);
    const pulled = { customerId: customer.id, name: 'Pulled', mode: 'pull', eventTypes: ['webhook.test'] };
    await succeeded(service.admin.post('webhooks', pulled));
    assert.match(await shown(), /is no delivery: its result is shown there and in <a href="\/deliveries\/watch">Live/);
    assert.match(guideText(HAND_OUT, VALUES), /\[Live\]\(live\) shows it, too\. It is no delivery/);
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
    const catalogue = await request(`${service.url}/event-catalogue`);
    assert.match(catalogue.text, /href="\/downloads\/receiver\.py"/);
    assert.equal((await request(`${service.url}/downloads/receiver.py`)).status, 200, 'before someone signs in');
    assert.match((await open('/downloads/receiver.py')).text, /^#!\/usr\/bin\/env python3/);
    for (const name of ['none', 'receiver.sh', '..%2Fpackage.json'])
      assert.notEqual((await open(`/downloads/${name}`)).status, 200, name);
  });
});
