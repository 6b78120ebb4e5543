import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compileFilter, filterProblem } from '../../src/domain/filter.ts';
import type { ImportOptions } from '../../src/importing/export-reader.ts';
import type { PlannedEndpoint } from '../../src/importing/import-plan.ts';
import { readOutpost } from '../../src/importing/outpost.ts';
import { translateFilter } from '../../src/importing/outpost-filter.ts';
import { IMPORT_OPTIONS, OUTPOST_SECRET, outpostExport } from '../support/exports.ts';
import { only } from '../support/journey.ts';

function endpointOf(
  more: Readonly<Record<string, unknown>> = {},
  options: Partial<ImportOptions> = {},
  topics: readonly string[] = ['order.created', 'order.paid', 'user.signed_up'],
): PlannedEndpoint {
  const { customers } = readOutpost({ ...outpostExport(more), topics }, { ...IMPORT_OPTIONS, ...options });
  return only(only(customers).endpoints);
}

describe('an export of Outpost', () => {
  it('becomes a customer, an endpoint with its secret, a webhook that signs as Outpost does, and an event type', () => {
    const { eventTypes, customers } = readOutpost(outpostExport(), IMPORT_OPTIONS);
    assert.deepEqual(
      eventTypes.map(({ path, body, problem }) => [path, body, problem]),
      [['topics[0]', { name: 'order.created' }, null]],
    );
    const customer = only(customers);
    assert.deepEqual(customer.body, {
      name: 'Bolt Hardware',
      externalId: 'acct_18',
      metadata: { name: 'Bolt Hardware' },
    });
    const endpoint = only(customer.endpoints);
    const name = 'hooks.example.com (des_webhook_123)';
    assert.deepEqual([endpoint.problem, endpoint.lost, endpoint.mayStart, endpoint.name], [null, [], true, name]);
    assert.equal(endpoint.path, 'tenants.models[0].destinations[0]');
    assert.deepEqual(endpoint.endpoint, {
      name,
      url: 'https://hooks.example.com/outpost',
      secret: OUTPOST_SECRET,
      tokenChallenge: false,
      enabled: true,
      sendApiKey: false,
      authentication: null,
      requestHeaders: [],
    });
    assert.deepEqual(endpoint.webhook, {
      name,
      eventTypes: ['order.created'],
      filter: null,
      format: 'cloudevents-binary',
      signature: {
        header: 'x-outpost-signature',
        value: 'v0={signature}',
        content: '{body}',
        encoding: 'hex',
        key: 'prefixed',
        idHeader: 'x-outpost-event-id',
      },
      retry: { policy: 'schedule', delaysSeconds: [30, 60, 120, 240, 480, 960, 1920, 3840, 7680, 15360] },
    });
  });

  const REFUSED: readonly (readonly [name: string, more: Readonly<Record<string, unknown>>, problem: RegExp])[] = [
    ['of another type', { type: 'aws_sqs' }, /is of type aws_sqs/],
    ['of a type that is no text', { type: { toString: false } }, /is of type \{"toString":false\}/],
    ['without an id', { id: '' }, /has no id/],
    ['without a URL', { config: {} }, /has no URL/],
    ['without TLS', { config: { url: 'http://hooks.example.com' } }, /does not begin with https:/],
    ['without a secret', { credentials: {} }, /has no secret/],
    ['with a filter on the time', { filter: { time: { $gte: '2026' } } }, /filter on "time"/],
    ['with topics of other forms only', { topics: ['OrderCreated'] }, /no event type with a valid name/],
  ];
  for (const [name, more, problem] of REFUSED)
    it(`a destination ${name} is refused with the reason`, () =>
      assert.match(String(endpointOf(more).problem), problem));

  const TOPICS: readonly (readonly [topics: unknown, patterns: readonly string[]])[] = [
    ['*', ['order.*', 'user.*']],
    [['*'], ['order.*', 'user.*']],
    [['user.*'], ['user.*', 'user.signed_up']],
    [['later.*'], ['later.*']],
    [
      ['*.paid', 'user.signed_up'],
      ['order.paid', 'user.signed_up'],
    ],
    [['o*r.*a*d'], ['order.created', 'order.paid']],
    [['order.new'], ['order.new']],
  ];
  for (const [topics, patterns] of TOPICS)
    it(`the topics ${JSON.stringify(topics)} are the event types ${patterns.join(', ')}`, () =>
      assert.deepEqual(endpointOf({ topics }).webhook.eventTypes, patterns));

  it('topics that only destinations name become event types too', () => {
    const { eventTypes } = readOutpost(
      { ...outpostExport({ topics: ['order.new', 'order.*'] }), topics: [] },
      IMPORT_OPTIONS,
    );
    assert.deepEqual(
      eventTypes.map(({ path, name }) => [path, name]),
      [['tenants.models[0].destinations[0].topics[0]', 'order.new']],
    );
  });

  it('custom headers and delivery metadata are sent as there; headers that cannot be read stop the start', () => {
    const custom = { url: 'https://hooks.example.com', custom_headers: '{"x-api-key":"s","x-tenant-id":"c"}' };
    const kept = endpointOf({ config: custom, delivery_metadata: { 'app-id': 'my-app' } });
    assert.deepEqual(kept.endpoint.requestHeaders, [
      { name: 'x-outpost-app-id', value: 'my-app', secret: true },
      { name: 'x-api-key', value: 's', secret: true },
      { name: 'x-tenant-id', value: 'c', secret: true },
    ]);
    const unread = endpointOf({ config: { ...custom, custom_headers: '{"x-api' } });
    assert.deepEqual([unread.mayStart, unread.lost], [false, ['its custom_headers, which cannot be read']]);
  });

  it('a disabled destination stays disabled, the report names losses, and other prefixes and secrets sign as in Outpost', () => {
    const more = {
      disabled_at: '2026-08-21T20:24:36Z',
      metadata: { team: 'platform' },
      credentials: { secret: 'plain secret', previous_secret: 'x' },
    };
    const { endpoint, mayStart, lost, webhook } = endpointOf(more, { headerPrefix: 'x-acme-' });
    assert.deepEqual([endpoint.enabled, mayStart, lost.length], [false, false, 2]);
    const { signature } = webhook as { signature: Record<string, unknown> };
    assert.deepEqual([signature.header, signature.key], ['x-acme-signature', 'text']);
    assert.equal(endpointOf({}, { headerPrefix: 'Webhook-' }).webhook.standardWebhooks, true);
  });
});

describe('a filter of Outpost', () => {
  const FILTERS: readonly (readonly [given: unknown, filter: Readonly<Record<string, unknown>> | null])[] = [
    [null, null],
    [{}, null],
    [{ data: { status: 'paid', currency: 'usd' } }, { 'data.status': 'paid', 'data.currency': 'usd' }],
    [{ data: { customer: { tier: 'premium' } } }, { 'data.customer.tier': 'premium' }],
    [
      { data: { amount: { $gte: 100, $lt: 500 } } },
      { $and: [{ 'data.amount': { $gte: 100 } }, { 'data.amount': { $lt: 500 } }] },
    ],
    [{ topic: { $in: ['order.paid'] } }, { type: { $in: ['order.paid'] } }],
    [{ $or: [{ data: { a: 1 } }, { data: { b: 2 } }] }, { $or: [{ 'data.a': 1 }, { 'data.b': 2 }] }],
    [{ data: { $or: [{ a: 1 }, { b: 2 }] } }, { $or: [{ 'data.a': 1 }, { 'data.b': 2 }] }],
    [{ data: { gone: { $exist: false } } }, { 'data.gone': { $exist: false } }],
  ];
  for (const [given, filter] of FILTERS)
    it(`${JSON.stringify(given)} is ${JSON.stringify(filter)}`, () =>
      assert.deepEqual(translateFilter(given), { filter }));

  it('negative conditions hold only for a member that is there', () => {
    const passes = (given: unknown, data: unknown): boolean => {
      const translated = translateFilter(given);
      assert.ok('filter' in translated && translated.filter !== null, JSON.stringify(translated));
      return compileFilter(translated.filter)({ type: 'order.created', subject: null, data });
    };
    const negative = [{ $not: { $in: ['cancelled'] } }, { $neq: 'cancelled' }, { $nin: ['cancelled'] }];
    for (const condition of negative)
      assert.deepEqual(
        [{ status: 'paid' }, { status: 'cancelled' }, {}].map((data) => passes({ data: { status: condition } }, data)),
        [true, false, false],
        JSON.stringify(condition),
      );
  });

  const UNFIT: readonly unknown[] = [
    7,
    { id: 'x' },
    { metadata: { source: 'api' } },
    { data: { tags: ['urgent'] } },
    { data: { text: { $in: 'substring' } } },
    { data: { text: { $startsWith: ['a', 'b'] } } },
    { data: { text: { $regex: 'a' } } },
    { data: { 'a.b': 1 } },
    { topic: { name: 'x' } },
    { $or: [] },
    { __proto__: null, constructor: { a: 1 } },
  ];
  for (const given of UNFIT)
    it(`${JSON.stringify(given)} is refused`, () => assert.ok('problem' in translateFilter(given)));

  it('is a valid filter here, or is refused', () => {
    const operator = fc.constantFrom(
      '$eq',
      '$neq',
      '$gt',
      '$in',
      '$startsWith',
      '$exist',
      '$not',
      '$or',
      '$and',
      'a',
      'b',
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.dictionary(operator, tie('tree')),
        fc.array(tie('tree')),
      ),
    }));
    fc.assert(
      fc.property(tree, (data) => {
        const translated = translateFilter({ data });
        if (!('filter' in translated) || translated.filter === null) return;
        const problem = filterProblem(translated.filter);
        // What depends on the whole is refused with the webhook.
        if (problem !== null)
          assert.match(problem.problem, /nested deeper|conditions|steps|bytes|at least one item|string or a/);
      }),
      { numRuns: 1000 },
    );
  });
});
