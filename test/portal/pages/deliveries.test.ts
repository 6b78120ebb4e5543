/** What pages say of deliveries and attempts, case by case. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AttemptRecord } from '../../../src/domain/batch.ts';
import { NO_TIMINGS, RESPONSE_KEPT_BYTES, type Timings } from '../../../src/domain/outcome.ts';
import type { Delivery, WebhookState } from '../../../src/domain/webhook.ts';
import { type Html, html } from '../../../src/http/html.ts';
import { createIds, randomBytes } from '../../../src/kernel/ids.ts';
import { createAttemptFeed, FEED_BUFFERED } from '../../../src/observe/attempt-feed.ts';
import { attemptMoment, outcomeBadge, waterfall } from '../../../src/portal/deliveries/attempt-details.ts';
import { standing } from '../../../src/portal/deliveries/delivery-detail.ts';
import { readAsked } from '../../../src/portal/deliveries/delivery-filters.ts';
import { attemptList, tail, tailEvents } from '../../../src/portal/deliveries/live-pages.ts';
import { attentionSection } from '../../../src/portal/overview/overview-pages.ts';
import { TAIL_SHOWN } from '../../../src/portal/parts/limits.ts';
import type { Ailing } from '../../../src/store/port/overview.ts';
import { batchOf, progressOf } from '../../support/attempts.ts';
import { attemptOf } from '../../support/batches.ts';
import { NOW } from '../../support/store.ts';

const clock = (): number => NOW;
const ids = createIds(clock, randomBytes);

function attempt(more: Partial<AttemptRecord> = {}): AttemptRecord {
  return attemptOf({ ids, clock }, batchOf(7, 7), more);
}

/** As one reads it. */
function textOf(...parts: readonly (Html | string | null | undefined)[]): string {
  const { markup } = html`${parts.map((part) => part ?? null)}`;
  const plain = markup.replace(/<\/(?:li|p|dt|dd|h2|figcaption|summary|td|th)>/g, ' ').replace(/<[^>]*>/g, '');
  return plain.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replace(/\s+/g, ' ').trim();
}

const FAILED = {
  responseStatus: null,
  responseHeaders: null,
  responseBody: null,
  errorClass: 'dns',
  errorMessage: 'no such host',
};

describe('an attempt', () => {
  it('is labelled with its status or its error', () => {
    const told = (more: Partial<AttemptRecord>): string => textOf(outcomeBadge(attempt(more)));
    assert.equal(told({}), '200');
    assert.equal(told({ responseStatus: 503, errorClass: 'http_status' }), '503');
    assert.equal(told({ responseStatus: 200, errorClass: 'response_too_large' }), 'response too large');
    assert.equal(told(FAILED), 'dns');
    assert.equal(told({ responseStatus: null, errorClass: 'http_status' }), 'http status');
  });

  const cases: readonly [what: string, more: Partial<AttemptRecord>, url: string | null, says: RegExp, not: RegExp][] =
    [
      [
        'one that succeeded',
        {},
        'https://shop.example/in?a=1',
        /Attempt 1 200 Sent without other records .*POST \/in\?a=1 host: shop\.example.*200 date: .* ok$/,
        /Error class/,
      ],
      [
        'one whose endpoint has no address any more',
        {},
        null,
        /Sent without other records .*content-type: application\/json/,
        /POST/,
      ],
      [
        'one without an answer',
        FAILED,
        null,
        /^Attempt 1 dns No such host\. Check the host name.*Error class dns.*No response\./,
        /200/,
      ],
      [
        'one that says nothing of its failure',
        { ...FAILED, errorMessage: null },
        null,
        /Dns\. Check the host name/,
        /null/,
      ],
      [
        'one whose answer was erased',
        { responseHeaders: null, responseBody: null },
        null,
        /Status 200\. The response was erased/,
        /date/,
      ],
      [
        'one that was redirected',
        {
          ...FAILED,
          responseStatus: 308,
          responseHeaders: { location: 'https://new.example/in?a=<b>' },
          errorClass: 'http_status',
          errorMessage: 'the receiver answered 308',
        },
        null,
        /does not follow redirects\. .* The redirect leads to https:\/\/new\.example\/in\?a=&lt;b&gt;\./,
        /Compare/,
      ],
      [
        'one whose answer violates HTTP',
        { responseProblem: 'a header line has no colon' },
        null,
        /The status counts, but something is wrong with the response: a header line has no colon\./,
        /Error class/,
      ],
      ['one without a body', { responseStatus: 204, responseBody: new Uint8Array() }, null, /\(no body\)/, /4 KiB/],
      ['one whose body is not kept', { responseBody: null }, null, /\(no body\)/, /4 KiB/],
      [
        'one whose body is cut',
        { responseBody: new Uint8Array(RESPONSE_KEPT_BYTES).fill(120) },
        null,
        /first 4 KiB of the body/,
        /no body/,
      ],
      ['one of many records', { lastOffset: 9 }, null, /Sent with 2 other records \(#7 to #9\)/, /alone/],
      [
        'one of two records, that took a while',
        { lastOffset: 8, timings: { ...NO_TIMINGS, totalMs: 1500 } },
        null,
        /Sent with 1 other record \(#7 to #8\), 1\.5 s/,
        /alone/,
      ],
    ];
  for (const [what, more, url, says, not] of cases) {
    it(`is described: ${what}`, () => {
      const { title, text, tone } = attemptMoment(attempt(more), url, false);
      const told = textOf(title, ' ', text);
      assert.match(told, says);
      assert.doesNotMatch(told, not);
      assert.equal(tone, more.errorClass === undefined ? 'positive' : 'negative');
    });
  }

  it('is unfolded where it is the last one', () => {
    assert.match(html`${attemptMoment(attempt(), null, true).text ?? null}`.markup, /<details class="attempt" open>/);
    assert.doesNotMatch(html`${attemptMoment(attempt(), null, false).text ?? null}`.markup, / open>/);
  });
});

describe('the steps of an attempt', () => {
  const timed = (more: Partial<Timings>): string => {
    const drawn = waterfall({ ...NO_TIMINGS, ...more });
    return drawn === null ? 'nothing' : textOf(drawn);
  };
  const cases: readonly [what: string, timings: Partial<Timings>, told: string][] = [
    ['none', {}, 'nothing'],
    [
      'all',
      { dnsMs: 10, connectMs: 20, tlsMs: 30, firstByteMs: 39, totalMs: 100 },
      'DNS10 ms Connect20 ms TLS30 ms First byte39 ms Total100 ms',
    ],
    [
      'those of a connection that stood, and waiting for it',
      { firstByteMs: 40, totalMs: 100 },
      'First byte40 ms Other60 ms Total100 ms',
    ],
    ['the sum alone', { totalMs: 7 }, 'Total7 ms'],
    ['no sum', { dnsMs: 5 }, 'DNS5 ms Total5 ms'],
    ['nothing that took time', { firstByteMs: 0, totalMs: 0 }, 'First byte0 ms Other1 ms Total0 ms'],
  ];
  for (const [what, timings, told] of cases) it(`are drawn: ${what}`, () => assert.equal(timed(timings), told));

  it('show the TLS step in red only if TLS failed', () => {
    const drawn = (errorClass: string | null): string =>
      waterfall({ ...NO_TIMINGS, tlsMs: 9 }, errorClass)?.markup ?? '';
    for (const failed of ['tls', 'tls_expired', 'tls_untrusted', 'tls_wrong_host']) {
      assert.match(drawn(failed), /waterfall-failed/);
    }
    for (const other of [null, 'timeout', 'http_status']) assert.doesNotMatch(drawn(other), /waterfall-failed/);
  });

  it('stay within the whole, however short or long they are', () => {
    const { markup } =
      waterfall({ ...NO_TIMINGS, dnsMs: 0, connectMs: 900, tlsMs: 0, firstByteMs: 100, totalMs: 500 }) ?? html``;
    const bars = [...markup.matchAll(/<rect x="(\d+)" y="0" width="(\d+)"/g)].map(
      ([, x, width]) => Number(x) + Number(width),
    );
    assert.equal(bars.length, 4);
    for (const end of bars) assert.ok(end <= 1000, `${end}`);
  });
});

describe('the state of a delivery', () => {
  const delivery = {
    state: 'pending',
    createdAt: NOW - 5000,
    settledAt: null,
    attemptCount: 1,
    nextAttemptAt: NOW + 60_000,
    isLeased: false,
  };
  const failed = [attempt(FAILED)];
  const cases: readonly [
    more: Partial<Delivery>,
    attempts: readonly AttemptRecord[],
    state: WebhookState,
    told: RegExp,
  ][] = [
    [
      { state: 'delivered', settledAt: NOW },
      [attempt()],
      'running',
      /^Delivered at the first attempt, 5 s after it was published\.$/,
    ],
    [
      { state: 'delivered', settledAt: null, attemptCount: 3 },
      [attempt()],
      'running',
      /^Delivered at attempt 3, 0 ms after/,
    ],
    [
      { state: 'dead', attemptCount: 20 },
      failed,
      'failing',
      /^Given up after 20 attempts\. No such host\. Check.* It is kept/,
    ],
    [{ state: 'dead' }, [], 'failing', /^Given up after one attempt\. It is kept/],
    [{ state: 'discarded' }, [], 'running', /^Not sent\. Its data was erased/],
    [{}, failed, 'failing', /^Attempt 1 of 20 failed\. No such host\. .* The next attempt is in 1 minute\.$/],
    [{ nextAttemptAt: NOW }, failed, 'failing', /It is due and is sent next\.$/],
    [{}, failed, 'stopped', /It waits because its webhook is stopped\.$/],
    [{}, failed, 'failed', /It waits because its webhook has failed\.$/],
    [{ attemptCount: 0, nextAttemptAt: null }, [], 'running', /^It waits for the records before it\.$/],
    [{ attemptCount: 0, nextAttemptAt: NOW }, failed, 'running', /^It is due and is sent next\.$/],
    [{ isLeased: true }, [], 'running', /^Attempt 1 is in progress\.$/],
    [
      { isLeased: true, attemptCount: 2 },
      failed,
      'failing',
      /^Attempt 1 of 20 failed\. .* Attempt 2 is in progress\.$/,
    ],
    [{ isLeased: true, nextAttemptAt: NOW }, [], 'running', /^It is due and is sent next\.$/],
  ];
  for (const [more, attempts, state, told] of cases) {
    it(`is said: ${told.source}`, () => {
      const webhook = { maxAttempts: 20, progress: progressOf({ state }) };
      const said = textOf(standing({ delivery: { ...delivery, ...more } as Delivery, attempts, webhook }, NOW));
      assert.match(said, told);
    });
  }
});

describe('the search of deliveries', () => {
  const ID = '01933f2a-0000-7000-8000-000000000000';
  const cases: readonly [typed: string, searched: object][] = [
    ['', { kind: 'nothing' }],
    ['  ', { kind: 'nothing' }],
    [ID, { kind: 'id', id: ID }],
    [` MSG_${ID.toUpperCase()} `, { kind: 'id', id: ID }],
    ['7', { kind: 'offsets', first: 7, last: 7 }],
    ['#7', { kind: 'offsets', first: 7, last: 7 }],
    ['#7-12', { kind: 'offsets', first: 7, last: 12 }],
    ['7 – #12', { kind: 'offsets', first: 7, last: 12 }],
    ['7-', { kind: 'subject', subject: '7-' }],
    ['1234567890123456', { kind: 'subject', subject: '1234567890123456' }],
    ['anna@example.com', { kind: 'subject', subject: 'anna@example.com' }],
  ];
  for (const [typed, searched] of cases) {
    it(`is understood: ${JSON.stringify(typed)}`, () => {
      assert.deepEqual(readAsked(new URLSearchParams({ q: typed }), NOW).searched, searched);
    });
  }

  it('is one filter among others; an offset is of a webhook', () => {
    const asked = (query: Record<string, string>) => readAsked(new URLSearchParams(query), NOW);
    assert.deepEqual(asked({ q: '#3', state: 'dead' }).filter, { state: 'dead' });
    const { filter, isFiltered } = asked({
      q: '#3',
      webhook: 'w',
      type: 'a.b',
      since: '2026-01-01',
      until: '2026-01-02T03:04',
      state: 'odd',
    });
    const [since, until] = [Date.parse('2026-01-01T00:00Z'), Date.parse('2026-01-02T03:04Z')];
    assert.deepEqual(filter, {
      webhookId: 'w',
      eventType: 'a.b',
      since,
      until,
      offsets: { first: 3, last: 3 },
    });
    assert.ok(isFiltered);
    assert.ok(!asked({ cursor: 'x', state: '' }).isFiltered);
    assert.throws(() => asked({ since: 'yesterday' }), /since/);
  });

  it('has periods that end now, and go before other times', () => {
    const asked = (query: Record<string, string>) => readAsked(new URLSearchParams(query), NOW).filter;
    const hour = 3_600_000;
    for (const [period, ms] of [
      ['1h', hour],
      ['24h', 24 * hour],
      ['7d', 168 * hour],
    ] as const) {
      assert.deepEqual(asked({ period, since: '2020-01-01', until: '2020-01-02' }), { since: NOW - ms });
    }
    assert.deepEqual(asked({ period: '1y' }), {});
    assert.deepEqual(asked({ since: '2026-01-01T00:00Z' }), { since: Date.parse('2026-01-01T00:00Z') });
  });

  const TLS = ['tls', 'tls_expired', 'tls_untrusted', 'tls_wrong_host'];
  const responses: readonly [typed: string, response: object][] = [
    ['500', { first: 500, last: 500 }],
    ['50', { first: 500, last: 509 }],
    ['4xx', { first: 400, last: 499 }],
    [' 4XX ', { first: 400, last: 499 }],
    ['42x', { first: 420, last: 429 }],
    ['timeout', { errorClasses: ['timeout'] }],
    ['time', { errorClasses: ['timeout'] }],
    ['tls', { errorClasses: TLS }],
    ['tls wrong host', { errorClasses: ['tls_wrong_host'] }],
    ['connection', { errorClasses: ['connect', 'reset', 'proxy'] }],
    ['egress_refused', { errorClasses: ['egress_refused'] }],
    ['600', { errorClasses: [] }],
    ['constructor', { errorClasses: [] }],
  ];
  for (const [typed, response] of responses) {
    it(`has the response to the last attempt: ${JSON.stringify(typed)}`, () => {
      assert.deepEqual(readAsked(new URLSearchParams({ response: typed }), NOW).filter, { response });
    });
  }
});

describe('a live tail', () => {
  const webhook = { id: 'w', name: 'Shop' };
  const rows = (attempts: readonly AttemptRecord[], isOfAll: boolean): string =>
    textOf(attemptList(attempts, () => webhook, isOfAll));

  it('shows the records and the error of each attempt', () => {
    const other = { firstOffset: null, lastOffset: null };
    assert.match(rows([attempt({ attemptNumber: 3 })], true), /200 ?Shop record #7, attempt 3/);
    assert.match(
      rows([attempt({ lastOffset: 9, timings: { ...NO_TIMINGS, totalMs: 12 } })], false),
      /200 ?3 records #7-9 ?12 ms/,
    );
    assert.match(rows([attempt({ ...FAILED, ...other, kind: 'heartbeat' })], false), /dns ?heartbeat ?no such host/);
    assert.match(rows([attempt({ ...other, kind: 'test' })], false), /test event/);
    // Of a webhook that is gone nothing can be linked to.
    const { markup } = tail({ attempts: [attempt()], webhookOf: () => null, stream: '/live' });
    assert.doesNotMatch(markup, /href/);
    assert.match(rows([], true), /No attempts yet/);
  });

  it('continues with settled attempts, newest first, and counts the ones that it left out', async () => {
    const feed = createAttemptFeed();
    const gone = new AbortController();
    const events = tailEvents(feed, { webhookId: null, outcome: null }, async () => webhook, gone.signal);
    const settle = (n: number): void => {
      const batch = batchOf(n, n);
      feed.observeSettled('w', {
        batch,
        fate: { kind: 'delivered', at: 1 },
        attempt: attemptOf({ ids, clock }, batch),
      });
    };
    const first = events.next();
    settle(1);
    assert.match(textOf((await first).value?.html), /Shop record #1$/);
    for (let n = 2; n < 4; n += 1) settle(n);
    assert.match(textOf((await events.next()).value?.html), /record #3 .*record #2$/);
    for (let n = 0; n < FEED_BUFFERED + 5; n += 1) settle(n);
    const many = (await events.next()).value?.html ?? html``;
    assert.equal(many.markup.split('class="tail-row is-new">').length - 1, TAIL_SHOWN);
    assert.match(textOf(many), new RegExp(`${FEED_BUFFERED + 5 - TAIL_SHOWN} earlier attempts are not shown`));
    for (let n = 0; n < TAIL_SHOWN + 1; n += 1) settle(n);
    assert.match(textOf((await events.next()).value?.html), /1 earlier attempt is not shown/);
    gone.abort();
    assert.equal((await events.next()).done, true);
  });
});

describe('the stream of a live list', () => {
  it('leaves out attempts with another outcome', async () => {
    const feed = createAttemptFeed();
    const gone = new AbortController();
    const failed = tailEvents(feed, { webhookId: 'w', outcome: 'failed' }, async () => null, gone.signal);
    const delivered = tailEvents(feed, { webhookId: null, outcome: 'delivered' }, async () => null, gone.signal);
    const [firstFailed, firstDelivered] = [failed.next(), delivered.next()];
    const settle = (n: number, more: Partial<AttemptRecord>): void => {
      const batch = batchOf(n, n);
      const fate = { kind: 'delivered', at: 1 } as const;
      feed.observeSettled('w', { batch, fate, attempt: attemptOf({ ids, clock }, batch, more) });
    };
    settle(1, {});
    settle(2, FAILED);
    assert.match(textOf((await firstDelivered).value?.html), /record #1$/);
    assert.match(textOf((await firstFailed).value?.html), /record #2 ?no such host$/);
    gone.abort();
  });
});

describe('what needs attention', () => {
  const ailing: Ailing = {
    id: 'w',
    name: 'Shop',
    endpointId: 'e',
    endpointName: 'Dock',
    state: 'failing',
    reason: 'timeout',
    detail: 'no answer within 15 s',
    since: NOW - 60_000,
    waiting: 0,
  };
  const said = (some: readonly Partial<Ailing>[], ends: readonly number[] = []): string =>
    textOf(
      attentionSection({
        ailing: some.map((more) => ({ ...ailing, ...more })),
        expiring: ends.map((inMs, at) => ({
          kind: at === 0 ? 'key' : 'certificate',
          id: 'k',
          customerId: null,
          name: 'hr',
          expiresAt: NOW + inMs,
        })),
        now: NOW,
      }),
    );
  const cases: readonly [what: string, said: string, wanted: RegExp][] = [
    ['nothing', said([]), /^Problems ?Every started webhook delivers/],
    [
      'an error',
      said([{}]),
      /failing No answer within 15 s\. ?Have the receiver answer first.*Failures by cause.*1 minute ago 0$/,
    ],
    ['an error without words', said([{ detail: null }]), /failing Timeout\. ?Have the receiver/],
    [
      'a reason of its own',
      said([{ state: 'stopped', reason: 'endpoint_gone' }]),
      /stopped The endpoint answered 410 Gone/,
    ],
    ['no reason', said([{ state: 'failed', reason: null, waiting: 1234 }]), /failed –.* 1,234$/],
    [
      'a key that ends and a certificate that has',
      said([], [86_400_000 * 3, -5000]),
      /hr PGP key ends in 3 days .*hr Client certificate ended 5 seconds ago Receivers that require/,
    ],
  ];
  for (const [what, told, wanted] of cases) it(`is said: ${what}`, () => assert.match(told, wanted));
});
