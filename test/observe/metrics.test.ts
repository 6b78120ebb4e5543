import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import performanceHooks from 'node:perf_hooks';
import { describe, it, type TestContext } from 'node:test';
import type { Gate } from '../../src/access/gate.ts';
import type { Call } from '../../src/http/route.ts';
import { metricsRoutes } from '../../src/http/routes/metrics.ts';
import { Refusal } from '../../src/kernel/refusal.ts';
import { createMetrics, METRICS_WEBHOOKS_MAX, type Metrics } from '../../src/observe/metrics.ts';
import type { Row } from '../../src/store/port/database.ts';
import { queueStore } from '../../src/store/shared/delivery/queues.ts';
import { sqliteText } from '../../src/store/sqlite/driver/dialect.ts';
import { batchOf } from '../support/attempts.ts';
import { attemptOf, claimNext, publishMany, run, settleBatch } from '../support/batches.ts';
import { createClient, TOKEN } from '../support/client.ts';
import { subscribe } from '../support/events.ts';
import { connect, makeEventType, publish, registerApplication, startJourney, stopWebhook } from '../support/journey.ts';
import { openTestStore, type TestStore } from '../support/store.ts';

/** Every sample of the text format, by its name and labels. */
function samplesOf(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const at = line.lastIndexOf(' ');
    const sample = line.slice(0, at);
    assert.ok(!samples.has(sample), `${sample} stands there twice`);
    samples.set(sample, Number(line.slice(at + 1)));
  }
  return samples;
}

/** The samples with this prefix, without the prefix. */
async function read({ render }: Pick<Metrics, 'render'>, name: string): Promise<Record<string, number>> {
  const samples = [...samplesOf(await render())].filter(([sample]) => sample === name || sample.startsWith(`${name}{`));
  return Object.fromEntries(samples.map(([sample, value]) => [sample.slice(name.length), value]));
}

async function opened(t: TestContext): Promise<TestStore & { readonly metrics: Metrics }> {
  const s = await openTestStore(t);
  return { ...s, metrics: createMetrics({ queues: s.store.queues, clock: s.clock }) };
}

const REQUEST = { route: '/livez', metered: null, method: 'GET', status: 200, refusal: null, seconds: 0.002 } as const;

describe('the metrics', () => {
  it('of the process are measured once and shared by all services in it', async (t) => {
    const measure = t.mock.method(performanceHooks, 'monitorEventLoopDelay');
    const [first, second] = [await opened(t), await opened(t)];
    first.metrics.observeRequest(REQUEST);
    assert.ok(measure.mock.callCount() <= 1, `${measure.mock.callCount()} times`);
    for (const { metrics } of [first, second]) {
      assert.equal(Object.keys(await read(metrics, 'nodejs_eventloop_lag_p99_seconds')).length, 1);
    }
    assert.deepEqual(await read(second.metrics, 'sallyport_http_requests_total'), {});
  });

  it('of instances and their database are read with each request for them, and only if there are several instances', async (t) => {
    const s = await opened(t);
    assert.doesNotMatch(await s.metrics.render(), /sallyport_(instances|database|webhooks_held)/);
    const database = {
      roundTripMs: 2,
      clockAheadMs: -30,
      isSynchronous: true,
      oldestSnapshotMs: 4000,
      standbys: [
        { name: 'near', state: 'streaming', isSynchronous: true, lagMs: 5 },
        { name: 'hidden', state: null, isSynchronous: false, lagMs: null },
      ],
      partitionsEndAt: s.clock() + 14.5 * 86_400_000,
    };
    const one = { number: 1, name: 'a', version: '1', address: null, webhooks: 3, duties: [] };
    const times = { startedAt: 0, seenAt: 0, expiresAt: 0 };
    const instances = {
      list: async () => [true, true, false].map((alive) => ({ ...one, ...times, alive })),
      held: () => 3,
      database: async () => database,
    };
    const metrics = createMetrics({ queues: s.store.queues, clock: s.clock, instances });
    const found: Record<string, number> = {};
    for (const line of (await metrics.render()).split('\n')) {
      const [, name, value] = /^(sallyport_(?:instances|webhooks_held|database)\S*) (\S+)$/.exec(line) ?? [];
      if (name !== undefined) found[name.replace('sallyport_', '')] = Number(value);
    }
    assert.deepEqual(found, {
      'instances{state="alive"}': 2,
      'instances{state="expired"}': 1,
      webhooks_held: 3,
      database_round_trip_seconds: 0.002,
      database_clock_difference_seconds: -0.03,
      'database_standby_lag_seconds{standby="near",synchronous="true"}': 0.005,
      database_oldest_snapshot_seconds: 4,
      database_partitions_days: 14.5,
    });
  });

  it('count requests by route, method and status, without labels that a client can invent', async (t) => {
    const { metrics } = await opened(t);
    metrics.observeRequest(REQUEST);
    metrics.observeRequest(REQUEST);
    metrics.observeRequest({ ...REQUEST, method: 'HEAD' });
    metrics.observeRequest({ ...REQUEST, route: null, method: 'BREW', status: 404, refusal: 'not_found' });
    assert.deepEqual(await read(metrics, 'sallyport_http_requests_total'), {
      '{route="/livez",method="GET",status="200"}': 2,
      '{route="/livez",method="HEAD",status="200"}': 1,
      '{route="unknown",method="other",status="404"}': 1,
    });
    assert.equal(
      (await read(metrics, 'sallyport_http_request_duration_seconds_bucket'))['{le="0.0025",route="/livez"}'],
      3,
    );
  });

  it('count issued and refused tokens, and refusals of the gate', async (t) => {
    const { metrics } = await opened(t);
    const token = { ...REQUEST, route: TOKEN, metered: 'token', method: 'POST' } as const;
    metrics.observeRequest(token);
    metrics.observeRequest({ ...token, status: 400, refusal: 'invalid_client' });
    metrics.observeRequest({ ...token, status: 400, refusal: 'invalid_scope' });
    metrics.observeRequest({ ...token, status: 400, refusal: 'invalid_scope' });
    metrics.observeRequest({ ...REQUEST, status: 401, refusal: 'insufficient_scope' });
    metrics.observeRequest({ ...REQUEST, status: 400, refusal: 'validation_failed' });
    assert.deepEqual(await read(metrics, 'sallyport_token_requests_total'), {
      '{result="issued"}': 1,
      '{result="invalid_client"}': 1,
      '{result="invalid_scope"}': 2,
    });
    assert.deepEqual(await read(metrics, 'sallyport_gate_refusals_total'), { '{reason="insufficient_scope"}': 1 });
  });

  it('count records by webhook and outcome, and measure attempts, including heartbeats', async (t) => {
    const { metrics, ids, clock } = await opened(t);
    const batch = batchOf(5, 9);
    const timings = { dnsMs: 1, connectMs: 1, tlsMs: 1, firstByteMs: 1, totalMs: 30 };
    const attempt = attemptOf({ ids, clock }, batch, { timings });
    const failed = { ...attempt, errorClass: 'tls_expired' };
    metrics.observeSettled('w1', { batch, fate: { kind: 'delivered', at: 1 }, attempt });
    metrics.observeSettled('w1', { batch, fate: { kind: 'retry', at: 1, contentRefusals: 0 }, attempt: failed });
    metrics.observeSettled('w2', { batch, fate: { kind: 'discarded', at: 1 }, attempt: null });
    metrics.observeSettled('w2', { batch: null, fate: null, attempt: { ...failed, kind: 'heartbeat' } });
    assert.deepEqual(await read(metrics, 'sallyport_attempt_errors_total'), { '{class="tls_expired"}': 2 });
    const buckets = await read(metrics, 'sallyport_attempt_duration_seconds_bucket');
    assert.equal(buckets['{le="0.025",kind="delivery",outcome="delivered"}'], 0);
    assert.equal(buckets['{le="0.05",kind="delivery",outcome="delivered"}'], 1);
    const attempts = await read(metrics, 'sallyport_attempt_duration_seconds_count');
    assert.deepEqual(attempts, {
      '{kind="delivery",outcome="delivered"}': 1,
      '{kind="delivery",outcome="failed"}': 1,
      '{kind="heartbeat",outcome="failed"}': 1,
    });
  });

  it('start at 0 for each webhook and outcome, so that the first dead record is an increase', async (t) => {
    const s = await opened(t);
    await subscribe(s, ['order.placed']);
    const [webhook] = await s.store.webhooks.list('', 1);
    const dead = `{webhook="${webhook?.id}",outcome="dead"}`;
    const before = await read(s.metrics, 'sallyport_deliveries_total');
    assert.equal(Object.keys(before).length, 6);
    assert.equal(before[dead], 0);
    s.metrics.observeSettled(webhook?.id ?? '', { batch: batchOf(0, 2), fate: { kind: 'dead', at: 1 }, attempt: null });
    assert.equal((await read(s.metrics, 'sallyport_deliveries_total'))[dead], 3);
  });

  it('show the pending records of each webhook and their age, from its progress', async (t) => {
    const s = await opened(t);
    const [number, idle] = [await subscribe(s, ['order.placed']), await subscribe(s, ['stock.low'])];
    await run(s, number);
    const [webhook, other] = (await s.store.webhooks.list('', 10)).map(({ id }) => id);
    assert.ok(idle > number);
    await publishMany(s, 'order.placed', 2);
    s.advance(1000);
    await publishMany(s, 'order.placed', 8);
    const queue = async (): Promise<unknown[]> => [
      await read(s.metrics, 'sallyport_webhook_queue_records'),
      await read(s.metrics, 'sallyport_webhook_oldest_pending_seconds'),
    ];
    const told = (records: number, seconds: number): unknown[] => [
      { [`{webhook="${webhook}"}`]: records, [`{webhook="${other}"}`]: 0 },
      { [`{webhook="${webhook}"}`]: seconds, [`{webhook="${other}"}`]: 0 },
    ];
    assert.deepEqual(await queue(), told(10, 1));
    const first = await claimNext(s, number, 2);
    const second = await claimNext(s, number, 3);
    s.advance(4000);
    assert.deepEqual(await queue(), told(10, 5));
    await settleBatch(s, first, { kind: 'delivered', at: s.clock() });
    assert.deepEqual(await queue(), told(8, 4));
    await settleBatch(s, second, { kind: 'halve', at: s.clock(), halfIds: ['a', 'b'] });
    assert.deepEqual(await queue(), told(8, 4));
    const range = { webhookNumber: number, first: 0, last: 0, states: ['delivered'] as const, now: s.clock() };
    await s.store.replays.replay({ ...range, newId: s.ids.uuid }, s.entry());
    assert.deepEqual(await queue(), told(9, 5));
    assert.deepEqual(await read(s.metrics, 'sallyport_webhook_info'), {
      [`{webhook="${webhook}",name="for order.placed",state="running"}`]: 1,
      [`{webhook="${other}",name="for stock.low",state="stopped"}`]: 1,
    });
  });

  it('scan no table but the webhooks’ progress', async (t) => {
    const { sqlite: database } = await opened(t);
    const asked: string[] = [];
    const all = (sql: string): Row[] => {
      asked.push(sql);
      return [];
    };
    await queueStore({ ...database, all }).read(10);
    const plan = database.connection.prepare(`EXPLAIN QUERY PLAN ${sqliteText(asked[0] ?? '')}`).all({ limit: 10 }) as {
      detail: string;
    }[];
    const details = plan.map(({ detail }) => detail);
    assert.deepEqual(
      details.filter((detail) => detail.startsWith('SCAN')),
      ['SCAN p'],
    );
    assert.ok(
      details.some((detail) => detail.startsWith('SEARCH batch USING COVERING INDEX batch_pending')),
      details.join('\n'),
    );
  });

  it('have series for a bounded number of webhooks, one for all others, and none for deleted webhooks', async (t) => {
    const s = await opened(t);
    s.sqlite.connection.pragma('synchronous = OFF');
    for (let n = 0; n < METRICS_WEBHOOKS_MAX + 3; n++) await subscribe(s, ['order.placed']);
    await publishMany(s, 'order.placed', 2);
    const batch = batchOf(0, 0);
    const delivered = { batch, fate: { kind: 'delivered', at: 1 }, attempt: null } as const;
    const queues = await read(s.metrics, 'sallyport_webhook_queue_records');
    assert.equal(Object.keys(queues).length, METRICS_WEBHOOKS_MAX + 1);
    assert.equal(queues['{webhook="other"}'], 3 * 2);
    const begun = await read(s.metrics, 'sallyport_deliveries_total');
    assert.equal(begun['{webhook="other",outcome="dead"}'], 0);
    for (const { id } of await s.store.webhooks.list('', 1000)) s.metrics.observeSettled(id, delivered);
    const before = await read(s.metrics, 'sallyport_deliveries_total');
    assert.equal(Object.keys(before).length, (METRICS_WEBHOOKS_MAX + 1) * 6);
    assert.equal(before['{webhook="other",outcome="delivered"}'], 3);
    const [gone] = await s.store.webhooks.list('', 1);
    await s.store.webhooks.remove(gone?.id ?? '', s.entry());
    const after = await read(s.metrics, 'sallyport_deliveries_total');
    assert.equal(after[`{webhook="${gone?.id}",outcome="delivered"}`], undefined);
    // Another webhook takes its place.
    assert.equal(Object.keys(after).length, (METRICS_WEBHOOKS_MAX + 1) * 6);
  });

  it('include memory, processor time and event loop lag of the process', async (t) => {
    const { metrics } = await opened(t);
    const samples = samplesOf(await metrics.render());
    for (const name of [
      'process_resident_memory_bytes',
      'process_cpu_seconds_total',
      'nodejs_eventloop_lag_p99_seconds',
    ]) {
      assert.ok(samples.has(name), name);
    }
  });

  it('of a service do not include those of another service in the process', async (t) => {
    const [a, b] = [await opened(t), await opened(t)];
    a.metrics.observeRequest(REQUEST);
    assert.deepEqual(await read(b.metrics, 'sallyport_http_requests_total'), {});
  });
});

describe('GET /metrics', () => {
  it('answers on the loopback address without a token, in Prometheus’s text format', async (t) => {
    const { service, admin, receiver } = await startJourney(t);
    await makeEventType(admin, 'order.placed');
    const { at, webhook } = await connect({ admin, receiver }, ['order.placed']);
    await publish(admin, 'order.placed', { n: 1 }, { n: 2 });
    await at.next();
    await service.log.nextAttempt(webhook.id);
    await stopWebhook(admin, webhook);
    await publish(admin, 'order.placed', { n: 3 });
    const { status, headers, body } = await createClient(service.url, null).get<string>('/metrics');
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    const samples = samplesOf(body);
    assert.equal(samples.get(`sallyport_deliveries_total{webhook="${webhook.id}",outcome="delivered"}`), 2);
    assert.equal(samples.get(`sallyport_webhook_queue_records{webhook="${webhook.id}"}`), 1);
    assert.equal(samples.get('sallyport_token_requests_total{result="issued"}'), 1);
    assert.ok((samples.get('sallyport_housekeeping_step_duration_seconds_count') ?? 0) >= 1);
  });

  it('needs a token with edge:metrics if a proxy forwarded the request', async (t) => {
    const { admin } = await startJourney(t);
    const { api } = await registerApplication(admin, ['edge:metrics']);
    const { api: other } = await registerApplication(admin, ['webhooks:view']);
    const forwarded = { 'x-forwarded-for': '127.0.0.1' };
    assert.equal((await admin.as(null).get('/metrics', forwarded)).status, 401);
    const refusal = await other.get('/metrics', forwarded);
    assert.equal(refusal.status, 401);
    assert.match(refusal.headers.get('www-authenticate') ?? '', /insufficient_scope.*edge:metrics/);
    assert.equal((await api.get('/metrics', forwarded)).status, 200);
    assert.equal((await other.get('/metrics')).status, 200);
  });

  const asked = async (remoteAddress: string | undefined, headers: Record<string, string> = {}): Promise<boolean> => {
    const gate = { authenticate: () => Promise.reject(new Refusal('unauthorized', 'asked')) } as unknown as Gate;
    const [route] = metricsRoutes({ gate, metrics: { contentType: 'text/plain', render: async () => '' } });
    const call = { request: { socket: { remoteAddress }, headers, headersDistinct: {} } } as unknown as Call;
    return (route ?? assert.fail()).respond(call).then(
      () => false,
      () => true,
    );
  };

  it('checks only the address of the connection', async () => {
    for (const address of ['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])
      assert.equal(await asked(address), false, address);
    for (const address of [
      '10.0.0.1',
      '128.0.0.1',
      '::',
      '::2',
      '::ffff:10.0.0.1',
      'fe80::1%eth0',
      '2001:db8::1',
      '',
      undefined,
    ]) {
      assert.equal(await asked(address), true, String(address));
    }
  });

  it('recognizes a proxy by any of its headers', async () => {
    const names = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];
    for (const name of names) assert.equal(await asked('127.0.0.1', { [name]: '' }), true, name);
    assert.equal(await asked('127.0.0.1', { host: 'edge.example', 'user-agent': 'Prometheus/3' }), false);
  });
});

describe('the dashboard', () => {
  type Panel = {
    readonly title?: string;
    readonly targets?: readonly { readonly expr: string }[];
    readonly panels?: readonly Panel[];
  };
  const dashboard = JSON.parse(readFileSync(new URL('../../docs/grafana/sallyport.json', import.meta.url), 'utf8')) as {
    readonly title: string;
    readonly panels: readonly Panel[];
    readonly templating: { readonly list: readonly { readonly query?: string | { readonly query: string } }[] };
  };
  const panels = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const queries = dashboard.templating.list.map(({ query }) =>
    typeof query === 'string' ? query : (query?.query ?? ''),
  );

  it('uses exactly the metrics of the service, with their labels', async (t) => {
    const { metrics } = await opened(t);
    const text = await metrics.render();
    const exist = new Set(
      [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) => namesOf(name, type)),
    );
    const used = new Set(
      [...expressions, ...queries].flatMap((text) => text.match(/\b(?:sallyport|nodejs|process)_[a-z0-9_]+/g) ?? []),
    );
    for (const name of used) assert.ok(exist.has(name), `the dashboard shows ${name}, which there is not`);
    const own = [...text.matchAll(/^# TYPE (sallyport_\S+) (\S+)$/gm)];
    assert.ok(own.length >= 12);
    for (const [, name = '', type] of own) {
      assert.ok(
        namesOf(name, type).some((sample) => used.has(sample)),
        `the dashboard does not show ${name}`,
      );
    }
  });

  it('has a title for each panel, and at least one query', () => {
    assert.equal(dashboard.title, 'Sallyport');
    for (const { title, targets, panels: inner } of panels) {
      assert.ok(title !== undefined && title !== '');
      assert.ok(inner !== undefined || (targets?.length ?? 0) > 0, `${title} shows nothing`);
    }
  });

  function namesOf(name: string, type: string | undefined): string[] {
    return type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
  }
});
