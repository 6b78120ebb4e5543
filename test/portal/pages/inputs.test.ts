import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { EventType } from '../../../src/domain/event.ts';
import { RULES_PER_PRODUCT_MAX, SCOPES_PER_PRODUCT_MAX } from '../../../src/domain/limits.ts';
import type { Webhook } from '../../../src/domain/webhook.ts';
import { parseRepeatedForm } from '../../../src/http/body.ts';
import { isDeeperThan, JSON_DEPTH_MAX, mergePatch } from '../../../src/kernel/validation.ts';
import { endpointFields, usedSettings } from '../../../src/portal/endpoints/endpoint-form.ts';
import { eventTypeFields } from '../../../src/portal/event-types/event-type-fields.ts';
import { newForm } from '../../../src/portal/parts/fields.ts';
import { PRODUCT_FIELDS } from '../../../src/portal/products/product-pages.ts';
import { readCompared, readForm, readPatch, withoutSecrets } from '../../../src/portal/record/field-table.ts';
import { objectPatches, patchBetween } from '../../../src/portal/record/json-field.ts';
import { withFormat } from '../../../src/portal/webhooks/format-fields.ts';
import { chosenSignature, signatureFields } from '../../../src/portal/webhooks/signature-fields.ts';
import { webhookFields } from '../../../src/portal/webhooks/webhook-form.ts';
import { refused } from '../../support/refusals.ts';

type Fields = Readonly<Record<string, string | readonly string[]>>;

function sent(fields: Fields): URLSearchParams {
  return new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' ? [[name, value]] : value.map((one) => [name, one]),
    ),
  );
}

describe('the form of an endpoint', () => {
  const TABLE = endpointFields(null, []);
  const { secret, apiKey, ...CHANGED } = TABLE;
  const ADDRESS = { name: 'Shop', url: ' https://shop.example/in ', tokenChallenge: 'true' };
  const verified = { tokenChallenge: true, verification: null };
  const address = { name: 'Shop', url: 'https://shop.example/in', contentEncoding: null, ...verified };
  const none = { oauth: null, clientCertificate: null, authentication: null, requestHeaders: [], sendApiKey: true };

  const creations: readonly (readonly [what: string, fields: Fields, body: object])[] = [
    ['with the address alone leaves the rest to be made', ADDRESS, { ...address, ...none }],
    [
      'takes empty fields for none',
      { ...ADDRESS, secret: '', apiKey: ' ', 'oauth.clientId': '', 'clientCertificate.certificate': '\r\n' },
      { ...address, ...none },
    ],
    [
      'has what was agreed on: a secret to the letter, an API key without spaces around it',
      { ...ADDRESS, contentEncoding: 'on', secret: ' a b ', apiKey: ' 00 ', tokenChallenge: 'false' },
      { ...address, ...none, contentEncoding: 'gzip', tokenChallenge: false, secret: ' a b ', apiKey: '00' },
    ],
    [
      'has the handshake of CloudEvents in place of the challenge',
      { ...ADDRESS, tokenChallenge: 'cloudevents' },
      { ...address, ...none, tokenChallenge: false, verification: 'cloudevents' },
    ],
    [
      'has OAuth settings where a field of them is filled in, ticked or not',
      { ...ADDRESS, 'oauth.clientId': 'me', 'oauth.tokenExpirationMinutes': '60' },
      {
        ...address,
        ...none,
        oauth: { clientId: 'me', tokenUrl: '', tokenExpirationMinutes: 60 },
      },
    ],
    [
      'has OAuth settings where they are ticked, to be refused for what they lack',
      { ...ADDRESS, 'oauth.use': 'on', 'oauth.tokenExpirationMinutes': 'soon' },
      { ...address, ...none, oauth: { clientId: '', tokenUrl: '', tokenExpirationMinutes: 'soon' } },
    ],
    [
      'has a client certificate with the line ends of a file',
      { ...ADDRESS, 'clientCertificate.certificate': 'a\r\nb\r\n', 'clientCertificate.privateKey': 'c\n' },
      { ...address, ...none, clientCertificate: { certificate: 'a\nb\n', privateKey: 'c\n' } },
    ],
    [
      'has the members of the chosen authentication only, and headers of which some are secret',
      {
        ...ADDRESS,
        sendApiKey: 'on',
        'authentication.method': 'basic',
        'authentication.userName': 'shop',
        'authentication.password': ' p w ',
        'authentication.token': 'left over',
        'requestHeaders.name': ['X-A', 'X-B', ''],
        'requestHeaders.value': ['1', '2', ''],
        'requestHeaders.secret': ['', 'secret', ''],
      },
      {
        ...address,
        ...none,
        sendApiKey: false,
        authentication: { method: 'basic', userName: 'shop', password: ' p w ' },
        requestHeaders: [
          { name: 'X-A', value: '1', secret: false },
          { name: 'X-B', value: '2', secret: true },
        ],
      },
    ],
  ];
  for (const [what, fields, body] of creations) {
    it(what, () => assert.deepEqual(usedSettings(readForm(TABLE, sent(fields)), true), body));
  }

  const unset = { ...none, signatureType: null };
  const changes: readonly (readonly [what: string, fields: Fields, patch: object])[] = [
    ['takes away what is not ticked', { ...ADDRESS, 'oauth.clientId': 'me' }, { ...address, ...unset }],
    [
      'keeps secrets that were left empty',
      {
        ...ADDRESS,
        'oauth.use': 'on',
        'oauth.clientId': 'me',
        'oauth.tokenUrl': 'https://login.example/',
        'oauth.clientSecret': '',
        'oauth.scopes': ' a b ',
        'clientCertificate.use': 'on',
        'clientCertificate.certificate': 'a',
        'clientCertificate.privateKey': '',
      },
      {
        ...address,
        ...unset,
        oauth: { clientId: 'me', tokenUrl: 'https://login.example/', scopes: 'a b', tokenExpirationMinutes: null },
        clientCertificate: { certificate: 'a' },
      },
    ],
    [
      'keeps the secret of an authentication and of a header that were left empty',
      {
        ...ADDRESS,
        'authentication.method': 'header',
        'authentication.name': 'X-Token',
        'authentication.value': '',
        'requestHeaders.name': 'X-B',
        'requestHeaders.value': '',
        'requestHeaders.secret': 'secret',
      },
      {
        ...address,
        ...unset,
        authentication: { method: 'header', name: 'X-Token' },
        requestHeaders: [{ name: 'X-B', value: null, secret: true }],
      },
    ],
    ['replaces no API key and no secret', { ...ADDRESS, apiKey: 'x', secret: 'y' }, { ...address, ...unset }],
  ];
  for (const [what, fields, patch] of changes) {
    it(`that changes one ${what}`, () =>
      assert.deepEqual(usedSettings(readPatch(CHANGED, sent(fields)), false), patch));
  }

  it('shows no secret again after a refusal, and no value of a secret header', () => {
    const typed = sent({
      'authentication.token': 'hunter2',
      'requestHeaders.name': ['X-A', 'X-B'],
      'requestHeaders.value': ['blue', 'hunter2'],
      'requestHeaders.secret': ['', 'secret'],
    });
    const shown = withoutSecrets(TABLE, typed);
    assert.deepEqual(shown.getAll('requestHeaders.value'), ['blue', '']);
    assert.ok(!shown.toString().includes('hunter2'));
    assert.ok(!JSON.stringify(readCompared(TABLE, typed).requestHeaders).includes('hunter2'));
  });
});

describe('the form of a webhook', () => {
  const FIELDS = { name: ' Orders ', endpointId: 'e', eventTypes: ['order.created', 'order.*'] };
  const TABLE = webhookFields(null, { endpoints: [], eventTypes: [], keys: [], now: 0 });
  const common = { name: 'Orders', endpointId: 'e', customHeaders: [] };
  const off = { batch: false, thin: false, ordered: false, standardWebhooks: false };
  const plain = { ...common, eventTypes: ['order.created', 'order.*'], ...off };

  it('leaves numbers that are empty to their defaults', () => {
    const empty = { maxBatchRecords: '', maxRecordsPerSecond: ' ', heartbeatSeconds: '', 'retry.maxAttempts': '' };
    assert.deepEqual(readForm(TABLE, sent({ ...FIELDS, ...empty })), plain);
  });

  it('brings them back to their defaults where it changes one', () => {
    const emptied = {
      maxBatchRecords: null,
      maxRecordsPerSecond: null,
      filter: null,
      heartbeatSeconds: null,
      timeoutSeconds: null,
    };
    const { start, mode, ...changed } = TABLE;
    const names = Object.keys(signatureFields()).map((name) => [name.replace('signature.', ''), null]);
    const none = { signature: Object.fromEntries(names) };
    assert.deepEqual(readPatch(changed, sent(FIELDS)), {
      ...plain,
      encryptionKeyName: null,
      format: null,
      ...emptied,
      ...none,
      retry: { policy: null, maxAttempts: null, delaysSeconds: null },
    });
  });

  it('takes a preset without other fields, or a template with all of them', () => {
    const typed = { 'signature.header': 'X-Sig', 'signature.repeat': ' ', 'signature.value': ' v={signature} ' };
    const chosen = (preset: string) =>
      chosenSignature(readForm(TABLE, sent({ ...FIELDS, ...typed, 'signature.preset': preset })).signature);
    assert.equal(chosen(''), null);
    assert.deepEqual(chosen('slack'), { preset: 'slack' });
    assert.deepEqual(chosen('custom'), { preset: null, header: 'X-Sig', value: 'v={signature}', repeat: ' ' });
  });

  it('has the typed values: numbers as numbers, other texts unchanged', () => {
    const typed = {
      ...FIELDS,
      morePatterns: ' stock.*, order.* *',
      encryptionKeyName: 'hr',
      'customHeaders.name': ['x-a', '', 'x-b', ''],
      'customHeaders.value': ['1', '', '', ''],
      ordered: 'all',
      standardWebhooks: 'on',
      maxBatchRecords: '10',
      maxRecordsPerSecond: '0.5',
      heartbeatSeconds: '0',
      timeoutSeconds: 'long',
      'retry.policy': 'linear',
      'retry.maxAttempts': '1e3',
    };
    assert.deepEqual(readForm(TABLE, sent(typed)), {
      ...common,
      eventTypes: ['order.created', 'order.*', 'stock.*', '*'],
      encryptionKeyName: 'hr',
      customHeaders: [
        { name: 'x-a', value: '1' },
        { name: 'x-b', value: '' },
      ],
      ...off,
      ordered: true,
      standardWebhooks: true,
      maxBatchRecords: 10,
      maxRecordsPerSecond: 0.5,
      heartbeatSeconds: 0,
      timeoutSeconds: 'long',
      retry: { policy: 'linear', maxAttempts: '1e3' },
    });
  });
});

describe('what the form of a webhook depends on', () => {
  const before = { format: 'records', batch: false } as Webhook;
  const defaults = { maxBatchRecords: 100, heartbeatSeconds: 300 };

  it('leaves out the defaults of the format before, which the new format replaces', () => {
    for (const record of [null, before]) {
      const standard = { format: 'standard', batch: false };
      assert.deepEqual(withFormat({ ...standard, ...defaults }, record), standard);
      const chosen = { ...standard, maxBatchRecords: 50, heartbeatSeconds: 300 };
      assert.deepEqual(withFormat(chosen, record), { ...standard, maxBatchRecords: 50 });
      const same = { format: 'records', batch: false, ...defaults };
      assert.deepEqual(withFormat(same, record), same);
    }
  });

  it('keeps an endpoint and a key that are not among its choices', () => {
    const had = { mode: 'push', endpointId: 'far', encryptionKeyName: 'old' } as Webhook;
    const table = webhookFields(had, { endpoints: [], eventTypes: [], keys: [], now: 0 });
    for (const [name, value] of [
      ['endpointId', 'far'],
      ['encryptionKeyName', 'old'],
    ] as const) {
      const drawn = table[name]?.draw(newForm({ [name]: value }), name);
      assert.match(drawn?.markup ?? '', new RegExp(`<option value="${value}" selected>`), name);
    }
  });

  it('has the members of retry that the policy has', () => {
    const typed = sent({ 'retry.policy': 'schedule', 'retry.maxAttempts': '20', 'retry.delaysSeconds': '5, 300 soon' });
    const { retry } = readForm(webhookFields(null, { endpoints: [], eventTypes: [], keys: [], now: 0 }), typed);
    const delaysSeconds = [5, 300, 'soon'];
    assert.deepEqual(withFormat({ retry }, null).retry, { policy: 'schedule', delaysSeconds });
    assert.deepEqual(withFormat({ retry }, before).retry, { policy: 'schedule', maxAttempts: null, delaysSeconds });
    const linear = { policy: 'linear', maxAttempts: 20, delaysSeconds };
    assert.deepEqual(withFormat({ retry: linear }, null).retry, { policy: 'linear', maxAttempts: 20 });
    assert.deepEqual(withFormat({ retry: linear }, before).retry, { ...linear, delaysSeconds: null });
  });
});

describe('the form of an API product', () => {
  it('may have as many scopes and rules as there may be', () => {
    const rows = (count: number, names: readonly string[]): [string, string][] =>
      Array.from({ length: count }, () => names.map((name): [string, string] => [name, 'x'])).flat();
    const pairs: [string, string][] = [
      ['name', 'Shop'],
      ...rows(SCOPES_PER_PRODUCT_MAX, ['scopes.name', 'scopes.description']),
      ...rows(RULES_PER_PRODUCT_MAX, ['rules.methods', 'rules.path', 'rules.scope', 'rules.permission']),
    ];
    const { scopes, rules } = readForm(PRODUCT_FIELDS, parseRepeatedForm(new URLSearchParams(pairs).toString()));
    assert.deepEqual(
      [scopes, rules].map((list) => (list as unknown[]).length),
      [SCOPES_PER_PRODUCT_MAX, RULES_PER_PRODUCT_MAX],
    );
  });
});

describe('the form of an event type', () => {
  const FIELDS = eventTypeFields(null);
  const { name, ...CHANGED } = FIELDS;
  const patchOf = (typed: URLSearchParams, dataSchema: Readonly<Record<string, unknown>> | null) => {
    const patch = readPatch(CHANGED, typed);
    return objectPatches(patch, { dataSchema, sample: null }, ['dataSchema', 'sample']);
  };

  it('has no schema where none was typed', () => {
    const typed = sent({ name: ' a.b ', description: ' x ', encryptionRequired: 'on', dataSchema: ' ' });
    const shown = { deprecated: false, public: true, searchPaths: [] };
    assert.deepEqual(readForm(FIELDS, typed), { name: 'a.b', description: 'x', encryptionRequired: true, ...shown });
    assert.deepEqual(patchOf(sent({ description: ' ' }), null), {
      description: null,
      encryptionRequired: false,
      dataSchema: null,
      sample: null,
      group: null,
      source: null,
      ...shown,
    });
  });

  it('leaves an internal type out of the public catalogue, and changes a sample member by member', () => {
    const typed = sent({
      name: 'a.b',
      public: 'on',
      deprecated: 'on',
      group: ' Orders ',
      searchPaths: ' data.orderId\r\ndata.customer.email ',
      sample: '{"n":1,"more":{"a":2}}',
    });
    const entered = readForm(FIELDS, typed);
    assert.equal(entered.public, false);
    assert.equal(entered.deprecated, true);
    assert.equal(entered.group, 'Orders');
    assert.deepEqual(entered.searchPaths, ['data.orderId', 'data.customer.email']);
    const before = { dataSchema: null, sample: { n: 1, more: { b: 3 }, old: [] } };
    assert.deepEqual(objectPatches(entered, before, ['dataSchema', 'sample']).sample, {
      n: 1,
      more: { a: 2, b: null },
      old: null,
    });
  });

  const refusals: readonly (readonly [text: string, says: RegExp])[] = [
    ['{\r\n  "a": nothing\r\n}', /is not JSON: unexpected "n" at line 2, column 8/],
    ['{"a": ', /is not JSON: ./],
    ['[]', /must be a JSON object/],
    ['null', /must be a JSON object/],
    [nested(JSON_DEPTH_MAX), /must not be nested deeper than 99/],
    [nested(100_000), /must not be nested deeper than 99/],
  ];
  for (const [dataSchema, says] of refusals) {
    it(`names the field for ${JSON.stringify(dataSchema.slice(0, 40))} (${dataSchema.length})`, async () => {
      const expected = { code: 'validation_failed', fields: ['dataSchema'], says } as const;
      await refused(() => readForm(FIELDS, sent({ dataSchema })), expected);
    });
  }

  const json = fc.letrec((tie) => ({
    value: fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.array(tie('value'), { maxLength: 2 }), tie('object')),
    object: fc.dictionary(fc.oneof(fc.constantFrom('a', 'b', '__proto__'), fc.string()), tie('value'), { maxKeys: 4 }),
  })).object as fc.Arbitrary<Record<string, unknown>>;

  it('makes a patch that leads from any schema to any other', () => {
    fc.assert(
      fc.property(json, json, (from, to) => {
        assert.deepEqual(plain(mergePatch(from, patchBetween(from, to))), plain(to));
      }),
    );
  });

  it('takes a schema that fits into a body as deep as bodies may be', () => {
    const typed = sent({ dataSchema: nested(JSON_DEPTH_MAX - 1) });
    assert.equal(isDeeperThan(JSON_DEPTH_MAX, readForm(FIELDS, typed)), false);
    const { dataSchema } = patchOf(typed, {});
    assert.equal(JSON.stringify(dataSchema), nested(JSON_DEPTH_MAX - 1));
  });

  it('refuses a null member, which a patch cannot express', async () => {
    const before = { type: 'object' };
    const typed = (schema: object) => sent({ dataSchema: JSON.stringify(schema) });
    await refused(async () => patchOf(typed({ properties: { a: { const: null } } }), before), {
      code: 'validation_failed',
      fields: ['dataSchema'],
    });
    assert.deepEqual(patchOf(typed({ enum: [null] }), before).dataSchema, { enum: [null], type: null });
    const first = { const: null };
    assert.deepEqual(patchOf(typed(first), null).dataSchema, first);
    assert.equal(patchOf(sent({}), before).dataSchema, null);
  });
});

function nested(levels: number): string {
  return `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
}

/** Without prototypes, in which the two differ. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

it('the form of an event type shows a short sample as a whole', () => {
  const sample = { orderId: 'ord_1', total: 129, currency: 'EUR', items: 3, note: null, isGift: false };
  const rowsOf = (before: object | null): string | undefined =>
    /rows="(\d+)"/.exec(
      eventTypeFields(before as EventType | null).sample?.draw(newForm(), 'sample').markup ?? '',
    )?.[1];
  assert.deepEqual(
    [rowsOf(null), rowsOf({ sample }), rowsOf({ sample: { list: Array(99).fill(1) } })],
    ['5', '8', '24'],
  );
});
