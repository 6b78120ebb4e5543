/** The texts of pages about deliveries and attempts, case by case. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AttemptRecord } from '../../../src/domain/batch.ts';
import { NO_TIMINGS, RESPONSE_KEPT_BYTES, type Timings } from '../../../src/domain/outcome.ts';
import type { Delivery, Webhook, WebhookState } from '../../../src/domain/webhook.ts';
import { type Html, html } from '../../../src/http/html.ts';
import { createIds, randomBytes } from '../../../src/kernel/ids.ts';
import { createAttemptFeed, FEED_BUFFERED } from '../../../src/observe/attempt-feed.ts';
import { attemptMoment, outcomeBadge, waterfall } from '../../../src/portal/deliveries/attempt-details.ts';
import { momentsOf, type NamedResend, resendText, standing } from '../../../src/portal/deliveries/delivery-story.ts';
import { attemptList, tail, tailEvents } from '../../../src/portal/deliveries/live-pages.ts';
import { type AilingWebhook, attentionSection, problemLook } from '../../../src/portal/overview/attention.ts';
import { TAIL_SHOWN } from '../../../src/portal/parts/limits.ts';
import type { Cause } from '../../../src/portal/record/causes.ts';
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
    assert.equal(told(FAILED), 'host name not found');
    assert.equal(told({ responseStatus: null, errorClass: 'http_status' }), 'error status');
  });

  const cases: readonly [what: string, more: Partial<AttemptRecord>, url: string | null, says: RegExp, not: RegExp][] =
    [
      [
        'one that succeeded',
        {},
        'https://shop.example/in?a=1',
        /Attempt 4 200 One event Response body ok ?Headers .*POST \/in\?a=1 host: shop\.example.*200 date: /,
        /Error class/,
      ],
      ['one whose endpoint has no address any more', {}, null, /One event .*content-type: application\/json/, /POST/],
      [
        'one without an answer',
        FAILED,
        null,
        /^Attempt 4 host name not found No such host\. Check the host name.*To find others like it: response:dns.*No response\./,
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
        /Redirects are not followed\. .* The redirect leads to https:\/\/new\.example\/in\?a=&lt;b&gt;\./,
        /Compare/,
      ],
      [
        'one whose answer violates HTTP',
        { responseProblem: 'a header line has no colon' },
        null,
        /The status counts, but something is wrong with the response: a header line has no colon\./,
        /Error class/,
      ],
      ['one without a body', { responseStatus: 204, responseBody: new Uint8Array() }, null, /had no body/, /4 KiB/],
      ['one whose body is not kept', { responseBody: null }, null, /had no body/, /4 KiB/],
      [
        'one whose body is cut',
        { responseBody: new Uint8Array(RESPONSE_KEPT_BYTES).fill(120) },
        null,
        /Response body \(first 4 KiB\)/,
        /no body/,
      ],
      ['one of many records', { lastOffset: 9 }, null, /3 events \(#7–#9\) in one request/, /One/],
      [
        'one of two records, that took a while',
        { lastOffset: 8, timings: { ...NO_TIMINGS, totalMs: 1500 } },
        null,
        /2 events \(#7–#8\) in one request, answered in 1\.5 s/,
        /One/,
      ],
    ];
  for (const [what, more, url, says, not] of cases) {
    it(`is described: ${what}`, () => {
      const { title, text, tone } = attemptMoment(
        { ...attempt(more), number: 4 },
        { url, reader: null, curl: null, isSaid: false, isUnfolded: false },
      );
      const told = textOf(title, ' ', text);
      assert.match(told, says);
      assert.doesNotMatch(told, not);
      assert.equal(tone, more.errorClass === undefined ? 'positive' : 'negative');
    });
  }

  it('is unfolded where it is the last one', () => {
    const shown = (isUnfolded: boolean): string =>
      html`${attemptMoment({ ...attempt(), number: 1 }, { url: null, reader: null, curl: null, isSaid: false, isUnfolded }).text ?? null}`
        .markup;
    assert.match(shown(true), /<details class="attempt" open>/);
    assert.doesNotMatch(shown(false), / open>/);
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
      'DNS10 ms Connect20 ms TLS30 ms First byte39 ms Whole request100 ms',
    ],
    [
      'those of a connection that stood, and waiting for it',
      { firstByteMs: 40, totalMs: 100 },
      'First byte40 ms Other60 ms Whole request100 ms',
    ],
    ['the sum alone', { totalMs: 7 }, 'Whole request7 ms'],
    ['no sum', { dnsMs: 5 }, 'DNS5 ms Whole request5 ms'],
    ['nothing that took time', { firstByteMs: 0, totalMs: 0 }, 'First byte&lt; 1 ms Whole requestless than 1 ms'],
    [
      'steps whose rounded times are longer than the whole',
      { connectMs: 1, tlsMs: 2, firstByteMs: 1, totalMs: 3 },
      'Connect1 ms TLS2 ms First byte&lt; 1 ms Whole request3 ms',
    ],
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
    webhookName: 'Orders',
  };
  const failed = [attempt(FAILED)];
  const cases: readonly [
    more: Partial<Delivery>,
    attempts: readonly AttemptRecord[],
    state: WebhookState,
    told: RegExp,
    base?: number,
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
      /^Delivered at attempt 3, less than 1 ms after/,
    ],
    [
      { state: 'dead', attemptCount: 20 },
      failed,
      'failing',
      /^Given up after 20 attempts\. No such host\. Check.* The delivery is kept for 90 days\. Fix/,
    ],
    [{ state: 'dead' }, [], 'failing', /^Given up after one attempt\. The delivery is kept/],
    [{ state: 'discarded' }, [], 'running', /^Not sent\. Its data was erased/],
    [{}, failed, 'failing', /^Attempt 1 of 20 failed\. No such host\. .* The next attempt is due in 1 minute\.$/],
    [
      { nextAttemptAt: NOW },
      failed,
      'failing',
      /It is due, and waits for its turn: its webhook is failing, and sends one request at a time\.$/,
    ],
    [{}, failed, 'stopped', /It waits because its webhook is stopped\. It is sent when Orders is started\.$/],
    [{}, failed, 'failed', /It waits because its webhook has failed\. It is sent when Orders is started\.$/],
    [{ attemptCount: 0, nextAttemptAt: null }, [], 'running', /^It waits for the deliveries before it\.$/],
    [{ attemptCount: 0, nextAttemptAt: NOW }, failed, 'running', /^It is due and is sent next\.$/],
    [{ isLeased: true }, [], 'running', /^Attempt 1 is in progress\.$/],
    [
      { isLeased: true, attemptCount: 2 },
      failed,
      'failing',
      /^Attempt 1 of 20 failed\. .* Attempt 2 is in progress\.$/,
    ],
    [{ isLeased: true, nextAttemptAt: NOW }, [], 'running', /^Attempt 1 is in progress\.$/],
    [
      { state: 'delivered', settledAt: NOW },
      [attempt()],
      'running',
      /^Delivered when it was sent again \(attempt 6\), 5 s after/,
      5,
    ],
    [
      { state: 'dead', attemptCount: 2 },
      failed,
      'failing',
      /^Sent again, and given up after 2 more attempts\. No such host/,
      5,
    ],
    [{ attemptCount: 2 }, failed, 'failing', /^Attempt 7 failed, 2 of 20 since it was sent again\. No such host/, 5],
    [{ isLeased: true }, failed, 'failing', /^Attempt 6 is in progress\.$/, 5],
    [
      { state: 'dead', attemptCount: 2 },
      failed,
      'failed',
      /sent nothing since .* UTC\. Fix the cause, then start Orders and send it again/,
    ],
    [
      { state: 'dead', attemptCount: 1 },
      [attempt({ ...FAILED, errorClass: 'http_status', responseStatus: 401 })],
      'failing',
      /those of the receiver\. Credentials of ERP The delivery is kept for 90 days\. Fix the cause, then send it again\.$/,
    ],
    [
      { attemptCount: 1 },
      [attempt({ ...FAILED, errorClass: 'egress_refused' })],
      'failing',
      /add it to SALLYPORT_EGRESS_ALLOW and restart\./,
    ],
  ];
  for (const [more, attempts, state, told, base = 0] of cases) {
    it(`is said: ${told.source}`, () => {
      const webhook = { maxAttempts: 20, ordered: false, progress: progressOf({ state }) };
      const shown = { ...delivery, ...more } as Delivery;
      const said = textOf(
        standing(
          { delivery: shown, attempts, webhook, base, ahead: null, causes: [], endpoint: ERP, ...OPERATOR },
          NOW,
        ),
      );
      assert.match(said, told);
    });
  }
});

const ERP = { id: 'e', name: 'ERP' };
const OPERATOR = { reader: null, mayAct: true, deadDays: 90 } as const;

const ONE_AT_A_TIME = 'Orders is failing: it sends one request at a time. This page shows the result.';

describe('a delivery whose webhook failed before it was tried', () => {
  it('tells why the webhook failed and what helps, once, and nothing of dead deliveries', () => {
    const waits = { state: 'pending', createdAt: NOW, attemptCount: 0, nextAttemptAt: null, isLeased: false };
    const untried = { ...waits, webhookId: 'w', webhookName: 'Orders', webhookMode: 'push' } as Delivery;
    const told = (causes: readonly Cause[], stateReason = 'too_many_dead'): string => {
      const webhook = { maxAttempts: 20, ordered: false, progress: progressOf({ state: 'failed', stateReason }) };
      const given = { delivery: untried, attempts: [], webhook, base: 0, ahead: null, causes, ...OPERATOR };
      return textOf(standing({ ...given, endpoint: ERP }, NOW));
    };
    assert.match(
      told([{ ...CAUSE, cause: '401', dead: 10 }]),
      /^It waits because its webhook has failed\. Ten .*: 401 Unauthorized\. The .* Credentials of ERP\. It is sent when Orders is .*\.$/,
    );
    assert.match(told([]), /used up their attempts\. Fix the receiver, then start the webhook again\. It is sent when/);
    assert.match(
      told([{ ...CAUSE, cause: 'connect', retrying: 2 }], 'failing_too_long'),
      /failed for 24 hours: no connection\. Check that the receiver runs/,
    );
  });
});

describe('the message after a delivery is sent again', () => {
  const cases: readonly (readonly [
    Delivery['state'],
    Webhook['progress']['state'],
    Delivery['webhookMode'],
    string,
    (Webhook['ordered'] | 'tried')?,
  ])[] = [
    ['dead', 'running', 'push', 'Sending again. This page shows the result.'],
    ['pending', 'running', 'push', 'Trying it now. This page shows the result.', 'tried'],
    ['pending', 'failing', 'push', `It was made due. ${ONE_AT_A_TIME}`, 'tried'],
    ['dead', 'failing', 'push', `Sending again. ${ONE_AT_A_TIME}`],
    ['pending', 'failing', 'push', `It waits for its turn. ${ONE_AT_A_TIME}`],
    ['pending', 'failing', 'push', 'It waits for its turn: those before it are tried first, and now.', true],
    ['pending', 'running', 'push', 'It waits for its turn: those before it are tried first, and now.', 'key'],
    ['dead', 'failed', 'push', 'Queued. It is sent when Orders is started.'],
    ['delivered', 'stopped', 'push', 'Queued. It is sent when Orders is started.'],
    ['delivered', 'running', 'pull', 'The reader gets it again.'],
  ];
  for (const [state, webhookState, webhookMode, told, waits = false] of cases) {
    it(`is said of a ${state} one whose ${webhookMode} webhook is ${webhookState} (${waits})`, () => {
      const nextAttemptAt = waits === 'tried' ? NOW : null;
      const ordered = waits === 'tried' ? false : waits;
      const delivery = { state, webhookMode, webhookName: 'Orders', nextAttemptAt };
      assert.equal(resendText(delivery, webhookState, ordered), told);
    });
  }

  it('waits for a reader, where nothing is sent', () => {
    const last = (webhookMode: 'push' | 'pull') =>
      momentsOf(
        {
          delivery: { eventId: 'e', state: 'pending', createdAt: NOW, nextAttemptAt: null, webhookMode } as Delivery,
          attempts: [],
          resends: [],
          erasedAt: null,
          curlOf: () => null,
          url: null,
          stateThen: null,
          reader: null,
        },
        NOW,
      ).at(-1)?.title;
    assert.deepEqual([last('pull'), last('push')], ['Waits for its reader', 'Published']);
  });

  it('has a title in the timeline that agrees with the next attempt', () => {
    const titles = (startedAt: number, resend: NamedResend = { at: NOW, by: null, kind: 'again' }): string[] =>
      momentsOf(
        {
          delivery: { eventId: 'e', state: 'pending', createdAt: NOW - 9, nextAttemptAt: null } as Delivery,
          attempts: [{ ...attempt({ startedAt }), number: 1 }],
          resends: [resend],
          erasedAt: null,
          curlOf: () => null,
          url: null,
          stateThen: null,
          reader: null,
        },
        NOW,
      ).flatMap(({ title }) => (typeof title === 'string' ? [] : [textOf(title)]));
    assert.ok(titles(NOW - 5).includes('Queued to be sent again'));
    assert.ok(titles(NOW + 5).includes('Sent again'));
    assert.ok(titles(NOW + 60_000).includes('Queued to be sent again'), 'its webhook was started later');
    const now = { at: NOW, by: null, kind: 'now' } as const;
    assert.ok(titles(NOW - 5, { ...now, dueAt: NOW + 900 }).includes('Asked to be tried now'));
    assert.ok(titles(NOW + 5, { ...now, dueAt: NOW + 900 }).includes('Tried before its time'));
    assert.ok(titles(NOW + 900, { ...now, dueAt: NOW + 900 }).includes('Asked to be tried now'));
    assert.ok(titles(NOW + 5, { ...now, dueAt: null }).includes('Asked to be tried now'));
  });
});

describe('a delivery behind another one', () => {
  it('names the one that is tried first, and when', () => {
    const waiting = { state: 'pending', createdAt: NOW, attemptCount: 0, nextAttemptAt: null, isLeased: false };
    const nobody = { endpoint: null, causes: [], ...OPERATOR };
    const ahead = { id: 'x', offset: 33, nextAttemptAt: NOW + 4000 } as Delivery;
    const webhook = { maxAttempts: 20, ordered: true, progress: progressOf({ state: 'failing' }) };
    const shown = standing({ ...nobody, delivery: waiting as Delivery, attempts: [], webhook, base: 0, ahead }, NOW);
    assert.match(textOf(shown), /^It waits: #33 is tried first, next at \S+ \S+ UTC\.$/);
    assert.match(shown.markup, /href="\/deliveries\/x"/);
    const unordered = { ...webhook, ordered: false } as const;
    const failing = standing(
      { ...nobody, delivery: waiting as Delivery, attempts: [], webhook: unordered, base: 0, ahead },
      NOW,
    );
    assert.match(textOf(failing), /until one succeeds\. Try #33 now: if it arrives, the others follow\.$/);
  });
});

/** Knows no deliveries. */
function readingOf(webhook: { id: string; name: string; owner: null } | null): Parameters<typeof tailEvents>[2] {
  return { webhookOf: async () => webhook, carriedBy: async () => () => null };
}

describe('a live tail', () => {
  const webhook = { id: 'w', name: 'Shop', owner: null };
  const rows = (...attempts: readonly AttemptRecord[]): string =>
    textOf(attemptList(attempts, { webhookOf: () => webhook, carried: () => null }));

  it('shows the records and the error of each attempt', () => {
    const other = { firstOffset: null, lastOffset: null };
    assert.match(rows(attempt({ attemptNumber: 3 })), /200 ?#7 · Shop · attempt 3 ?21 Nov/);
    assert.match(
      rows(attempt({ lastOffset: 9, timings: { ...NO_TIMINGS, totalMs: 12 } })),
      /200 ?3 deliveries #7-9 · Shop · attempt 1 ?took 12 ms/,
    );
    assert.match(
      rows(attempt({ ...FAILED, ...other, kind: 'heartbeat' })),
      /host name not found ?heartbeat · Shop ?no such host/,
    );
    assert.match(rows(attempt({ ...other, kind: 'test' })), /test event/);
    // A cause is told once, until it changes.
    const down = { ...FAILED, errorClass: 'connect', errorMessage: 'refused' } as const;
    const many = [attempt(FAILED), attempt(FAILED), attempt(down), attempt(FAILED), attempt(), attempt(FAILED)];
    const list = attemptList(many, { webhookOf: () => webhook, carried: () => null });
    const told = [...list.markup.matchAll(/class="cell-hint"( hidden)?/g)].map(([, hidden]) => hidden === undefined);
    assert.deepEqual(told, [true, false, true, true, true]);
    // Of a webhook that is gone nothing can be linked to.
    const { markup } = tail({ attempts: [attempt()], webhookOf: () => null, carried: () => null, stream: '/live' });
    assert.doesNotMatch(markup, /href/);
    assert.match(rows(), /No attempts yet/);
  });

  it('continues with settled attempts, newest first, and counts the ones that it left out', async () => {
    const feed = createAttemptFeed();
    const gone = new AbortController();
    const events = tailEvents(feed, { webhookId: null, outcome: null }, readingOf(webhook), gone.signal);
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
    assert.match(textOf((await first).value?.html), /#1 · Shop · attempt 1 ?21 Nov 05:00:00 UTC$/);
    for (let n = 2; n < 4; n += 1) settle(n);
    assert.match(textOf((await events.next()).value?.html), /#3 .*#2 · Shop · attempt 1 ?21 Nov 05:00:00 UTC$/);
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
    const failed = tailEvents(feed, { webhookId: 'w', outcome: 'failed' }, readingOf(null), gone.signal);
    const delivered = tailEvents(feed, { webhookId: null, outcome: 'delivered' }, readingOf(null), gone.signal);
    const [firstFailed, firstDelivered] = [failed.next(), delivered.next()];
    const settle = (n: number, more: Partial<AttemptRecord>): void => {
      const batch = batchOf(n, n);
      const fate = { kind: 'delivered', at: 1 } as const;
      feed.observeSettled('w', { batch, fate, attempt: attemptOf({ ids, clock }, batch, more) });
    };
    settle(1, {});
    settle(2, FAILED);
    assert.match(textOf((await firstDelivered).value?.html), /#1 · attempt 1 ?21 Nov 05:00:00 UTC$/);
    assert.match(textOf((await firstFailed).value?.html), /#2 · attempt 1 ?no such host ?21 Nov 05:00:00 UTC$/);
    gone.abort();
  });
});

const CAUSE: AilingWebhook['causes'][number] = {
  cause: '',
  dead: 0,
  retrying: 0,
  firstAt: NOW - 90_000,
  lastAt: NOW - 10,
  oldest: { webhookNumber: 1, offset: 164 },
};

describe('what needs attention', () => {
  const ailing: AilingWebhook = {
    id: 'w',
    name: 'Shop',
    webhookNumber: 1,
    endpointId: 'e',
    endpointName: 'Dock',
    state: 'failing',
    reason: 'timeout',
    detail: 'no answer within 15 s',
    since: NOW - 60_000,
    waiting: 0,
    dead: { records: 0, isWhole: true },
    causes: [],
  };
  const said = (some: readonly Partial<AilingWebhook>[], ends: readonly number[] = []): string =>
    textOf(
      attentionSection({
        webhooks: 'sending',
        unverified: [],
        ailing: some.map((more) => ({ ...ailing, ...more })),
        expiring: ends.map((inMs, at) => ({
          kind: at === 0 ? 'key' : 'certificate',
          id: 'k',
          customerId: null,
          name: 'hr',
          expiresAt: NOW + inMs,
        })),
        button: (webhook, offset) => html`<button>${problemLook(webhook, offset).label}</button>`,
        now: NOW,
      }),
    );
  const cases: readonly [what: string, said: string, wanted: RegExp][] = [
    ['nothing', said([]), /^Problems ?Every started webhook delivers/],
    [
      'an error',
      said([{}]),
      /failing since .* UTC 1 minute ?No answer within 15 s\. Have the receiver answer first.* Failures by cause ?$/,
    ],
    ['an error without words', said([{ detail: null }]), /failing .* Timeout\. ?Have the receiver/],
    [
      'a reason of its own',
      said([{ state: 'stopped', reason: 'endpoint_gone' }]),
      /stopped .* 1 minute ?The endpoint answered 410 Gone.* Start ?$/,
    ],
    [
      'too many dead',
      said([{ state: 'failed', reason: 'too_many_dead', dead: { records: 10, isWhole: true } }]),
      /send its dead deliveries again\. ?Failures by cause · Send a test event ?Start, and send 10 again ?$/,
    ],
    [
      'too many dead with a known cause, and the steps in their order',
      said([
        {
          state: 'failed',
          reason: 'too_many_dead',
          dead: { records: 10, isWhole: true },
          causes: [{ ...CAUSE, cause: '401', dead: 10 }],
        },
      ]),
      /: 401 Unauthorized\. ?The .* test event before you start it\. Credentials of Dock · Failures by cause ?Start, and send 10 again ?$/,
    ],
    [
      'several causes, of which the latest is not the most frequent',
      said([
        {
          reason: 'connect',
          detail: 'refused',
          causes: [
            { ...CAUSE, cause: 'connect', retrying: 1, firstAt: NOW - 5, lastAt: NOW },
            { ...CAUSE, cause: '500', retrying: 6 },
          ],
        },
      ]),
      /Most often 500 Internal Server Error \(6 of 7 tried deliveries\), since .* also no connection\. Look .* Try #164 now ?$/,
    ],
    [
      'a latest error that is not that of what waits',
      said([{ causes: [{ ...CAUSE, cause: '503', retrying: 2 }] }]),
      /failing .* 503 Service Unavailable\. ?Check that the receiver is up/,
    ],
    [
      'more dead than were counted, whatever their causes',
      said([{ dead: { records: 1000, isWhole: false }, causes: [{ ...CAUSE, cause: '401', dead: 10 }] }]),
      /\. 1,000\+ dead · Failures by cause/,
    ],
    [
      'too many dead, all sent again',
      said([{ state: 'failed', reason: 'too_many_dead' }]),
      /used up their attempts\. Fix the receiver, then start the webhook again\. ?Failures/,
    ],
    [
      'no reason',
      said([{ state: 'failed', reason: null, waiting: 1234 }]),
      /failed since .* · 1,234 pending ?–.* Start ?$/,
    ],
    [
      'a key that expires soon and a certificate that has expired',
      said([], [86_400_000 * 3, -5000]),
      /hr PGP key expires in 3 days .*hr Client certificate expired 5 seconds ago Receivers that require/,
    ],
  ];
  for (const [what, told, wanted] of cases) it(`is said: ${what}`, () => assert.match(told, wanted));
});
