/** The timeline of a delivery with its wait and repeated failures, and when an endpoint got something last. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { AttemptRecord } from '../../../src/domain/batch.ts';
import type { Delivery, WebhookState } from '../../../src/domain/webhook.ts';
import { html } from '../../../src/http/html.ts';
import { createIds, randomBytes } from '../../../src/kernel/ids.ts';
import { momentsOf } from '../../../src/portal/deliveries/delivery-story.ts';
import { lastDelivery } from '../../../src/portal/endpoints/endpoint-activity.ts';
import { readLastDelivered } from '../../../src/portal/record/webhook-state.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { batchOf } from '../../support/attempts.ts';
import { attemptOf } from '../../support/batches.ts';
import { NOW } from '../../support/store.ts';

const HOUR_MS = 3_600_000;
const ids = createIds(() => NOW, randomBytes);

function failed(number: number, startedAt: number, more: Partial<AttemptRecord> = {}) {
  const error = { responseStatus: 401, errorClass: 'http_status', errorMessage: 'the receiver answered 401' };
  const attempt = attemptOf({ ids, clock: () => NOW }, batchOf(7, 7), { ...error, startedAt, ...more });
  return { ...attempt, number };
}

function momentsWith(
  attempts: readonly ReturnType<typeof failed>[],
  stateThen: WebhookState | null,
  state: Delivery['state'] = 'dead',
) {
  const delivery = { state, createdAt: NOW, settledAt: NOW + 9 * HOUR_MS, nextAttemptAt: null } as Delivery;
  const given = {
    delivery,
    attempts,
    resends: [],
    erasedAt: null,
    curlOf: () => null,
    url: null,
    stateThen,
    reader: 'c',
  };
  return momentsOf(given, NOW + 9 * HOUR_MS).map(({ title, text }) => html`${title} ${text ?? null}`.markup);
}

it('the timeline tells a long wait before the first attempt, and its reason', () => {
  const cases: readonly (readonly [WebhookState | null, RegExp])[] = [
    ['failing', /The webhook was failing: it sent one request at a time\./],
    ['stopped', /The webhook was stopped, and sent nothing until it was started\./],
    ['failed', /The webhook had failed, and sent nothing until it was started\./],
    ['running', /Those before it were sent first\./],
    [null, /Those before it were sent first\./],
  ];
  for (const [state, told] of cases) {
    const [, wait = ''] = momentsWith([failed(1, NOW + 6 * HOUR_MS)], state);
    assert.match(wait, /^Waited 6 h /);
    assert.match(wait, told);
  }
  const waits = (attempts: Parameters<typeof momentsWith>[0]) =>
    momentsWith(attempts, 'failing').filter((moment) => moment.includes('Waited')).length;
  assert.equal(waits([failed(1, NOW + 1000)]), 0);
  assert.equal(waits([failed(9, NOW + HOUR_MS)]), 0, 'the first attempts are not kept any more');
});

it('an advice stands once: with the headline, or with the last attempt that failed in this way', () => {
  const ADVICE = /Compare the secret and the API key/;
  const advised = (moments: readonly string[]) => moments.map((moment) => ADVICE.test(moment));
  const two = [failed(1, NOW + 1000), failed(2, NOW + 2000)];
  assert.deepEqual(advised(momentsWith(two, null)), [false, false, false, false]);
  assert.deepEqual(advised(momentsWith(two, null, 'delivered')), [false, false, true, false]);
  const other = { responseStatus: 500, errorMessage: 'the receiver answered 500' };
  const [, , first = '', last = ''] = momentsWith([...two, failed(3, NOW + 3000, other)], null);
  assert.match(first, ADVICE);
  assert.doesNotMatch(last, /answered 500/);
  for (const moment of momentsWith(two, null)) assert.doesNotMatch(moment, /http_status/);
});

it('the last delivery to an endpoint is a time, also if only its hour is known', () => {
  const hours = (succeeded: readonly number[]) =>
    Array.from({ length: 24 }, (_, at) => ({ attempts: 2, failedAttempts: succeeded.includes(at) ? 1 : 2 }));
  const told = (succeeded: readonly number[], deliveredAt: number | null = null, failingSinceAt?: number) => {
    const day = { attempts: 48, failedAttempts: 48 - succeeded.length, hours: hours(succeeded) };
    const webhooks =
      failingSinceAt === undefined
        ? []
        : [
            {
              state: 'failing' as const,
              failingSinceAt,
              id: 'w',
              name: 'w',
              stateReason: null,
              endpointId: 'e',
              webhookNumber: 1,
              pendingRecords: 0,
            },
          ];
    return lastDelivery({ deliveredAt, day, webhooks, isUndelivered: false }, NOW).markup.replaceAll(/<[^>]*>/g, '');
  };
  assert.equal(told([3], NOW - 120_000), '2 minutes ago');
  assert.equal(told([3, 14]), '8 hours ago');
  assert.equal(told([23]), '1 hour ago');
  assert.equal(told([]), 'none recently');
  // The page says since when deliveries have failed: the success was before.
  assert.equal(told([23], null, NOW - 3 * 3_600_000), '3 hours ago');
});

it('the last success of a webhook is in its log, or it has none: that is known if the log is kept from its beginning', async () => {
  const read = (
    log: { delivered?: Partial<Delivery>; next?: string; first?: object },
    state: WebhookState = 'failed',
  ) => {
    const items = log.delivered === undefined ? [] : [log.delivered as Delivery];
    const deliveries = {
      list: async () => ({ items, next: log.next ?? null }),
      at: async () => (log.first ?? null) as Delivery | null,
    } as unknown as Store['deliveries'];
    const stateReason = state === 'failed' ? 'too_many_dead' : null;
    return readLastDelivered({ deliveries }, { webhookNumber: 1, state, stateReason });
  };
  assert.equal(await read({ delivered: { settledAt: NOW - 5, createdAt: NOW - 9 } }), NOW - 5);
  assert.equal(await read({ first: {} }), 'never');
  assert.equal(await read({}), null, 'older deliveries may have been deleted');
  assert.equal(await read({ first: {}, next: 'more' }), null, 'not all were examined');
  assert.equal(await read({}, 'stopped'), 'never');
});
