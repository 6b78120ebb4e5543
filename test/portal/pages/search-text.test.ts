/** The text of the search line of deliveries, read and written. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ERROR_CLASSES } from '../../../src/domain/outcome.ts';
import { readAsked } from '../../../src/portal/deliveries/delivery-filters.ts';
import { searchSuggestions } from '../../../src/portal/deliveries/search-line.ts';
import {
  DELIVERY_STATES,
  parseSearch,
  SEARCH_FIELDS,
  type SearchTerm,
  searchText,
  valueText,
} from '../../../src/portal/deliveries/search-text.ts';
import { ACTOR, makeEndpoint, makeEventType, makeWebhook, openTestServices } from '../../support/services.ts';
import { NOW } from '../../support/store.ts';

const ID = '01933f2a-0000-7000-8000-000000000000';
const HOUR_MS = 3_600_000;

describe('the search line', () => {
  const cases: readonly [text: string, terms: Readonly<Record<string, string>>, written?: string][] = [
    ['', {}],
    ['   ', {}],
    ['""', {}, ''],
    ['state:dead customer:acct_2 5xx since:1h', { state: 'dead', customer: 'acct_2', response: '5xx', since: '1h' }],
    ['STATE:Dead  Dead2', { state: 'dead', subject: 'Dead2' }, 'state:dead Dead2'],
    ['pending', { state: 'pending' }, 'state:pending'],
    ['webhook:"Shop \\"Berlin\\""', { webhook: 'Shop "Berlin"' }],
    ['webhook:"Shop Berlin', { webhook: 'Shop Berlin' }, 'webhook:"Shop Berlin"'],
    ['type:order.created until:2026-11-21T05:00', { type: 'order.created', until: '2026-11-21T05:00' }],
    ['503', { response: '503' }],
    ['42x', { response: '42x' }],
    ['response:50', { response: '50' }],
    ['Timeout', { response: 'timeout' }, 'timeout'],
    ['response:"tls wrong host"', { response: 'tls_wrong_host' }, 'tls_wrong_host'],
    [` MSG_${ID.toUpperCase()} `, { id: ID }, ID],
    ['7', { subject: '7' }, '"7"'],
    ['7 webhook:Orders', { offset: '#7', webhook: 'Orders' }, '#7 webhook:Orders'],
    ['#7', { offset: '#7' }],
    ['#7-12', { offset: '#7-12' }],
    ['7–#12', { offset: '#7-12' }, '#7-12'],
    ['offset:"7 - 12"', { offset: '#7-12' }, '#7-12'],
    ['7-', { subject: '7-' }],
    ['1234567890123456', { subject: '1234567890123456' }],
    ['10421', { subject: '10421' }, '"10421"'],
    ['anna@example.com', { subject: 'anna@example.com' }],
    ['anna <b>', { subject: 'anna <b>' }, '"anna <b>"'],
    ['"dead"', { subject: 'dead' }],
    ['subject:dead', { subject: 'dead' }, '"dead"'],
    ['key:order-17 state:pending', { key: 'order-17', state: 'pending' }],
    ['key:"order 17"', { key: 'order 17' }],
    ['key:503', { key: '503' }],
    ['subject:urn:person:7', { subject: 'urn:person:7' }, '"urn:person:7"'],
    ['10:30', { subject: '10:30' }],
    ['600', { subject: '600' }, '"600"'],
    ['constructor', { subject: 'constructor' }],
  ];
  for (const [text, terms, written = text] of cases) {
    it(`is read and written: ${text}`, () => {
      const read = parseSearch(text);
      assert.deepEqual(read.problems, []);
      assert.deepEqual(Object.fromEntries(read.terms.map(({ field, value }) => [field, value])), terms);
      assert.equal(searchText(read.terms), written.trim());
    });
  }

  const problems: readonly [text: string, says: RegExp, suggestion: string | null][] = [
    ['stat:dead 5xx', /^There is no filter “stat”\.$/, 'state:dead 5xx'],
    ['5xx custmer:"Acme B"', /no filter “custmer”/, '5xx customer:"Acme B"'],
    ['urn:person:7', /no filter “urn”\. A subject with a colon needs quotes: "urn:person:7"\./, '"urn:person:7"'],
    ['state:ded', /no state “ded”\./, 'state:dead'],
    ['state:gone', /no state “gone”/, null],
    ['response:timout', /no response “timout”/, 'response:timeout'],
    ['response:5xxx', /no response “5xxx”/, null],
    ['response:constructor', /no response/, null],
    ['since:yesterday', /“yesterday” is not a time\. Write 30m, 1h, 7d/, null],
    ['until:2026-13-01', /is not a time/, null],
    ['id:7', /“7” is no id\./, null],
    ['offset:x', /“x” is no offset\./, null],
    ['state:', /“state:” needs a value, such as state:dead\./, null],
    ['state:dead state:pending', /“state” is given twice/, null],
  ];
  it('offers each state in place of an unknown one, in the whole text', () => {
    const [problem] = parseSearch('5xx state:gone since:1h').problems;
    const offered = (problem?.states ?? []).map(({ value, text }) => [value, text]);
    assert.deepEqual(
      offered,
      DELIVERY_STATES.map((value) => [value, `5xx state:${value} since:1h`]),
    );
    assert.equal(parseSearch('response:5xxx').problems[0]?.states, undefined);
  });

  for (const [text, says, suggestion] of problems) {
    it(`tells the problem: ${text}`, () => {
      const { problems: found } = parseSearch(text);
      assert.equal(found.length, 1, JSON.stringify(found));
      assert.match(found[0]?.text ?? '', says);
      assert.equal(found[0]?.suggestion, suggestion);
      if (suggestion !== null) assert.deepEqual(parseSearch(suggestion).problems, []);
    });
  }

  it('knows no other customers in a customer’s portal', () => {
    const asked = (query: Record<string, string>) => readAsked(new URLSearchParams(query), NOW, false);
    assert.match(asked({ q: 'customer:acct_2' }).problems[0]?.text ?? '', /no filter “customer”/);
    const { customer, terms, problems: found } = asked({ customer: 'acct_2' });
    assert.deepEqual([customer, terms, found], [null, [], []]);
  });

  it('reads what it writes, whatever the values are', () => {
    const text = fc
      .oneof(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^[a-z0-9:"\\ #-]{1,12}$/))
      .map((one) => one.trim())
      .filter((one) => one !== '');
    const number = fc.nat(10_000);
    const offset = fc.tuple(number, number).map(([a, b]) => (a === b ? `#${a}` : `#${a}-${b}`));
    const values = {
      state: fc.constantFrom<string>(...DELIVERY_STATES),
      webhook: text,
      customer: text,
      type: text,
      response: fc.constantFrom<string>('5xx', '50', '5', '4x', '503', 'tls', ...ERROR_CLASSES),
      since: fc.constantFrom('1h', '30m', '2026-11-21', '2026-11-21T05:00', '2026-11-21T05:00+01:00'),
      until: fc.constantFrom('7d', '2026-11-21T05:00:00.123Z'),
      id: fc.uuid({ version: 7 }),
      offset,
      key: text,
      subject: text,
    };
    const terms = fc
      .shuffledSubarray([...SEARCH_FIELDS])
      .chain((fields) =>
        fc.tuple(...fields.map((field) => values[field].map((value): SearchTerm => ({ field, value })))),
      );
    fc.assert(
      fc.property(terms, (asked) => {
        assert.deepEqual(parseSearch(searchText(asked)), { terms: asked, problems: [] });
      }),
    );
    fc.assert(
      fc.property(text, (value) => {
        assert.deepEqual(parseSearch(valueText(value)), { terms: [{ field: 'subject', value }], problems: [] });
      }),
    );
    // Any text is read without an exception, and what was read is read again from what it is written as.
    fc.assert(
      fc.property(text, (typed) => {
        const { terms: read } = parseSearch(typed);
        assert.deepEqual(parseSearch(searchText(read)).terms, read);
      }),
    );
  });
});

describe('the filters of the list of deliveries', () => {
  const asked = (query: Record<string, string>) => readAsked(new URLSearchParams(query), NOW);

  it('are those of the search line and of the parameters of a link; the line goes first', () => {
    const { filter, webhook, customer, offsets, problems, terms } = asked({
      q: '#3 state:dead',
      state: 'pending',
      webhook: 'w',
      customer: 'Acme',
      type: 'a.b',
      response: '50',
      since: '2026-01-01',
      until: '2026-01-02T03:04',
    });
    assert.deepEqual(problems, []);
    assert.deepEqual(filter, {
      state: 'dead',
      eventType: 'a.b',
      since: Date.parse('2026-01-01T00:00Z'),
      until: Date.parse('2026-01-02T03:04Z'),
      response: { first: 500, last: 509 },
    });
    assert.deepEqual([webhook, customer, offsets], ['w', 'Acme', { first: 3, last: 3 }]);
    assert.equal(
      searchText(terms),
      '#3 state:dead webhook:w customer:Acme type:a.b response:50 since:2026-01-01 until:2026-01-02T03:04',
    );
    assert.deepEqual(asked({ cursor: 'x', state: '' }).terms, []);
  });

  it('have times before now, and tell a problem of a parameter', () => {
    for (const [text, ms] of [
      ['30m', HOUR_MS / 2],
      ['1h', HOUR_MS],
      ['24h', 24 * HOUR_MS],
      ['7d', 168 * HOUR_MS],
      ['2w', 336 * HOUR_MS],
    ] as const) {
      assert.deepEqual(asked({ q: `since:${text}` }).filter, { since: NOW - ms });
      assert.deepEqual(asked({ period: text }).filter, { since: NOW - ms });
    }
    assert.match(asked({ since: 'yesterday' }).problems[0]?.text ?? '', /not a time/);
    assert.match(asked({ state: 'odd' }).problems[0]?.text ?? '', /no state “odd”/);
    assert.deepEqual(asked({ webhook: 'w', q: '7' }).offsets, { first: 7, last: 7 });
  });

  const TLS = ['tls', 'tls_expired', 'tls_untrusted', 'tls_wrong_host'];
  const responses: readonly [typed: string, response: object][] = [
    ['500', { first: 500, last: 500 }],
    ['4xx', { first: 400, last: 499 }],
    [' 4XX ', { first: 400, last: 499 }],
    ['42x', { first: 420, last: 429 }],
    ['timeout', { errorClasses: ['timeout'] }],
    ['tls', { errorClasses: TLS }],
    ['tls wrong host', { errorClasses: ['tls_wrong_host'] }],
    ['connection', { errorClasses: ['connect', 'reset', 'proxy'] }],
    ['egress_refused', { errorClasses: ['egress_refused'] }],
  ];
  for (const [typed, response] of responses) {
    it(`have the response to the last attempt: ${JSON.stringify(typed)}`, () => {
      assert.deepEqual(asked({ response: typed }).filter, { response });
    });
  }
});

describe('the suggestions of the search line', () => {
  it("have the operator's own types first, and tell webhooks of one name apart by their customers", async (t) => {
    const services = await openTestServices(t);
    const { store, customers } = services;
    await makeEventType(services, 'order.created');
    await makeEventType(services, 'zone.closed');
    const { id: customerId } = await customers.create({ name: 'Bolt Hardware' }, ACTOR);
    const of = { customerId };
    const { id: endpointId } = await makeEndpoint(services, of);
    await makeWebhook(services, ['order.created'], { ...of, endpointId, name: 'Orders' });
    await makeWebhook(services, ['order.created'], { name: 'Orders' });
    const offered = await searchSuggestions(store);
    const types = offered.words.filter((text) => text.startsWith('type:'));
    assert.deepEqual(types.slice(0, 2), ['type:order.created', 'type:zone.closed']);
    assert.ok(types.includes('type:webhook.failed'));
    const webhooks = offered.words.filter((text) => text.startsWith('webhook:'));
    assert.deepEqual(webhooks.toSorted(), ['webhook:Orders', 'webhook:Orders customer:"Bolt Hardware"']);
    assert.deepEqual(offered.customers, ['Bolt Hardware']);
    assert.deepEqual(offered.webhooks.toSorted(), ['Orders', 'Orders · Bolt Hardware']);
    for (const text of offered.words) assert.deepEqual(parseSearch(text).problems, []);
  });
});
