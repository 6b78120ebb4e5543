import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { RULES_PER_PRODUCT_MAX, SCOPES_PER_PRODUCT_MAX } from '../../../src/domain/limits.ts';
import { parseRepeatedForm } from '../../../src/http/body.ts';
import { isDeeperThan, JSON_DEPTH_MAX, mergePatch } from '../../../src/kernel/validation.ts';
import { endpointFields, usedSettings } from '../../../src/portal/endpoints/endpoint-form.ts';
import { eventTypeFields } from '../../../src/portal/event-types/event-type-form.ts';
import { PRODUCT_FIELDS } from '../../../src/portal/products/product-pages.ts';
import { readForm, readPatch } from '../../../src/portal/record/field-table.ts';
import { objectPatches, patchBetween } from '../../../src/portal/record/json-field.ts';
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
  const address = { name: 'Shop', url: 'https://shop.example/in', contentEncoding: null, tokenChallenge: true };
  const none = { oauth: null, clientCertificate: null };

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
  ];
  for (const [what, fields, body] of creations) {
    it(what, () => assert.deepEqual(usedSettings(readForm(TABLE, sent(fields)), true), body));
  }

  const changes: readonly (readonly [what: string, fields: Fields, patch: object])[] = [
    ['takes away what is not ticked', { ...ADDRESS, 'oauth.clientId': 'me' }, { ...address, ...none }],
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
        oauth: { clientId: 'me', tokenUrl: 'https://login.example/', scopes: 'a b', tokenExpirationMinutes: null },
        clientCertificate: { certificate: 'a' },
      },
    ],
    ['replaces no API key and no secret', { ...ADDRESS, apiKey: 'x', secret: 'y' }, { ...address, ...none }],
  ];
  for (const [what, fields, patch] of changes) {
    it(`that changes one ${what}`, () =>
      assert.deepEqual(usedSettings(readPatch(CHANGED, sent(fields)), false), patch));
  }
});

describe('the form of a webhook', () => {
  const FIELDS = { name: ' Orders ', endpointId: 'e', eventTypes: ['order.created', 'order.*'] };
  const TABLE = webhookFields(null, { endpoints: [], eventTypes: [], keys: [], now: 0 });
  const common = { name: 'Orders', endpointId: 'e', customHeaders: [] };
  const plain = { ...common, eventTypes: ['order.created', 'order.*'], ordered: false, standardWebhooks: false };

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
    assert.deepEqual(readPatch(changed, sent(FIELDS)), {
      ...plain,
      encryptionKeyName: null,
      ...emptied,
      retry: { policy: null, maxAttempts: null },
    });
  });

  it('has the typed values: numbers as numbers, other texts unchanged', () => {
    const typed = {
      ...FIELDS,
      morePatterns: ' stock.*, order.* *',
      encryptionKeyName: 'hr',
      'customHeaders.name': ['x-a', '', 'x-b', ''],
      'customHeaders.value': ['1', '', '', ''],
      ordered: 'on',
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
    const shown = { deprecated: false, public: true };
    assert.deepEqual(readForm(FIELDS, typed), { name: 'a.b', description: 'x', encryptionRequired: true, ...shown });
    assert.deepEqual(patchOf(sent({ description: ' ' }), null), {
      description: null,
      encryptionRequired: false,
      dataSchema: null,
      sample: null,
      group: null,
      ...shown,
    });
  });

  it('leaves an internal type out of the public catalogue, and changes a sample member by member', () => {
    const typed = sent({
      name: 'a.b',
      public: 'on',
      deprecated: 'on',
      group: ' Orders ',
      sample: '{"n":1,"more":{"a":2}}',
    });
    const entered = readForm(FIELDS, typed);
    assert.equal(entered.public, false);
    assert.equal(entered.deprecated, true);
    assert.equal(entered.group, 'Orders');
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
