import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileFilter } from '../../src/domain/filter.ts';
import type { ImportOptions } from '../../src/importing/export-reader.ts';
import type { PlannedEndpoint } from '../../src/importing/import-plan.ts';
import { readSvix } from '../../src/importing/svix.ts';
import { IMPORT_OPTIONS, SVIX_SECRET, svixExport } from '../support/exports.ts';
import { only } from '../support/journey.ts';

function endpointOf(
  more: Readonly<Record<string, unknown>> = {},
  options: Partial<ImportOptions> = {},
): PlannedEndpoint {
  const { customers } = readSvix(svixExport(more), { ...IMPORT_OPTIONS, ...options });
  return only(only(customers).endpoints);
}

describe('an export of Svix', () => {
  it('becomes a customer, an endpoint with its secret, a webhook that signs as Svix does, and an event type', () => {
    const { eventTypes, customers } = readSvix(svixExport(), IMPORT_OPTIONS);
    const type = only(eventTypes);
    assert.deepEqual([type.problem, type.lost, type.path], [null, [], 'eventTypes[0]']);
    assert.deepEqual(type.body, {
      name: 'order.created',
      description: 'An order was placed',
      dataSchema: { type: 'object', properties: { orderId: { type: 'integer' } }, required: ['orderId'] },
      group: 'Orders',
      deprecated: false,
    });
    const customer = only(customers);
    assert.deepEqual(customer.body, { name: 'Acme', externalId: 'acct_17', metadata: { plan: 'gold' } });
    const endpoint = only(customer.endpoints);
    const name = 'Orders of Acme (ep_1srOrx2ZWZBpBUvZwXKQmoEYga2)';
    assert.deepEqual([endpoint.problem, endpoint.lost, endpoint.mayStart, endpoint.name], [null, [], true, name]);
    assert.equal(endpoint.path, 'applications[0].endpoints.data[0]');
    assert.deepEqual(endpoint.endpoint, {
      name,
      url: 'https://hooks.example.com/svix',
      secret: SVIX_SECRET,
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
        header: 'svix-signature',
        value: 'v1,{signature}',
        content: '{id}.{timestamp}.{body}',
        encoding: 'base64',
        key: 'decoded',
        repeat: ' ',
        idHeader: 'svix-id',
        timestampHeader: 'svix-timestamp',
      },
      maxRecordsPerSecond: null,
      retry: { policy: 'schedule', delaysSeconds: [5, 300, 1800, 7200, 18000, 36000, 36000] },
      timeoutSeconds: 30,
    });
  });

  it('reads the members of earlier versions: filterTypes, rateLimit, a secret as text, and plain lists', () => {
    const given = svixExport({
      eventTypes: undefined,
      filterTypes: ['order.created'],
      rateLimit: 7,
      secret: SVIX_SECRET,
    });
    const [application] = given.applications;
    assert.ok(application !== undefined);
    const plain = { ...given, applications: { data: [{ ...application, endpoints: application.endpoints.data }] } };
    const endpoint = only(only(readSvix(plain, IMPORT_OPTIONS).customers).endpoints);
    assert.equal(endpoint.path, 'applications.data[0].endpoints[0]');
    assert.deepEqual(endpoint.webhook.eventTypes, ['order.created']);
    assert.equal(endpoint.webhook.maxRecordsPerSecond, 7);
    assert.equal(endpoint.endpoint.secret, SVIX_SECRET);
  });

  const REFUSED: readonly (readonly [name: string, more: Readonly<Record<string, unknown>>, problem: RegExp])[] = [
    ['without an id', { id: null }, /has no id/],
    ['whose id has a space', { id: 'ep 1' }, /has an id that/],
    ['without a URL', { url: null }, /has no URL/],
    ['without TLS', { url: 'http://hooks.example.com' }, /does not begin with https:/],
    ['without a secret', { secret: null }, /has no secret/],
    ['with a key pair', { secret: { key: 'whsk_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' } }, /key pair/],
    ['with a secret that was cut', { secret: { key: 'whsec_C2FVs' } }, /not Base64/],
    ['with a transformation', { transformation: { enabled: true, code: 'x' } }, /transformation/],
    [
      'with event types of other forms only',
      { eventTypes: ['OrderCreated', 'a.b.c'] },
      /no event type with a valid name/,
    ],
  ];
  for (const [name, more, problem] of REFUSED)
    it(`an endpoint ${name} is refused with the reason`, () => assert.match(String(endpointOf(more).problem), problem));

  it('an endpoint of all event types gets the categories of the export, as * would be events of Sallyport too', () => {
    const { webhook, lost } = endpointOf({ eventTypes: null });
    assert.deepEqual(webhook.eventTypes, ['order.*']);
    assert.match(lost.join(), /categories/);
    const none = readSvix({ ...svixExport({ eventTypes: null }), eventTypes: [] }, IMPORT_OPTIONS);
    assert.match(String(only(only(none.customers).endpoints).problem), /has none/);
  });

  it('event types get new names everywhere', () => {
    const given = svixExport({ eventTypes: ['OrderCreated', 'Bad'] });
    const named = {
      ...given,
      eventTypes: [{ ...only(given.eventTypes), name: 'OrderCreated', archived: true }, { name: 'Bad' }],
    };
    const { eventTypes, customers } = readSvix(named, {
      ...IMPORT_OPTIONS,
      renamed: new Map([['OrderCreated', 'order.created']]),
    });
    assert.deepEqual(
      eventTypes.map(({ body, problem }) => [body.name, body.deprecated, problem === null]),
      [
        ['order.created', true, true],
        [null, false, false],
      ],
    );
    const endpoint = only(only(customers).endpoints);
    assert.deepEqual(endpoint.webhook.eventTypes, ['order.created']);
    assert.match(endpoint.lost.join(), /the event type Bad: its name is not .* --rename/);
  });

  it('of several versions of a schema the latest is kept, or none', () => {
    const given = svixExport();
    const schemas = { '2': { title: 'two' }, '10': { title: 'ten' }, '9': { title: 'nine' } };
    const versions = { ...given, eventTypes: [{ ...only(given.eventTypes), schemas }] };
    const kept = only(readSvix(versions, IMPORT_OPTIONS).eventTypes);
    assert.deepEqual([kept.body.dataSchema, kept.lost], [{ title: 'ten' }, ['2 earlier versions of its schema']]);
    const left = only(readSvix(versions, { ...IMPORT_OPTIONS, withoutSchemas: true }).eventTypes);
    assert.deepEqual([left.body.dataSchema, left.lost.at(-1)], [null, 'its schema']);
  });

  it('channels become a filter that passes events with one of them, at the place that was asked for', () => {
    const { webhook, lost } = endpointOf({ channels: ['project_1', 'project_2'] });
    const passes = compileFilter(webhook.filter as Record<string, unknown>);
    const event = (channels: unknown) => ({ type: 'order.created', subject: null, data: { channels } });
    assert.deepEqual(
      [['project_2'], [...'123456789', 'project_1'], ['project_3'], [], undefined].map((one) => passes(event(one))),
      [true, true, false, false, false],
    );
    assert.match(lost.join(), /data\.channels/);
    const bySubject = endpointOf({ channels: ['project_1'] }, { channelsAt: 'subject' });
    assert.deepEqual(bySubject.webhook.filter, { subject: { $in: ['project_1'] } });
  });

  it('headers are kept as secrets, Authorization as authentication, and a missing value prevents the start', () => {
    const headers = {
      headers: { 'X-Route': 'blue', authorization: 'Bearer abc', 'Content-Type': 'text/plain', 'X-Api-Key': 'k' },
      sensitive: ['X-Route'],
    };
    const kept = endpointOf({ headers });
    assert.deepEqual(kept.endpoint.authentication, { method: 'header', name: 'Authorization', value: 'Bearer abc' });
    assert.deepEqual(kept.endpoint.requestHeaders, [
      { name: 'X-Route', value: 'blue', secret: true },
      { name: 'X-Api-Key', value: 'k', secret: true },
    ]);
    assert.deepEqual([kept.lost.length, kept.mayStart], [1, true]);
    const missing = endpointOf({ headers: { headers: {}, sensitive: ['X-Route'] } });
    assert.match(missing.lost.join(), /X-Route: its value is not in the export/);
    assert.equal(missing.mayStart, false);
    assert.equal(endpointOf({ headers: { headers: { 'X-Bad': 'Zoë' }, sensitive: [] } }).mayStart, false);
  });

  it('an endpoint that is disabled stays so and is not started', () => {
    const { endpoint, mayStart } = endpointOf({ disabled: true });
    assert.deepEqual([endpoint.enabled, mayStart], [false, false]);
  });

  it('receivers get the headers of a server with another prefix, or of Standard Webhooks', () => {
    const { signature } = endpointOf({}, { headerPrefix: 'acme-' }).webhook as { signature: Record<string, unknown> };
    assert.deepEqual(
      [signature.header, signature.idHeader, signature.timestampHeader],
      ['acme-signature', 'acme-id', 'acme-timestamp'],
    );
    const standard = endpointOf({}, { headerPrefix: 'webhook-' }).webhook;
    assert.deepEqual([standard.standardWebhooks, 'signature' in standard], [true, false]);
  });

  it('what repeats an earlier one is refused with its place', () => {
    const given = svixExport();
    const twice = readSvix({ ...given, applications: [...given.applications, ...given.applications] }, IMPORT_OPTIONS);
    assert.deepEqual(
      twice.customers.map(({ problem }) => problem),
      [null, 'repeats applications[0]'],
    );
  });
});
