import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { html } from '../../../src/http/html.ts';
import { stopText } from '../../../src/portal/audit/audit-pages.ts';
import { burstSummary, bursts } from '../../../src/portal/audit/bursts.ts';
import {
  actionTexts,
  entrySentence,
  entryText,
  type ResourceLink,
  verificationText,
} from '../../../src/portal/audit/entries.ts';
import { FIELD_LABELS, fieldLabelsOf } from '../../../src/portal/audit/field-labels.ts';
import { visitText } from '../../../src/portal/audit/visits.ts';
import { endpointFields } from '../../../src/portal/endpoints/endpoint-form.ts';
import { eventTypeFields } from '../../../src/portal/event-types/event-type-fields.ts';
import { changesSummary, differences } from '../../../src/portal/parts/differences.ts';
import { titlesOf } from '../../../src/portal/record/field-table.ts';
import { userFields } from '../../../src/portal/users/user-form.ts';
import { webhookFields } from '../../../src/portal/webhooks/webhook-form.ts';
import type { AuditRecord } from '../../../src/store/port/audit.ts';

describe('changes of the same second', () => {
  const entry = (at: number, target: string, more: Partial<AuditRecord> = {}): AuditRecord => ({
    number: at,
    id: `${at} ${target}`,
    at,
    actor: 'user:1',
    action: 'webhook.create',
    target,
    changes: {},
    customerId: null,
    ...more,
  });
  const four = ['webhook:1', 'webhook:1', 'event-type:2', 'delivery:3'].map((target, at) => entry(5999 - at, target));
  const sizes = (entries: readonly AuditRecord[], isFiltered = false) =>
    bursts(entries, isFiltered).map(({ length }) => length);

  it('are one row from four on, by one actor and for one customer', () => {
    assert.deepEqual(sizes(four), [4]);
    assert.deepEqual(sizes([entry(6000, 'webhook:4'), ...four, entry(4999, 'webhook:4')]), [1, 4, 1]);
    assert.deepEqual(sizes(four.slice(1)), [1, 1, 1]);
    const others = four.map((one, at) => ({ ...one, customerId: at < 2 ? null : 'acme' }));
    assert.deepEqual(sizes(others), [1, 1, 1, 1]);
    assert.deepEqual(sizes(four.map((one, at) => ({ ...one, actor: `user:${at}` }))), [1, 1, 1, 1]);
    assert.deepEqual(sizes([]), []);
    const made = { ...entry(5500, 'customer:acme'), customerId: null };
    assert.deepEqual(sizes([...four, made]), [4, 1], 'the creation of a customer is not with others');
  });

  it('stay rows of their own in a list with filters', () => {
    assert.deepEqual(sizes(four, true), [1, 1, 1, 1]);
  });

  it('are counted by their objects', () => {
    const [burst] = bursts(four, false);
    assert.ok(burst);
    assert.equal(burstSummary(burst), '1 webhook, 1 event type and 1 delivery');
    const more = bursts([...four, entry(5100, 'delivery:4')], false)[0];
    assert.ok(more);
    assert.equal(burstSummary(more), '1 webhook, 1 event type and 2 deliveries');
  });
});

it('the audit log tells a verification that failed from one that succeeded', () => {
  const verified = (to: unknown): string =>
    entryText({ action: 'endpoint.verify', changes: { lastVerification: { from: null, to } } });
  assert.equal(verified({ verified: true }), 'Verified the endpoint');
  assert.equal(verified({ verified: false }), 'Tried to verify the endpoint: failed');
  assert.equal(entryText({ action: 'endpoint.verify', changes: {} }), 'Verified the endpoint');
  const because = (to: object): string | null => verificationText({ lastVerification: { from: null, to } });
  assert.equal(because({ verified: false, responseStatus: null, error: 'no such host' }), 'No such host.');
  assert.equal(because({ verified: false, responseStatus: 404, error: null }), 'The answer had the status 404.');
  assert.equal(because({ verified: true, responseStatus: 200, error: null }), null);
  const due = { nextAttemptAt: { from: '2026-01-01T00:00:00.000Z', to: '2026-01-01T00:00:00.000Z' } };
  assert.equal(entryText({ action: 'delivery.replay', changes: due }), 'Tried the delivery now');
  const active = { from: true, to: false };
  assert.equal(entryText({ action: 'customer.update', changes: { active } }), 'Suspended the customer');
  assert.equal(entryText({ action: 'delivery.replay', changes: {} }), 'Sent the delivery again');
  const created = { lastVerification: { from: null, to: { verified: false } } };
  assert.equal(entryText({ action: 'endpoint.create', changes: created }), 'Created the endpoint');
  assert.equal(entryText({ action: 'thing.do-it', changes: {} }), 'thing: do it');
});

describe('an entry of the audit log', () => {
  const told = (action: string, actor: string, target: ResourceLink, isCustomers = false): string =>
    entrySentence(
      { action, changes: {}, actor, target: `${target.kind}:1` },
      { who: html`Grace`, what: target, isCustomers },
    )
      .markup.replaceAll(/<[^>]+>/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim();
  const of = (kind: string | null, name: string): ResourceLink => ({ kind, name, href: null });

  it('is a sentence that names the object after its kind', () => {
    const cases: readonly (readonly [action: string, target: ResourceLink, sentence: string])[] = [
      ['endpoint.update', of('endpoint', 'Shop backend'), 'Grace changed the endpoint Shop backend'],
      ['endpoint.rotate-secret', of('endpoint', 'Shop'), 'Grace rotated the secret of the endpoint Shop'],
      ['webhook.replay', of('webhook', 'Orders'), 'Grace sent deliveries of the webhook Orders again'],
      ['product.create', of('product', 'Shop API'), 'Grace created the API product Shop API'],
      ['event-type.delete', of('event-type', 'order.created'), 'Grace deleted the event type order.created'],
      [
        'event.erase',
        of('subject', 'anna@example.com'),
        'Grace requested the erasure of a person’s data: anna@example.com',
      ],
      ['customer.create-link', of('customer', 'Acme'), 'Grace created a portal link for the customer Acme'],
      ['backup.download', of('backup', 'x'), 'Grace downloaded a backup'],
    ];
    for (const [action, target, sentence] of cases) assert.equal(told(action, 'user:2', target), sentence);
    assert.equal(told('user.sign-in', 'user:1', of('user', 'grace')), 'Grace signed in');
  });

  it('addresses a customer as “you”', () => {
    for (const [action, sentence] of [
      ['customer.update', 'Grace changed your account'],
      ['customer.create-link', 'Grace created a link to this portal'],
      ['customer.open-link', 'Grace opened this portal'],
    ] as const)
      assert.equal(told(action, 'user:2', of('customer', 'Acme'), true), sentence);
    for (const [action, text] of actionTexts(true)) assert.doesNotMatch(text, /customer|API product|backup/, action);
  });

  it('tells who came, as whom and for how long, without an id', () => {
    const at = 1_700_000_000_000;
    const id = '018bcfe5-6800-7000-8000-000000000001';
    const made = (to: object) => ({ from: null, to: { id, ...to } });
    for (const [action, changes, text] of [
      [
        'customer.create-link',
        { link: made({ role: 'administrator', sessionSeconds: 3600 }) },
        'as administrator, for 1 hour',
      ],
      ['customer.open-link', { session: made({ role: 'viewer', address: '127.0.0.1' }) }, 'as viewer, from 127.0.0.1'],
      [
        'user.sign-in',
        { session: made({ method: 'passkey', address: '127.0.0.1' }) },
        'with a passkey, from 127.0.0.1',
      ],
      ['user.sign-out', { session: { from: { id }, to: null } }, 'after 12 minutes'],
      ['webhook.update', {}, null],
    ] as const)
      assert.equal(visitText({ at: at + 720_000, action, target: 'user:1', changes }), text);
    // The session of a portal link has the id of the link, which was made earlier.
    const ended = { at, action: 'user.sign-out', changes: { session: { from: { id }, to: null } } };
    assert.equal(visitText({ ...ended, target: 'customer:1' }), null);
  });

  it('names the account that the first application of a customer made by its purpose', () => {
    const fields = { role: 'service', userName: 'applications', displayName: 'Default account', customerId: '1' };
    const changes = Object.fromEntries(Object.entries(fields).map(([name, to]) => [name, { from: null, to }]));
    const sentenceFor = (isCustomers: boolean, other: object = {}): string =>
      entrySentence(
        { action: 'user.create', actor: 'user:2', target: 'user:1', changes: { ...changes, ...other } },
        { who: html`Grace`, what: of('user', 'Default account'), isCustomers },
      ).markup.replaceAll(/<[^>]+>/g, '');
    assert.equal(
      sentenceFor(true),
      'Grace created the account for your applications (automatic, with the first application)',
    );
    assert.match(sentenceFor(false), /^Grace created the account for applications /);
    const named = { userName: { from: null, to: 'sync' } };
    assert.equal(sentenceFor(true, named), 'Grace created the user Default account');
  });

  it('tells the values of a new record, and shows instants in the zone of the reader', () => {
    const made = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`field${at}`, { from: null, to: 'x' }]));
    assert.equal(changesSummary(made(2)).markup, 'field0: x, field1: x');
    assert.equal(
      changesSummary({ limit: { from: null, to: 3 }, url: { from: null, to: 'u' } }).markup,
      'limit: 3, url: u',
    );
    assert.equal(changesSummary(made(4)).markup, 'field0: x, field1: x, field2: x, and 1 more');
    const flag = {
      deprecated: { from: null, to: false },
      group: { from: null, to: 'Orders' },
      limits: { from: null, to: { a: 1 } },
    };
    assert.equal(changesSummary(flag).markup, 'group: Orders, and 2 more', 'nor do what is off and lists of members');
    const of = {
      endpointId: { from: null, to: '01a20894-e3d7-7336-a176-03026a430f4f' },
      key: { from: null, to: 'k'.repeat(99) },
    };
    assert.equal(changesSummary(of).markup, 'endpoint id, key', 'ids and long values say nothing in a line');
    const expiry = changesSummary({ expiresAt: { from: null, to: '2026-12-01T22:04:28.000Z' } }).markup;
    assert.match(expiry, /^expires at: <time datetime="2026-12-01T22:04:28\.000Z" .*data-local="instant">/);
  });

  it('shows long values from where they differ', () => {
    const same = 'The receiver of the warehouse answers '.repeat(8);
    const changes = { description: { from: `${same}slowly.`, to: `${same}quickly.` } };
    assert.equal(changesSummary(changes).markup, 'description: …use answers slowly. → …use answers quickly.');
    const { markup } = differences(changes);
    assert.match(markup, /<summary>…use answers slowly\.<\/summary>.*<summary>…use answers quickly\.<\/summary>/s);
  });

  it('says why the service stopped a webhook', () => {
    const reason = (to: string | null) => ({ state: { from: 'a', to: 'b' }, stateReason: { from: null, to } });
    assert.equal(stopText(reason('too_many_dead')), 'Ten requests in a row used up their attempts.');
    assert.equal(stopText(reason('failing_too_long')), 'Every attempt failed for 24 hours.');
    assert.equal(stopText(reason(null)), null);
    assert.equal(stopText({}), null);
  });

  it('names fields as their forms do', () => {
    const forms: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      endpoint: titlesOf(endpointFields(null, [])),
      webhook: titlesOf(webhookFields(null, { endpoints: [], eventTypes: [], keys: [], now: 0 })),
      user: titlesOf(userFields(null, [], true)),
      customer: {
        'limits.endpoints': 'Maximum endpoints',
        'limits.webhooks': 'Maximum webhooks',
        'limits.eventsPerSecond': 'Events per second',
      },
      'event-type': titlesOf(eventTypeFields(null)),
    };
    for (const [kind, titles] of Object.entries(forms)) {
      const labels = FIELD_LABELS[kind] ?? assert.fail(kind);
      for (const [field, label] of Object.entries(labels))
        assert.equal(label.replace(' (seconds)', ''), titles[field], `${kind}.${field}`);
    }
    assert.equal(fieldLabelsOf('endpoint:1')('url'), 'Address');
    assert.equal(fieldLabelsOf('customer:1')('returnUrl'), 'Return URL');
  });
});
