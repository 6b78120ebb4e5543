import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { NO_TIMINGS } from '../../../src/domain/outcome.ts';
import type { Delivery, PastState, Progress, Webhook, WebhookState } from '../../../src/domain/webhook.ts';
import { type Html, html } from '../../../src/http/html.ts';
import type { Day } from '../../../src/observe/figures.ts';
import { turnMoments } from '../../../src/portal/deliveries/delivery-turn.ts';
import {
  failsBriefly,
  failsSince,
  stateLine,
  stateNotice,
  stateSentence,
  type WebhookHealth,
} from '../../../src/portal/record/webhook-state.ts';
import { testSection } from '../../../src/portal/webhooks/webhook-activity.ts';
import { encryptionRule } from '../../../src/portal/webhooks/webhook-form.ts';
import { incidentsOf, type WebhookHistory, webhookHistory } from '../../../src/portal/webhooks/webhook-history.ts';
import { webhookSummary } from '../../../src/portal/webhooks/webhook-summary.ts';
import { makeEventType, makeWebhook, openTestServices } from '../../support/services.ts';

type Stage = { readonly now: number; readonly webhook: (progress: Partial<Progress>) => Webhook };

async function stage(t: TestContext): Promise<Stage> {
  const services = await openTestServices(t);
  await makeEventType(services, 'order.created');
  const made = await makeWebhook(services, ['order.created']);
  return { now: services.clock(), webhook: (progress) => ({ ...made, progress: { ...made.progress, ...progress } }) };
}

const ERP = { id: 'e', name: 'ERP', url: 'https://erp.example/in' };

const HEALTHY: WebhookHealth = {
  day: undefined,
  dead: { records: 0, isWhole: true },
  failsSince: null,
  deliveredAt: null,
  failure: null,
  causes: [],
};

/** Without changes, unless they are given. */
function historyOf(incidents: WebhookHistory['incidents'], more: Partial<WebhookHistory> = {}): string {
  const changes = { entries: [], isWhole: true, actorOf: (name: string) => ({ kind: null, name, href: null }) };
  const webhook = { id: 'w', createdAt: 0, mode: 'push' } as const;
  return webhookHistory({ webhook, incidents, isWhole: true, changes, ...more }, 1000).markup;
}

describe('the state of a webhook', () => {
  it('is said in a sentence, whichever it is', async (t) => {
    const { webhook } = await stage(t);
    const cases: readonly (readonly [Partial<Progress>, RegExp])[] = [
      [{}, /^It has not been started yet/],
      [{ stateReason: 'stopped_by_administrator' }, /^Nothing is sent/],
      [
        { state: 'started' },
        /^Nothing has been delivered since then\. It shows “running” after the first delivery or heartbeat\.$/,
      ],
      [{ state: 'running' }, /last attempt succeeded/],
      [{ state: 'failing' }, /last attempt failed/],
      [{ state: 'failed' }, /^Nothing is sent/],
    ];
    for (const [progress, says] of cases) assert.match(stateSentence(webhook(progress)), says);
  });

  it('has a notice where something is to be done, and none where all is as it was asked for', async (t) => {
    const { webhook, now } = await stage(t);
    const noticed = (progress: Partial<Progress>, records = 1): string | null =>
      stateNotice(
        webhook(progress),
        { ...HEALTHY, dead: { records, isWhole: true } },
        { now, reader: null, mayAct: true, pending: 9, endpoint: ERP },
      )?.markup ?? null;
    for (const quiet of [
      {},
      { stateReason: 'stopped_by_administrator' },
      { state: 'started' },
      { state: 'running' },
    ] as const) {
      assert.equal(noticed(quiet), null, JSON.stringify(quiet));
    }
    const failing = { state: 'failing', stateReason: 'oauth_token', failingSinceAt: now - 3_600_000 } as const;
    const told = noticed({ ...failing, stateDetail: 'the token endpoint answered 401' }) ?? '';
    assert.match(told, /Latest error: the token endpoint answered 401\. .*Check token URL/);
    assert.match(told, /the webhook stops .*in 23 hours/);
    const unsaid = noticed({ state: 'failing', stateReason: null, failingSinceAt: null }) ?? '';
    assert.match(unsaid, /Pending deliveries are retried\./);
    assert.doesNotMatch(unsaid, /the webhook stops/);
    const failed = { state: 'failed', stateReason: 'too_many_dead' } as const;
    assert.match(noticed(failed) ?? '', /Ten requests in a row.*send its dead deliveries again/s);
    assert.doesNotMatch(noticed(failed, 0) ?? '', /send its dead/);
    assert.match(noticed({ stateReason: 'endpoint_gone' }) ?? '', /410 Gone/);
  });

  it('has its begin in the line below the name, and its cause once, in the notice', async (t) => {
    const { webhook, now } = await stage(t);
    const failure = { at: now, errorClass: 'http_status', errorMessage: 'the receiver answered 401' };
    const health = { ...HEALTHY, failure, failsSince: now - 3_600_000 };
    const textOf = (shown: Html | null): string => (shown?.markup ?? '').replaceAll(/<[^>]*>/g, '');
    const line = (progress: Partial<Progress>): string => textOf(stateLine(webhook(progress), health, now));
    const noticed = (progress: Partial<Progress>): string =>
      textOf(stateNotice(webhook(progress), health, { now, reader: null, mayAct: true, pending: 9, endpoint: ERP }));
    const failing = { state: 'failing', failingSinceAt: now - 3_600_000 } as const;
    const refused = { ...failing, stateReason: 'oauth_token', stateDetail: 'the token endpoint answered 401' } as const;
    assert.match(line(refused), /^Deliveries have failed since [^.]* UTC\.$/);
    assert.match(noticed(refused), /Latest error: the token endpoint answered 401\./);
    assert.match(noticed({ ...failing, stateReason: 'oauth_token' }), /Latest error: no OAuth token\./);
    assert.match(line({ ...failing, stateReason: null }), /^Deliveries have failed since [^.]* UTC\.$/);
    const failed = { state: 'failed', stateReason: 'too_many_dead' } as const;
    assert.match(line(failed), /^It was stopped .* because deliveries failed\. Nothing is sent\./);
    assert.match(noticed(failed), /Latest error: the receiver answered 401\. Ten requests in a row/);
    assert.match(line({ stateReason: 'endpoint_gone' }), /^It was stopped automatically .*Nothing is sent/);
    assert.match(line({ stateReason: 'stopped_by_administrator' }), /^Stopped on .*\. Nothing is sent/);
    assert.match(line({ state: 'running' }), /^Running since .*\. The last attempt succeeded/);
  });

  it('names the most frequent of several causes, with its advice, in the words of a waiting delivery', async (t) => {
    const { webhook, now } = await stage(t);
    const cause = { dead: 0, firstAt: now - 90_000, lastAt: now - 10 };
    const causes = [
      { ...cause, cause: 'connect', retrying: 1 },
      { ...cause, cause: '401', retrying: 6 },
    ];
    const error = { stateReason: 'connect', stateDetail: 'connection refused' };
    const failing = webhook({ ...error, state: 'failing', failingSinceAt: now - 3_600_000 });
    const delivery = { state: 'pending', nextAttemptAt: null, isLeased: false, webhookMode: 'push' } as Delivery;
    const place = { ahead: null, before: null, causes, failsSince: now, succeededAt: null, reader: null };
    const [turn] = turnMoments({ delivery, webhook: failing, ...place }, now);
    const notice = stateNotice(
      failing,
      { ...HEALTHY, causes },
      { now, reader: null, mayAct: true, pending: 9, endpoint: ERP },
    );
    for (const told of [notice?.markup ?? '', html`${turn?.text ?? null}`.markup])
      assert.match(
        told,
        /Most often 401 Unauthorized \(6 of 7 tried deliveries\), also no connection\.\s+The receiver rejects the credentials/,
      );
    // Nine are pending, of which seven were tried.
    assert.match(
      notice?.markup ?? '',
      /7 deliveries are retried<\/a>\. 2 more are held back until one of them succeeds\./,
    );
    const ended = stateNotice(
      webhook({ state: 'failed', stateReason: 'failing_too_long' }),
      { ...HEALTHY, causes },
      { now, reader: null, mayAct: true, pending: 9, endpoint: ERP },
    );
    assert.match(
      ended?.markup ?? '',
      /Every attempt failed for 24 hours: most often 401 Unauthorized\. The receiver rejects the credentials/,
    );
    const link = /<a href="\/endpoints\/e\/settings#credentials">Credentials of ERP<\/a>/;
    assert.match(notice?.markup ?? '', link);
    assert.match(ended?.markup ?? '', link);
  });

  it('names a setting only to the operator', async (t) => {
    const { webhook, now } = await stage(t);
    const refused = webhook({ state: 'failing', stateReason: 'egress_refused', stateDetail: '10.1.2.3 is private' });
    const told = (reader: string | null): string =>
      stateNotice(refused, HEALTHY, { now, reader, mayAct: true, pending: 9, endpoint: ERP })?.markup ?? '';
    assert.match(told(null), /SALLYPORT_EGRESS_ALLOW/);
    assert.doesNotMatch(told('acme'), /SALLYPORT/);
  });

  it('has advice for the last error of a webhook that someone stopped, until something succeeds', async (t) => {
    const { webhook, now } = await stage(t);
    const stopped = webhook({ stateReason: 'stopped_by_administrator' });
    const failure = { at: now, errorClass: 'http_status', errorMessage: 'the receiver answered 401' };
    const told = (deliveredAt: number): string =>
      stateNotice(
        stopped,
        { ...HEALTHY, failure, deliveredAt },
        { now, reader: null, mayAct: true, pending: 9, endpoint: ERP },
      )?.markup ?? '';
    assert.match(
      told(now - 1),
      /The last attempt failed: The receiver answered 401\. The receiver rejects the credentials.*Credentials of ERP<\/a> · <a/,
    );
    assert.equal(told(now + 1), '');
  });

  it('has a history with the reason of each change, and its beginning where that is within reach', () => {
    const past = (reason: string | null) => ({ state: 'stopped', previousState: 'running', reason, at: 1000 }) as const;
    const reasons = ['connect', 'http_status: the receiver answered 500', 'endpoint_disabled', null];
    const incidents = incidentsOf(reasons.map(past));
    const whole = historyOf(incidents, { webhook: { id: 'w', createdAt: 500, mode: 'push' } });
    assert.match(whole, /Check that the receiver runs/);
    assert.match(whole, /The receiver answered 500\./);
    assert.match(whole, /Its endpoint is disabled/);
    assert.match(whole, /Created/);
    assert.doesNotMatch(historyOf(incidents, { isWhole: false }), /Created/);
  });

  it('has a title for each change in its history, which a heartbeat or a reader may have caused', () => {
    const past = (state: WebhookState, previousState: WebhookState) => ({ state, previousState, reason: null, at: 1 });
    const titles = (mode: 'push' | 'pull', ...states: readonly PastState[]): string =>
      historyOf(incidentsOf(states), { webhook: { id: 'w', createdAt: 0, mode } });
    assert.match(titles('push', past('started', 'stopped')), /Started: nothing sent yet/);
    assert.match(titles('pull', past('started', 'stopped')), /Started: its reader has acknowledged nothing yet/);
    assert.match(titles('push', past('running', 'started')), /Running: the first request after the start succeeded/);
    assert.match(titles('push', past('running', 'failing')), /Running: requests succeed again/);
    assert.match(titles('pull', past('running', 'started')), /Running: its reader has acknowledged events/);
    assert.match(titles('push', past('failing', 'running')), /Deliveries began to fail/);
  });

  it('fails since the first failure after it last ran, over stops and starts', () => {
    const past = (state: WebhookState, at: number): PastState => ({
      state,
      previousState: 'stopped',
      reason: null,
      at,
    });
    const failed = [past('failing', 5), past('started', 4), past('failed', 3), past('failing', 2)];
    const failing = { state: 'failing', failingSinceAt: 7 } as const;
    assert.equal(failsSince(failing, [...failed, past('running', 1)]), 2);
    assert.equal(failsSince(failing, [...failed, past('started', 1)]), 2);
    assert.equal(failsSince(failing, [past('running', 6), ...failed]), 7, 'its history is not kept');
    assert.equal(failsSince({ state: 'started', failingSinceAt: 7 }, failed), null);
  });

  it('tells a failure on its page and on a waiting delivery from its beginning, though it was restarted since', async (t) => {
    const { webhook, now } = await stage(t);
    const restarted = webhook({ state: 'failing', stateReason: 'http_status', failingSinceAt: now - 60_000 });
    const [failsSince, deliveredAt] = [now - 5 * 3_600_000, now - 6 * 3_600_000];
    const line = stateLine(restarted, { ...HEALTHY, failsSince, deliveredAt }, now);
    const delivery = { state: 'pending', nextAttemptAt: null, isLeased: false, webhookMode: 'push' } as Delivery;
    const place = { ahead: null, before: null, causes: [], failsSince, succeededAt: deliveredAt, reader: null };
    const [turn] = turnMoments({ delivery, webhook: restarted, ...place }, now);
    const [since, last] = [failsSince, deliveredAt].map((at) => new Date(at).toISOString());
    for (const told of [line.markup, html`${turn?.text ?? null}`.markup]) {
      assert.match(told, new RegExp(`Deliveries have failed since <time datetime="${since}"`));
      assert.match(told, new RegExp(`The last success was <time datetime="${last}"`));
    }
  });

  it('joins failures within an hour to one incident, and keeps others apart', () => {
    const MINUTE = 60_000;
    const reason = 'http_status: the receiver answered 503';
    const pair = (at: number): PastState[] => [
      { state: 'failing', previousState: 'running', reason, at: at * MINUTE },
      { state: 'running', previousState: 'failing', reason: null, at: (at + 2) * MINUTE },
    ];
    const history: PastState[] = [
      { state: 'started', previousState: 'stopped', reason: null, at: 0 },
      { state: 'running', previousState: 'started', reason: null, at: MINUTE },
      ...pair(10),
      ...pair(20),
      ...pair(71),
      ...pair(133),
      { state: 'failing', previousState: 'running', reason, at: 300 * MINUTE },
    ];
    const incidents = incidentsOf(history.toReversed());
    assert.deepEqual(
      incidents.map((one) =>
        one.kind === 'state'
          ? one.past.state
          : [one.times, one.from / MINUTE, one.until === null ? null : one.until / MINUTE],
      ),
      [[1, 300, null], [1, 133, 135], [3, 10, 73], 'running', 'started'],
    );
    const shown = historyOf(incidents);
    assert.match(shown, /Some attempts failed, 3 times until/);
    assert.match(shown, /Recovered after 2 min\./);
  });

  it('is shown as running while a webhook that mostly delivers fails for a short time', () => {
    const none = { attempts: 0, failedAttempts: 0 };
    const day = (attempts: number, failedAttempts: number): Day => ({
      attempts,
      failedAttempts,
      hours: [...Array.from({ length: 23 }, () => none), { attempts, failedAttempts }],
    });
    const failing = { state: 'failing', failingSinceAt: 0 } as Progress;
    assert.equal(failsBriefly(failing, day(100, 19), 60_000), true);
    assert.equal(failsBriefly(failing, day(100, 19), 300_000), false, 'it has failed for five minutes');
    assert.equal(failsBriefly(failing, day(100, 51), 60_000), false, 'most attempts failed');
    assert.equal(failsBriefly(failing, day(0, 0), 60_000), false);
    assert.equal(failsBriefly({ ...failing, state: 'failed' }, day(100, 19), 60_000), false);
  });
});

describe('a test event', () => {
  it('that reached no receiver says so, with advice', () => {
    const shown = testSection(
      {
        id: 'a',
        webhookNumber: 1,
        kind: 'test',
        batchId: 'b',
        firstOffset: null,
        lastOffset: null,
        attemptNumber: 1,
        startedAt: 0,
        requestHeaders: {},
        responseStatus: null,
        responseHeaders: null,
        responseBody: null,
        errorClass: 'dns',
        errorMessage: null,
        responseProblem: null,
        timings: NO_TIMINGS,
      },
      { ...ERP, url: 'https://nowhere.example/in' },
      null,
    ).markup;
    assert.match(shown, /Dns\./);
    assert.match(shown, /Check the host name in the URL/);
    assert.match(shown, /No response/);
  });

  it('that arrived immediately has no time to tell', () => {
    const shown = testSection(
      {
        id: 'a',
        webhookNumber: 1,
        kind: 'test',
        batchId: 'b',
        firstOffset: null,
        lastOffset: null,
        attemptNumber: 1,
        startedAt: 0,
        requestHeaders: {},
        responseStatus: 200,
        responseHeaders: {},
        responseBody: Buffer.from('ok'),
        errorClass: null,
        errorMessage: null,
        responseProblem: null,
        timings: NO_TIMINGS,
      },
      ERP,
      null,
    ).markup;
    assert.match(shown, /It arrived\./);
  });
});

describe('the rule for the events that are chosen', () => {
  const types = [
    { name: 'order.created', encryptionRequired: false },
    { name: 'invoice.paid', encryptionRequired: true },
    { name: 'employee.created', encryptionRequired: true },
  ] as unknown as Parameters<typeof encryptionRule>[2];
  const cases: readonly (readonly [patterns: string[], hasKey: boolean, says: RegExp])[] = [
    [[], false, /Employee events, event types marked/],
    [['order.*'], false, /Employee events, event types marked/],
    [['order.created', 'invoice.*'], false, /Events of type invoice\.paid must be encrypted: choose a key/],
    [['*'], false, /Employee events must be encrypted: choose a key/],
    [['employee.created'], true, /Employee events must be encrypted\. They will be/],
  ];
  for (const [patterns, hasKey, says] of cases) {
    it(`${patterns.join(' ') || 'none'}, ${hasKey ? 'with' : 'without'} a key, is said`, () => {
      assert.match(encryptionRule(patterns, hasKey, types).markup, says);
    });
  }
  it('does not name employees to people who cannot choose their events', () => {
    const shown = types.slice(0, 2);
    for (const patterns of [[], ['order.*'], ['*']])
      assert.doesNotMatch(encryptionRule(patterns, false, types, shown).markup, /employee/i);
    assert.match(
      encryptionRule(['*'], false, types, shown).markup,
      /Some of these events must be encrypted: choose a key/,
    );
  });
});

describe('what a webhook will do', () => {
  const shop = { name: 'Shop', enabled: true };
  const cases: readonly (readonly [form: string, isNew: boolean, said: RegExp])[] = [
    ['name=Orders&endpointId=e', true, /^$/],
    ['eventTypes=a.b&endpointId=', true, /^Choose the endpoint to which the webhook sends a\.b\.$/],
    [
      'name=Orders&endpointId=e&eventTypes=a.b&eventTypes=c.*&mode=push&start=on',
      true,
      /^Orders sends a\.b and every c event to Shop, up to 100 events in a request\. It starts immediately\.$/,
    ],
    ['endpointId=e&eventTypes=*', true, /sends every event to Shop, .*Deliveries stay pending until you start it\.$/],
    [
      'endpointId=e&eventTypes=a.b&eventTypes=a.c&eventTypes=a.d&eventTypes=a.e&encryptionKeyName=hr' +
        '&ordered=all&maxBatchRecords=1&maxRecordsPerSecond=5',
      false,
      /sends a\.b, a\.c and 2 other kinds of events to Shop, encrypted with the key hr, each in a request of its own, in order, at m/,
    ],
    ['endpointId=e&eventTypes=a.b&ordered=key', false, /up to 100 events in a request, in the order of each key\./],
    [
      'endpointId=e&eventTypes=a.b&format=cloudevents&thin=on',
      false,
      /to Shop, each in a request of its own, without the data\./,
    ],
    ['endpointId=e&eventTypes=a.b&format=cloudevents&batch=on', false, /to Shop, up to 100 events in a request\./],
    [
      'endpointId=e&eventTypes=a.b&filter={"data.n":1}',
      false,
      /sends a\.b to Shop, .*\. It sends an event only if data\.n is 1\. A change/,
    ],
    ['endpointId=e&eventTypes=a.b&filter={"data.n":{"$x":1}}', false, / Its filter is not finished\. A change/],
    ['endpointId=e&eventTypes=a.b&filter={', false, /Its filter is not finished\./],
    [
      'eventTypes=a.b&endpointId=&filter={"data.n":1}',
      true,
      /the webhook sends a\.b\. It sends an event only if data\.n is 1\.$/,
    ],
    ['mode=pull&eventTypes=a.b&endpointId=', true, /keeps a\.b for its reader\. It starts immediately\.$/],
  ];
  for (const [form, isNew, said] of cases) {
    it(`is said in a sentence: ${form}`, () => {
      const sent = new URLSearchParams(form);
      assert.match(webhookSummary(sent, sent.get('endpointId') === 'e' ? shop : null, isNew), said);
    });
  }

  it('waits for an endpoint that is not enabled', () => {
    const sent = new URLSearchParams('endpointId=e&eventTypes=a.b&start=on');
    assert.match(webhookSummary(sent, { ...shop, enabled: false }, true), /once its endpoint is enabled/);
  });
});
