import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CUSTOMER_SCOPES } from '../../src/access/built-in.ts';
import type { CustomerUsageView, ListedUsageView } from '../../src/customers/usage.ts';
import { dayOf, type Usage } from '../../src/domain/usage.ts';
import { type ApiClient, createClient, type ErrorBody, type Page, succeeded, tokenFor } from '../support/client.ts';
import { readCsv } from '../support/csv.ts';
import { onInstances, startInstances } from '../support/instances.ts';
import { connect, type Journey, makeEventType, startJourney, unique } from '../support/journey.ts';
import type { Delivery } from '../support/receiver.ts';
import { repeats } from '../support/repeats.ts';
import { type Service, startService } from '../support/service.ts';

repeats('postgres');

const TYPE = 'order.placed';
const DAY_MS = 86_400_000;

type Made = { readonly id: string };

async function makeCustomer(admin: ApiClient, more: object = {}): Promise<string> {
  return (await succeeded<Made>(admin.post('customers', { name: unique('customer'), ...more }))).id;
}

/** A client with the token of an application of the customer. Its token counts as usage. */
async function customerApi({ admin, url }: Pick<Service, 'admin' | 'url'>, customerId: string): Promise<ApiClient> {
  const user = { customerId, userName: unique('user'), role: 'administrator', permissions: CUSTOMER_SCOPES };
  const { id: userId } = await succeeded<Made>(admin.post('users', user));
  const application = { customerId, name: unique('application'), userId, scopes: CUSTOMER_SCOPES };
  const made = await succeeded<{ clientId: string; clientSecret: string }>(admin.post('applications', application));
  return createClient(url, await tokenFor(url, made));
}

async function totalOf(admin: ApiClient, customerId: string): Promise<Usage> {
  return (await succeeded<CustomerUsageView>(admin.get(`customers/${customerId}/usage`))).total;
}

async function publishFor(admin: ApiClient, count: number, more: object): Promise<void> {
  const events = Array.from({ length: count }, (_, n) => ({ type: TYPE, data: { n }, ...more }));
  await succeeded(admin.post('events', { events }));
}

/** Waits until the outcomes of this many attempts are written. */
async function attempts({ service }: Journey, webhookId: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await service.log.nextAttempt(webhookId);
}

describe('what a customer used', () => {
  it('is the events published for it, the deliveries of its webhooks and the tokens of its applications', async (t) => {
    const journey = await startJourney(t);
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const [one, other] = [await makeCustomer(admin), await makeCustomer(admin)];
    const hook = { ordered: true, maxBatchRecords: 4 };
    const { at, webhook } = await connect(journey, [TYPE], {
      endpoint: { customerId: one },
      webhook: { ...hook, customerId: one },
    });
    const own = await connect(journey, [TYPE], { webhook: hook });
    // The first attempt fails, and is made again.
    let failed: Delivery | null = null;
    at.answer((delivery) => {
      failed ??= delivery;
      return { status: failed === delivery ? 503 : 204, headers: { 'retry-after': '1' } };
    });
    await publishFor(admin, 3, { customerId: one });
    await publishFor(admin, 2, { audience: 'everyone' });
    await publishFor(admin, 1, {});
    await publishFor(admin, 5, { customerId: other });
    await publishFor(admin, 1, { customerId: one, idempotencyKey: 'k' });
    await publishFor(admin, 1, { customerId: one, idempotencyKey: 'k' });
    await customerApi(service, one);
    let records = 0;
    let bytes = 0;
    let sent = 0;
    for (; records < 6; sent++) {
      const delivery = await at.next();
      bytes += delivery.request.body.byteLength;
      if (sent > 0) records += delivery.records.length;
    }
    await attempts(journey, webhook.id, sent);
    assert.deepEqual(await totalOf(admin, one), {
      events: 4,
      deliveries: 6,
      attempts: sent,
      failures: 1,
      bytes,
      tokens: 1,
    });
    assert.deepEqual(await totalOf(admin, other), {
      events: 5,
      deliveries: 0,
      attempts: 0,
      failures: 0,
      bytes: 0,
      tokens: 0,
    });
    let mine = 0;
    let requests = 0;
    for (; mine < 12; requests++) mine += (await own.at.next()).records.length;
    await attempts(journey, own.webhook.id, requests);
    const rows = await succeeded<Page<ListedUsageView>>(admin.get('usage?by=customer'));
    const operator = rows.items.find(({ customerId }) => customerId === null);
    assert.equal(operator?.events, 3, 'without a customer, and for everyone');
    assert.equal(operator?.deliveries, 12);
  });

  it('survives a stop, and has a row for each day', async (t) => {
    const service = await startService(t);
    const { admin, advance, clock } = service;
    await makeEventType(admin, TYPE);
    const customerId = await makeCustomer(admin);
    const today = dayOf(clock());
    await publishFor(admin, 2, { customerId });
    advance(DAY_MS);
    const later = await service.signIn();
    await publishFor(later, 3, { customerId });
    await service.stop();
    const again = await startService(t, { after: service });
    again.advance(DAY_MS);
    const api = await again.signIn();
    const tomorrow = dayOf(Date.parse(today) + DAY_MS);
    const path = `customers/${customerId}/usage`;
    const usage = await succeeded<CustomerUsageView>(api.get(`${path}?since=${today}&until=${tomorrow}`));
    assert.deepEqual(
      usage.items.map(({ day, events }) => [day, events]),
      [
        [today, 2],
        [tomorrow, 3],
      ],
    );
    const whole = await succeeded<CustomerUsageView>(api.get(path));
    assert.equal(whole.items.length, 30);
    assert.equal(whole.total.events, 5);
    assert.equal(
      (await succeeded<CustomerUsageView>(api.get(`${path}?since=${today}&until=${today}`))).total.events,
      2,
    );
  });

  it('shows the limits and what the customer has of them', async (t) => {
    const journey = await startJourney(t);
    const { admin } = journey;
    const id = await makeCustomer(admin, { externalId: 'acme', limits: { endpoints: 3, eventsPerSecond: 7 } });
    await makeEventType(admin, TYPE);
    await connect(journey, [TYPE], { endpoint: { customerId: id }, webhook: { customerId: id } });
    const usage = await succeeded<CustomerUsageView>(admin.get('customers/externalId:acme/usage'));
    assert.equal(usage.customerId, id);
    assert.deepEqual(usage.limits, {
      endpoints: { count: 1, limit: 3 },
      webhooks: { count: 1, limit: 100 },
      eventsPerSecond: 7,
    });
  });

  it('refuses periods that are none, and unknown customers', async (t) => {
    const { admin } = await startService(t);
    const id = await makeCustomer(admin);
    for (const [query, field] of [
      ['since=yesterday', 'since'],
      ['until=2026-02-30', 'until'],
      ['since=2026-01-02&until=2026-01-01', 'until'],
      ['since=2020-01-01&until=2026-01-01', 'since'],
    ]) {
      for (const path of [`customers/${id}/usage`, `customers/${id}/usage.csv`, 'usage', 'usage.csv']) {
        const { status, body } = await admin.get<ErrorBody>(`${path}?${query}`);
        assert.equal(status, 400, path);
        assert.equal(body.error.details?.[0]?.field, field);
      }
    }
    for (const query of ['by=hour', 'cursor=x', 'limit=0'])
      assert.equal((await admin.get(`usage?${query}`)).status, 400, query);
    for (const path of ['customers/nobody/usage', 'customers/externalId:no/usage.csv', 'usage?customerId=nobody'])
      assert.equal((await admin.get(path)).status, 404, path);
  });

  it('is a CSV file that can be read back and runs nothing in a spreadsheet', async (t) => {
    const { admin } = await startService(t);
    await makeEventType(admin, TYPE);
    const name = '=HYPERLINK("http://x", "a, b")';
    const id = await makeCustomer(admin, { name, externalId: '+1' });
    const gone = await makeCustomer(admin);
    await publishFor(admin, 2, { customerId: id });
    await publishFor(admin, 1, { customerId: gone });
    await succeeded(admin.delete(`customers/${gone}`));
    const { status, headers, body } = await admin.get<string>('usage.csv');
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^text\/csv/);
    assert.match(
      headers.get('content-disposition') ?? '',
      /^attachment; filename="usage-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv"$/,
    );
    const { cells, texts } = readCsv(body);
    assert.ok(cells.flat().every((cell) => !/^[=+@]/.test(cell)));
    const [heads = [], ...lines] = texts;
    const rows = lines.map((line) => Object.fromEntries(heads.map((head, at) => [head, line[at]])));
    const listed = await succeeded<Page<ListedUsageView>>(admin.get('usage'));
    assert.deepEqual(
      rows.map(({ since, until, customerId, events, tokens }) => [since, until, customerId, events, tokens]),
      listed.items.map(({ day, customerId, events, tokens }) => [
        day,
        day,
        customerId ?? '',
        String(events),
        String(tokens),
      ]),
    );
    const row = rows.find(({ customerId }) => customerId === id);
    assert.deepEqual([row?.customerName, row?.customerExternalId, row?.events], [name, '+1', '2']);
    assert.equal(
      rows.find(({ customerId }) => customerId === gone)?.customerName,
      '',
      'a deleted customer has no name',
    );
    const single = readCsv((await admin.get<string>(`customers/${id}/usage.csv`)).body).texts;
    assert.equal(single.length, 2);
    assert.equal(single[1]?.[2], id);
  });

  it('is listed in pages', async (t) => {
    const { admin } = await startService(t);
    await makeEventType(admin, TYPE);
    const ids = [await makeCustomer(admin), await makeCustomer(admin), await makeCustomer(admin)];
    for (const customerId of ids) await publishFor(admin, 1, { customerId });
    for (const by of ['day', 'customer']) {
      const seen: (string | null)[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const page: Page<ListedUsageView> = await succeeded(admin.get(`usage?limit=2&by=${by}${query}`));
        assert.ok(page.items.length <= 2);
        seen.push(...page.items.map(({ customerId }) => customerId));
        cursor = page.nextCursor;
      }
      assert.deepEqual(seen, [null, ...ids]);
    }
  });

  it("is all that the customer's applications see", async (t) => {
    const service = await startService(t);
    const { admin } = service;
    await makeEventType(admin, TYPE);
    const [mine, other] = [await makeCustomer(admin), await makeCustomer(admin, { externalId: 'other' })];
    await publishFor(admin, 1, { customerId: mine });
    await publishFor(admin, 2, { customerId: other });
    await publishFor(admin, 4, {});
    const api = await customerApi(service, mine);
    for (const query of ['', `?customerId=${mine}`, '?by=customer']) {
      const { items } = await succeeded<Page<ListedUsageView>>(api.get(`usage${query}`));
      assert.deepEqual(
        items.map(({ customerId, events, tokens }) => [customerId, events, tokens]),
        [[mine, 1, 1]],
      );
    }
    const { texts } = readCsv((await api.get<string>('usage.csv')).body);
    assert.deepEqual(
      texts.slice(1).map(([, , id]) => id),
      [mine],
    );
    // A cursor of others leads nowhere else.
    const { items } = await succeeded<Page<ListedUsageView>>(api.get(`usage?cursor=${mine}_2000-01-01`));
    assert.deepEqual(
      items.map(({ customerId }) => customerId),
      [mine],
    );
    const unknown = '0193a1f0-0000-7000-8000-00000000abcd';
    for (const path of ['usage?customerId=', 'usage.csv?customerId=']) {
      const replies = await Promise.all(
        [unknown, other, 'externalId:other'].map((id) => api.get<ErrorBody>(path + id)),
      );
      assert.deepEqual(
        replies.map(({ status }) => status),
        [404, 404, 404],
      );
      assert.deepEqual(
        replies.map(({ body }) => body.error.description.replace(/customer .*/, 'customer')),
        Array(3).fill('there is no customer'),
      );
    }
    for (const id of [mine, other]) assert.equal((await api.get(`customers/${id}/usage`)).status, 401);
  });

  onInstances('is the sum of what all instances counted', async (t) => {
    const [one, two] = await startInstances(t);
    await makeEventType(one.admin, TYPE);
    const customerId = await makeCustomer(one.admin);
    await Promise.all([
      ...Array.from({ length: 10 }, () => publishFor(one.admin, 2, { customerId })),
      ...Array.from({ length: 10 }, () => publishFor(two.admin, 3, { customerId })),
    ]);
    assert.ok((await totalOf(one.admin, customerId)).events >= 20);
    assert.equal((await totalOf(two.admin, customerId)).events, 50);
  });
});
