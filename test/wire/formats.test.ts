/** The bodies of webhooks whose format is not `records` (contract §12.1), against known answers and for any event. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { FormattedRecord } from '../../src/domain/event.ts';
import type { EventFormat } from '../../src/domain/webhook-format.ts';
import { encodeEvents, encodePlacedEvents } from '../../src/wire/event-format.ts';
import { eventsOf, formatOfVector, formatVectors } from '../support/format-vectors.ts';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

describe('the bodies of formats', () => {
  for (const vector of formatVectors.bodies) {
    it(`are the known one for ${vector.name}`, () => {
      const { body, headers } = encodeEvents(formatOfVector(vector), eventsOf(vector));
      assert.deepEqual([text(body), headers], [vector.body, vector.headers]);
    });
  }
});

const anyText = fc.string({ unit: 'grapheme' });
const event: fc.Arbitrary<FormattedRecord> = fc.record({
  offset: fc.nat(),
  createdAt: fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }).map(Number),
  correlationId: anyText,
  messageId: anyText,
  eventType: fc.stringMatching(/^[a-z][a-z0-9_-]{0,9}\.[a-z][a-z0-9_-]{0,9}$/),
  actorId: fc.option(anyText),
  subject: fc.option(anyText),
  dataJson: fc.dictionary(anyText, fc.jsonValue()).map((data) => JSON.stringify(data)),
});
const format = fc.record({
  format: fc.constantFrom('standard', 'cloudevents', 'cloudevents-binary'),
  batch: fc.constant(false),
  thin: fc.boolean(),
  test: fc.boolean(),
  source: anyText.filter((source) => source !== ''),
  sources: fc.constant(new Map<string, string>()),
  url: fc.tuple(anyText, anyText),
}) as fc.Arbitrary<EventFormat>;

/** The attributes of an event by its own JSON or headers, as any reader of JSON and percent-encoding finds them. */
function read(format: EventFormat, body: string, headers: Readonly<Record<string, string>>): Record<string, unknown> {
  if (format.format !== 'cloudevents-binary') return JSON.parse(body);
  const attributes = Object.entries(headers).filter(([name]) => name.startsWith('ce-'));
  const read = Object.fromEntries(attributes.map(([name, value]) => [name.slice(3), decodeURIComponent(value)]));
  return { ...read, ...(body !== '' && { data: JSON.parse(body) }) };
}

describe('any event', () => {
  it('is read back from its body, in every format', () => {
    fc.assert(
      fc.property(event, format, (record, format) => {
        const { body, headers } = encodeEvents(format, [record]);
        for (const value of Object.values(headers)) assert.match(value, /^[\x20-\x7e]*$/);
        const found = read(format, text(body), headers);
        const { type, data, url, time, timestamp, subject, id, source, correlationid } = found;
        assert.equal(type, record.eventType);
        assert.equal(time ?? timestamp, new Date(record.createdAt).toISOString());
        assert.deepEqual(data, format.thin ? undefined : JSON.parse(record.dataJson));
        assert.equal(url, format.thin ? format.url.join(record.messageId) : undefined);
        assert.equal(String(found.test), String(format.test === true ? true : undefined));
        if (format.format === 'standard') return;
        assert.deepEqual([id, source, correlationid], [record.messageId, format.source, record.correlationId]);
        assert.equal(subject, record.subject || undefined);
      }),
    );
  });

  it('has the digits of its data as they were published', () => {
    const dataJson = '{"n":1.50,"big":123456789012345678901234567890}';
    const [vector] = formatVectors.bodies;
    assert.ok(vector !== undefined);
    const [record] = eventsOf(vector);
    for (const one of ['standard', 'cloudevents', 'cloudevents-binary'] as const) {
      const { body } = encodeEvents({ ...formatOfVector(vector), format: one }, [{ ...record, dataJson }]);
      assert.ok(text(body).includes(dataJson), one);
    }
  });
});

describe('reads of records', () => {
  it('have the events in the format of the webhook, each with its offset', () => {
    for (const vector of formatVectors.bodies.filter(({ test }) => test === undefined)) {
      const records = eventsOf(vector);
      const format = formatOfVector(vector);
      const body = JSON.parse(text(encodePlacedEvents({ subscriptionId: 'w', throughOffset: 9 }, format, records)));
      assert.deepEqual([body.subscriptionId, body.throughOffset], ['w', 9]);
      const places = body.records.map(({ offset, id }: { offset: number; id: string }) => [offset, id]);
      assert.deepEqual(
        places,
        records.map(({ offset, messageId }) => [offset, messageId]),
      );
      const { body: alone, headers } = encodeEvents({ ...format, batch: false }, [records[0]]);
      const { offset: _, id: ofRecord, datacontenttype, ...others } = body.records[0];
      const { id = ofRecord, datacontenttype: ofBody, ...wanted } = read(format, text(alone), headers);
      assert.deepEqual([ofRecord, others], [id, wanted]);
      assert.ok(datacontenttype === ofBody || headers['content-type'] === datacontenttype);
    }
  });
});
