import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { EnvelopeRecord } from '../../src/domain/event.ts';
import { eventTypeKey, parseEnvelope } from '../../src/wire/envelope.ts';
import { encodeEnvelope } from '../../src/wire/payload.ts';

const AT = Date.parse('2026-11-21T05:00:00Z');
const RECORD: EnvelopeRecord = {
  offset: 168,
  createdAt: AT,
  correlationId: 'c1',
  messageId: 'm1',
  eventType: 'employee.created',
  actorId: null,
  dataJson: '{"userId":"u1"}',
};

function encode(records: readonly EnvelopeRecord[], now = AT + 12): string {
  const bytes = encodeEnvelope({ subscriptionId: 'w1', sessionId: 's1', attemptNumber: 1, records, now });
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

describe('the key of an event type', () => {
  const keys = {
    'employee.created': 'employeeCreated',
    'webhook.key_expiring': 'webhookKeyExpiring',
    'time-card.line-item_added': 'timeCardLineItemAdded',
    'payroll.2fa': 'payroll2fa',
    'a.b--c': 'aBC',
  };
  for (const [type, key] of Object.entries(keys)) {
    it(`is ${key} for ${type}`, () => assert.equal(eventTypeKey(type), key));
  }
});

describe('writing an envelope', () => {
  it('writes exactly the JSON of the contract', () => {
    assert.equal(
      encode([RECORD, { ...RECORD, offset: 169, actorId: 'a1', eventType: 'webhook.test' }]),
      '{"subscriptionId":"w1","sessionId":"s1","attemptNumber":1,"records":[' +
        '{"offset":168,"timestamp":"2026-11-21T05:00:00.000Z","lag":0.012,"correlationId":"c1",' +
        '"value":{"headers":{"messageId":"m1","eventType":"employee.created","actorId":null,"correlationId":"c1"},' +
        '"employeeCreated":{"userId":"u1"}}},' +
        '{"offset":169,"timestamp":"2026-11-21T05:00:00.000Z","lag":0.012,"correlationId":"c1",' +
        '"value":{"headers":{"messageId":"m1","eventType":"webhook.test","actorId":"a1","correlationId":"c1"},' +
        '"webhookTest":{"userId":"u1"}}}]}',
    );
  });

  it('writes an empty list for a heartbeat', () => {
    assert.equal(encode([]), '{"subscriptionId":"w1","sessionId":"s1","attemptNumber":1,"records":[]}');
  });

  it('inserts the event’s data unchanged, with its numbers and spaces', () => {
    const dataJson = '{ "big": 12345678901234567890, "exact": 1.0, "name": "Zo\\u00eb \u2028" }';
    assert.ok(encode([{ ...RECORD, dataJson }]).includes(`"employeeCreated":${dataJson}}}`));
  });

  it('never writes a negative lag, even if the clock was set back', () => {
    assert.ok(encode([RECORD], AT - 5000).includes('"lag":0,'));
    assert.ok(encode([RECORD], AT + 3_600_001).includes('"lag":3600.001,'));
  });
});

describe('reading an envelope', () => {
  const parse = (text: string) => parseEnvelope(new TextEncoder().encode(text));
  const word = fc.string({ unit: fc.constantFrom(...'abcxyz019'), minLength: 1, maxLength: 8 });
  const eventType = fc.tuple(word, word, fc.constantFrom('', '_', '-'), word).map((parts) => {
    const [category, name, joint, rest] = parts;
    return `${category}.${name}${joint}${joint === '' ? '' : rest}`;
  });
  const record: fc.Arbitrary<EnvelopeRecord> = fc.record({
    offset: fc.maxSafeNat(),
    createdAt: fc.integer({ min: -8.64e15, max: 8.64e15 }),
    correlationId: fc.string({ unit: 'binary' }),
    messageId: fc.string(),
    eventType,
    actorId: fc.option(fc.string()),
    dataJson: fc.jsonValue().map((value) => JSON.stringify(value)),
  });

  it('reads the written rows', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 4 }), fc.integer({ min: 1 }), (records, attemptNumber) => {
        const envelope = { subscriptionId: 'w1', sessionId: 's1', attemptNumber, records };
        const text = new TextDecoder().decode(encodeEnvelope({ ...envelope, now: AT }));
        const received = records.map(({ dataJson, ...rest }) => ({
          ...rest,
          lag: Math.max(0, AT - rest.createdAt) / 1000,
          data: JSON.parse(dataJson),
        }));
        assert.deepEqual(parseEnvelope(new TextEncoder().encode(text)), {
          ok: true,
          envelope: { ...envelope, records: received },
        });
      }),
    );
  });

  it('ignores unknown members', () => {
    assert.ok(parse(encode([RECORD]).replace('{"offset"', '{"new":1,"offset"')).ok);
  });

  const cases: [string, (text: string) => string, string, string][] = [
    ['no JSON', (text) => text.slice(0, -1), 'malformed_json', 'the body is not JSON in UTF-8'],
    ['a list', () => '[]', 'malformed_envelope', 'subscriptionId is not a string'],
    ['null', () => 'null', 'malformed_envelope', 'subscriptionId is not a string'],
    [
      'no subscriptionId',
      (text) => text.replace('"subscriptionId":"w1",', ''),
      'malformed_envelope',
      'subscriptionId is not a string',
    ],
    ['a sessionId of 5', (text) => text.replace('"s1"', '5'), 'malformed_envelope', 'sessionId is not a string'],
    [
      'the attempt 0',
      (text) => text.replace('"attemptNumber":1', '"attemptNumber":0'),
      'malformed_envelope',
      'attemptNumber is not an integer from 1',
    ],
    ['no records', () => encode([]).replace('[]', 'null'), 'malformed_envelope', 'records is not a list'],
    [
      'a record of null',
      () => encode([]).replace('[]', '[null]'),
      'malformed_envelope',
      'records[0].offset is not an integer from 0',
    ],
    [
      'a negative offset',
      (text) => text.replace('168', '-1'),
      'malformed_envelope',
      'records[0].offset is not an integer from 0',
    ],
    [
      'a timestamp without milliseconds',
      (text) => text.replace('.000Z', 'Z'),
      'malformed_envelope',
      'records[0].timestamp is not an ISO 8601 UTC timestamp with milliseconds',
    ],
    [
      'a timestamp that is a number',
      (text) => text.replace('"2026-11-21T05:00:00.000Z"', '1'),
      'malformed_envelope',
      'records[0].timestamp is not an ISO 8601 UTC timestamp with milliseconds',
    ],
    [
      'a timestamp that cannot be made into a text',
      (text) => text.replace('"2026-11-21T05:00:00.000Z"', '{"toString":1,"valueOf":1}'),
      'malformed_envelope',
      'records[0].timestamp is not an ISO 8601 UTC timestamp with milliseconds',
    ],
    [
      'a negative lag',
      (text) => text.replace('0.012', '-0.012'),
      'malformed_envelope',
      'records[0].lag is not a number of seconds',
    ],
    [
      'no correlationId of a record',
      (text) => text.replace('"correlationId":"c1",', ''),
      'malformed_envelope',
      'records[0].correlationId is not a string',
    ],
    [
      'no value',
      (text) => text.replace('"value"', '"valve"'),
      'malformed_envelope',
      'records[0].value.headers.messageId is not a string',
    ],
    [
      'no headers',
      (text) => text.replace('"headers"', '"head"'),
      'malformed_envelope',
      'records[0].value.headers.messageId is not a string',
    ],
    [
      'a messageId of null',
      (text) => text.replace('"m1"', 'null'),
      'malformed_envelope',
      'records[0].value.headers.messageId is not a string',
    ],
    [
      'no eventType',
      (text) => text.replace('"eventType"', '"type"'),
      'malformed_envelope',
      'records[0].value.headers.eventType is not a string',
    ],
    [
      'an actorId of 1',
      (text) => text.replace('"actorId":null', '"actorId":1'),
      'malformed_envelope',
      'records[0].value.headers.actorId is not a string or null',
    ],
    [
      'no data',
      (text) => text.replace('"employeeCreated"', '"employeeUpdated"'),
      'malformed_envelope',
      'records[0].value.employeeCreated, the data of employee.created, is missing',
    ],
  ];
  for (const [what, change, code, description] of cases) {
    it(`refuses ${what}`, () => {
      const text = encode([RECORD]);
      const changed = change(text);
      assert.notEqual(changed, text);
      assert.deepEqual(parse(changed), { ok: false, code, description });
    });
  }

  it('does not read the event’s data from the prototype of an object', () => {
    const text = encode([RECORD]).replace('employee.created', 'to_string');
    const verdict = parse(text);
    assert.ok(!verdict.ok && verdict.description.startsWith('records[0].value.toString, the data of'));
  });

  it('refuses text that is not UTF-8, and ignores a byte order mark', () => {
    const bytes = Buffer.from(encode([RECORD]).replace('c1', 'é'));
    assert.ok(parseEnvelope(Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), bytes])).ok);
    const verdict = parseEnvelope(bytes.subarray(0, bytes.indexOf(0xa9)));
    assert.ok(!verdict.ok && verdict.code === 'malformed_json');
    bytes[bytes.indexOf(0xa9)] = 0x20;
    assert.deepEqual(parseEnvelope(bytes), {
      ok: false,
      code: 'malformed_json',
      description: 'the body is not JSON in UTF-8',
    });
  });

  it('never throws, for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        assert.ok(!parse(text).ok);
      }),
    );
  });

  it('never throws, for any value of a member', () => {
    const own = fc.constantFrom('toString', 'valueOf', 'toJSON', '__proto__', 'constructor', 'length', 'then');
    const treacherous = fc.dictionary(own, fc.constantFrom<unknown>(1, null, 'x', [], {}), { minKeys: 1 });
    const anything = fc.oneof(treacherous, fc.jsonValue(), fc.array(treacherous));
    const members = allMembers(JSON.parse(encode([{ ...RECORD, actorId: 'a1' }])));
    assert.ok(members.length > 14, 'all of them are found');
    fc.assert(
      fc.property(fc.constantFrom(...members), anything, (path, value) => {
        const whole: unknown = JSON.parse(encode([{ ...RECORD, actorId: 'a1' }]));
        assert.equal(typeof parse(JSON.stringify(replaced(whole, path, value))).ok, 'boolean');
      }),
    );
  });
});

/** The paths to all members of a JSON value, at every depth. */
function allMembers(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    [name],
    ...allMembers(member).map((path) => [name, ...path]),
  ]);
}

/** A copy of the value with one member replaced. */
function replaced(value: unknown, [name, ...rest]: readonly string[], by: unknown): unknown {
  if (name === undefined) return by;
  const members = Object.entries(value as object).map(([key, member]) => [
    key,
    key === name ? replaced(member, rest, by) : member,
  ]);
  return Array.isArray(value) ? members.map(([, member]) => member) : Object.fromEntries(members);
}
